// Client: calls the HTTP API of a millrace server. Its functions block. For one thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  std::vector<std::pair<std::string, std::string>> query;  ///< empty values are not sent
  Headers headers;
  std::string body;
  Duration timeout = std::chrono::seconds(30);
};

struct Reply {
  long status = 0;
  Json body;
};

/// A response whose body can be any bytes.
struct RawReply {
  long status = 0;
  std::string body;
};

class Client {
 public:
  /// Sends the token with each call, unless it is empty.
  explicit Client(std::string base_url, std::string token = "");
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) = delete;

  /// A client of the same server, with the same token, which another thread may use.
  Client another() const { return Client(base_url_, token_); }

  /// From now on each call asks for an answer that may be stale: a node that is not the active
  /// answers it from its own folder. Calls that change something are refused (`cli.usage`), and so
  /// are those that the server cannot answer in this way (`request.unknown_parameter`).
  void accept_stale() { accepts_stale_ = true; }
  /// The age of the oldest answer that was from a copy, in seconds; nullopt: there was none.
  std::optional<double> age() const { return age_; }

  /// Sends the call and returns the JSON of the response. A problem document becomes a failure with
  /// its code and detail, and with the exit code of its status: 404 kNotFound, 401 and 403
  /// kNotAllowed, 409 kConflict, any other kFailed. Without a response: `client.unreachable`, with
  /// kUsage for a URL that is not valid and kUnreachable otherwise.
  Fallible<Reply> send(const ApiCall& call);

  /// Sends the call and returns the bytes of the response. Fails as send() does.
  Fallible<RawReply> fetch(const ApiCall& call);

  /// Sends the call, and passes the bytes of the response to `see` as they arrive, until `see`
  /// returns false or the server ends the response. Fails as send() does. A timeout of 0: none.
  Fallible<RawReply> stream(const ApiCall& call,
                            const std::function<bool(std::string_view bytes)>& see);

  /// A path such as `/v1/ns/shop`: each piece is percent-encoded, with a `/` before it.
  static std::string url_path(std::initializer_list<std::string_view> pieces);

 private:
  struct Handle;

  Fallible<RawReply> perform(const ApiCall& call,
                             const std::function<bool(std::string_view bytes)>* see);

  std::string base_url_;
  std::string token_;
  bool accepts_stale_ = false;
  std::optional<double> age_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace millrace
