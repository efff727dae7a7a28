// HttpClient: HTTP requests to anywhere, all of them on one thread. Nothing blocks whoever asks;
// what comes back is told from that thread, which others wait for: be brief there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "model/task.h"

namespace millrace {

// The errors of a request that has no answer.

/// The URL is none, or not of http or https; or a header has a line break in it.
inline constexpr std::string_view kHttpRequest = "http.request";
/// No connection: nobody of that name, nobody listens, nobody took it within the time for that.
inline constexpr std::string_view kHttpUnreachable = "http.unreachable";
/// The peer is not who it should be, or TLS failed otherwise.
inline constexpr std::string_view kHttpTls = "http.tls";
/// The connection ended before the answer did.
inline constexpr std::string_view kHttpClosed = "http.closed";
/// What came is no HTTP.
inline constexpr std::string_view kHttpProtocol = "http.protocol";
/// The answer's body or its headers are larger than what is taken.
inline constexpr std::string_view kHttpTooLarge = "http.too_large";
/// The answer was not whole when the request's time was over.
inline constexpr std::string_view kHttpTimeout = "http.timeout";
/// It was cancelled, or the client ended.
inline constexpr std::string_view kHttpCancelled = "http.cancelled";

/// The header lines of one answer together, those before a final one (1xx) included.
inline constexpr size_t kMaxHeaderBytes = size_t{16} << 10;

struct HttpRequest {
  std::string method = "POST";  ///< any but HEAD
  std::string url;              ///< may hold a name and password; messages never show them
  Headers headers;              ///< none is added but Host, Accept, User-Agent, Content-Length
  std::string body;
  /// From when it has not to wait for others any more. None: until it is cancelled.
  std::optional<Duration> timeout;
  bool urgent = false;  ///< goes before those that wait for a connection
  /// The body is sent at most once: the peer must not do the work twice.
  bool once = false;
};

struct HttpAnswer {
  long status = 0;
  Headers headers;
  std::string body;
  std::optional<Duration> retry_after;  ///< of the header of that name, seconds or date; ≤ a day
};

/// What is told of a request, on the client's thread. They may send and cancel.
struct HttpWatch {
  /// It goes out now, on a connection that is there. May be empty.
  std::function<void()> sent;
  /// Something of the answer came, if only a header. May be empty.
  std::function<void()> alive;
  /// The last word, just once, whatever happens. An answer of any status is one.
  std::function<void(Result<HttpAnswer>)> done;
};

struct HttpSettings {
  size_t connections = 256;          ///< in total
  size_t connections_per_host = 32;  ///< of one scheme, host and port
  Duration connect_timeout{10'000};  ///< for the name, the connection and TLS together
  std::string ca_file;               ///< PEM; empty: the system's
  std::string proxy;                 ///< URL; empty: none, whatever the environment says
  std::string no_proxy;              ///< hosts that are asked directly, with commas between
};

/// HTTP/1.1, connections are used again; TLS peers are verified; a redirect is an answer like any
/// other. A connection that was used again and ends before anything came of the answer is made
/// anew and the request sent again, up to five times: a peer that dies of a request may see it as
/// often. A request that is to be sent `once` ends with `http.closed` instead, and uses only
/// connections that were in use less than a second ago, which peers hardly ever close.
class HttpClient {
 public:
  using Ticket = uint64_t;

  explicit HttpClient(HttpSettings settings = {});

  /// What is under way ends with `http.cancelled`; nothing is told after it. Not from within a
  /// watch.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Any thread; never blocks, and tells nothing before it returns on that thread. Requests to one
  /// host that wait for a connection go out in the order of the calls.
  Ticket send(HttpRequest request, HttpWatch watch);

  /// Any thread; never blocks. `done` follows, with `http.cancelled` unless it was too late.
  void cancel(Ticket ticket);

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
