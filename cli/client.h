// Client: asks a millrace server by HTTP. Blocking; one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "cli/console.h"
#include "cloudevents/headers.h"

namespace millrace {

struct ApiCall {
  std::string method = "GET";
  std::string path;                                        ///< from url_path
  std::vector<std::pair<std::string, std::string>> query;  ///< empty values are left out
  Headers headers;
  std::string body;
  Duration timeout = std::chrono::seconds(30);
};

struct Reply {
  long status = 0;
  Json body;
};

/// An answer that need not be JSON.
struct RawReply {
  long status = 0;
  std::string body;
};

class Client {
 public:
  /// Shows the token, if there is one, with each call.
  explicit Client(std::string base_url, std::string token = "");
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;

  /// The answer's JSON. A problem becomes its code and detail, with the exit code of its status:
  /// 404 kNotFound, 401 and 403 kNotAllowed, 409 kConflict, else kFailed; no answer is
  /// kUnreachable.
  Fallible<Reply> send(const ApiCall& call);

  /// The same for an answer that is any bytes.
  Fallible<RawReply> fetch(const ApiCall& call);

  /// `/v1/ns/` and so on, each piece percent-encoded.
  static std::string url_path(std::initializer_list<std::string_view> pieces);

 private:
  struct Handle;

  std::string base_url_;
  std::string token_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace millrace
