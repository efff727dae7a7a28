// HttpSession: one client of a millrace server that sends one request at a time over a connection
// that stays open. Unlike MillraceProcess::ask(), a refused request does not end the program: under
// an attack, refusals and times are what is measured. For one thread.
#pragma once

#include <string>
#include <string_view>

#include <curl/curl.h>

namespace millrace {

struct SessionAnswer {
  long status = 0;  ///< 0: there was no answer
  std::string body;

  bool is_ok() const { return status >= 200 && status < 300; }
};

class HttpSession {
 public:
  /// `url` is that of the server, without a path.
  explicit HttpSession(std::string url);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  /// Sends a request and waits for its answer, 30 seconds at most. An empty `type` means that the
  /// request has no content type. `header` is one more header, such as "Accept: text/plain"; empty:
  /// none.
  SessionAnswer send(const std::string& method, const std::string& path, std::string_view body = {},
                     const std::string& type = {}, const std::string& header = {});

 private:
  const std::string url_;
  CURL* curl_;
};

}  // namespace millrace
