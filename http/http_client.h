// HttpClient: sends HTTP requests to any host, all of them on one thread. No call blocks the
// caller. The callbacks run on the client's thread and delay all other requests, so they must be
// brief.
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
#include "http/http_load.h"
#include "model/task.h"
#include "os/permission.h"

namespace millrace {

// The errors of a request without an answer.

/// The URL is not valid, or its scheme is neither http nor https; or a header contains a line break
/// or a zero byte.
inline constexpr std::string_view kHttpRequest = "http.request";
/// No connection: the host name was not found, the connection was refused, or connecting timed out.
inline constexpr std::string_view kHttpUnreachable = "http.unreachable";
/// The certificate of the peer was not accepted, or TLS failed for another reason.
inline constexpr std::string_view kHttpTls = "http.tls";
/// The connection was closed before the answer was complete.
inline constexpr std::string_view kHttpClosed = "http.closed";
/// The peer's answer is not valid HTTP.
inline constexpr std::string_view kHttpProtocol = "http.protocol";
/// The answer's body is larger than kMaxAnswerBytes, or its headers are larger than
/// kMaxHeaderBytes.
inline constexpr std::string_view kHttpTooLarge = "http.too_large";
/// The answer was not complete when the request's timeout passed.
inline constexpr std::string_view kHttpTimeout = "http.timeout";
/// The request was cancelled, or the client was destroyed.
inline constexpr std::string_view kHttpCancelled = "http.cancelled";

/// The largest size of all header lines of one answer together, those of interim answers (1xx)
/// included.
inline constexpr size_t kMaxHeaderBytes = size_t{16} << 10;

struct HttpRequest {
  std::string method = "POST";  ///< any method but HEAD
  std::string url;              ///< may contain user and password; messages never show them
  Headers headers;              ///< the client adds only Host, Accept, User-Agent, Content-Length
  std::string body;
  /// The timeout of the request; it counts from when the request no longer waits for a connection,
  /// and while a guarded client is not allowed to send. nullopt: no timeout.
  std::optional<Duration> timeout;
  bool urgent = false;  ///< is sent before requests that wait for a connection
  /// Sends the body at most once, for a peer that must not do the work twice.
  bool once = false;
  /// The namespace for which the request is sent, and whose share of connections it uses; empty:
  /// millrace itself, whose requests have no share.
  std::string ns = {};
};

struct HttpAnswer {
  long status = 0;
  Headers headers;
  std::string body;
  std::optional<Duration> retry_after;  ///< from Retry-After, seconds or date; at most a day
};

/// The callbacks of a request, called on the client's thread. They may call send() and cancel().
struct HttpWatch {
  /// Called when the connection is established and the request is being sent. The function may be
  /// empty.
  std::function<void()> sent;
  /// Called when a part of the answer has arrived, at least a header. The function may be empty.
  std::function<void()> alive;
  /// Called exactly once in every case, after all other callbacks. An answer with any status is a
  /// success.
  std::function<void(Result<HttpAnswer>)> done;
  /// Called with the status and the headers of the answer as soon as they are complete. If it
  /// returns false, the request ends with `http.cancelled`. The function may be empty.
  std::function<bool(const HttpAnswer& head)> head = {};
  /// Called with each part of the answer's body when it arrives; the body of the answer that `done`
  /// gets is empty then, and kMaxAnswerBytes does not apply. If it returns false, the request ends
  /// with `http.cancelled`. The function may be empty: the client collects the body.
  std::function<bool(std::string_view bytes)> body = {};
};

struct HttpSettings {
  /// The most connections in total, and to one scheme, host and port. A namespace uses at most as
  /// many as are free: half of them if no other namespace has requests (RequestQueue).
  size_t connections = 512;
  size_t connections_per_host = 64;
  Duration connect_timeout{10'000};  ///< for name lookup, connection and TLS together
  std::string ca_file;               ///< PEM; empty: the system's certificates
  std::string proxy;                 ///< URL; empty: no proxy, even if the environment sets one
  std::string no_proxy;              ///< hosts that are reached without the proxy, comma-separated
  bool guarded = false;              ///< requests are sent only while allow_until() permits it
};

/// HTTP/1.1 with connections that are reused. Requests that wait for a connection are sent in turns
/// of their namespaces, and within a namespace in turns of the hosts. TLS peers are verified. A
/// redirect is an answer like any other. If a reused connection closes before any part of the
/// answer has arrived, the request is sent again on a new connection, up to five times: a peer that
/// crashes because of a request may receive the request each time. A request with `once` is not
/// sent again but ends with `http.closed`. A request with `once` reuses only connections that were
/// in use less than a second ago, which peers rarely close. A guarded client looks whether it is
/// allowed to send directly before it sends a request, or sends it again; until then requests wait.
/// What was sent before is completed.
class HttpClient {
 public:
  using Ticket = uint64_t;

  explicit HttpClient(HttpSettings settings = {});

  /// Requests that have not ended end with `http.cancelled`; no callback is called afterwards. Must
  /// not be called from a callback.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Sends a request. Any thread; never blocks. No callback is called on the calling thread before
  /// send() returns. Requests of one namespace to one host that wait for a connection are sent in
  /// the order of the calls.
  Ticket send(HttpRequest request, HttpWatch watch);

  /// Cancels a request. Any thread; never blocks. `done` follows, with `http.cancelled` unless the
  /// request had already ended.
  void cancel(Ticket ticket);

  /// The requests that run and wait now. Any thread.
  HttpLoad load() const;

  /// Allows a guarded client to send until this time of the steady clock. Each call replaces the
  /// time of the previous call. `asked`: as in Permission::allow_until(). Any thread; never blocks.
  void allow_until(Permission::Time until, std::optional<Permission::Time> asked = std::nullopt);
  /// Ends the permission of allow_until(). Any thread; never blocks.
  void forbid();

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
