// HttpTransfer: one request of the HTTP client, from send() to its end, as a handle of libcurl.
// Private to http/, because it includes curl.h.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "base/result.h"
#include "http/http_client.h"
#include "os/permission.h"

namespace millrace {

template <auto function>
struct CurlFree {
  template <class T>
  void operator()(T* handle) const {
    function(handle);
  }
};
using EasyHandle = std::unique_ptr<CURL, CurlFree<curl_easy_cleanup>>;
using MultiHandle = std::unique_ptr<CURLM, CurlFree<curl_multi_cleanup>>;
using HeaderList = std::unique_ptr<curl_slist, CurlFree<curl_slist_free_all>>;

/// One request from send() to its end. It is constructed on any thread and then used on the
/// client's thread only.
class HttpTransfer {
 public:
  HttpTransfer(HttpClient::Ticket ticket, HttpRequest request, HttpWatch watch);
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  HttpClient::Ticket ticket() const { return ticket_; }
  bool urgent() const { return request_.urgent; }
  const std::string& ns() const { return request_.ns; }
  /// The origin (scheme, host, port) of the URL, or the reason why the request cannot be sent.
  const Result<std::string>& origin() const { return origin_; }
  CURL* easy() const { return easy_.get(); }

  /// What is left of the timeout; nullopt: there is none.
  std::optional<Duration> timeout() const { return timeout_; }
  void set_timeout(Duration left) { timeout_ = left; }

  /// Creates libcurl's handle for this request (easy handle), which the client gives to its multi
  /// handle. libcurl ends the request instead of sending it if `permission`, which outlives it, is
  /// not valid then.
  void prepare(const HttpSettings& settings, const Permission& permission);
  /// Whether libcurl has ended the request because of the permission.
  bool is_held() const { return is_held_; }
  /// Destroys libcurl's handle of such a request, so that prepare() can be called again.
  void put_back();

  /// Ends the request: calls `done`.
  void end(Result<HttpAnswer> result);

  /// The result of the request once libcurl has finished it with `code`.
  Result<HttpAnswer> outcome(CURLcode code);

 private:
  void set_body();
  size_t give_body(char* to, size_t most);
  size_t take_header(std::string_view line);
  size_t take_body(std::string_view bytes);
  bool begin_sending();
  /// The status and the headers that have arrived.
  HttpAnswer head_of_answer() const;

  const HttpClient::Ticket ticket_;
  HttpRequest request_;
  const HttpWatch watch_;
  const Result<std::string> origin_;

  std::optional<Duration> timeout_;
  const Permission* permission_ = nullptr;
  bool is_held_ = false;
  std::chrono::steady_clock::time_point prepared_;  ///< when prepare() was called
  EasyHandle easy_;
  HeaderList header_list_;
  std::array<char, CURL_ERROR_SIZE> complaint_{};
  bool was_sent_ = false;
  bool has_head_ = false;    ///< the headers of the answer are complete
  bool is_refused_ = false;  ///< HttpWatch::head or HttpWatch::body has returned false
  std::string too_large_;  ///< which part of the answer is too large, for a message; empty: no part
  size_t header_bytes_ = 0;
  std::string body_;
  size_t given_ = 0;  ///< bytes of the request's body given to libcurl, for a request with `once`
};

}  // namespace millrace
