// A connection to NATS that reconnects until it is destroyed, and requests over it. All other parts
// of broker/ use such a connection. Any thread may call Connection. Watchers are called on threads
// of nats.c and must return at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/defaults.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "os/permission.h"

// Types of nats.h, under the names that nats.h gives them. Only sources of broker/ include nats.h.
// NOLINTBEGIN(bugprone-reserved-identifier)
struct __natsConnection;
struct __natsSubscription;
// NOLINTEND(bugprone-reserved-identifier)

namespace millrace {

/// The answer to a request of the JetStream API.
struct ApiAnswer {
  Json body;
  Status accepted;     ///< check_api_answer()
  int64_t reason = 0;  ///< of an error answer, JetStream's `err_code`; 0: it has none
};

/// The addresses of the broker and the credentials for it. An empty field is not used.
struct ConnectionSettings {
  std::vector<std::string> servers = {defaults::nats_url()};
  std::string name = "millrace";  ///< the name of this connection in the broker's monitoring
  std::string user;
  std::string password;
  std::string token;
  std::string creds_file;      ///< a file with the JWT and the seed of the user
  std::string nkey_seed_file;  ///< a file with only the seed of the user
  std::string tls_ca_file;
  std::string tls_cert_file;  ///< the client's certificate, for mutual TLS; needs tls_key_file
  std::string tls_key_file;
  /// If true, the connection counts as connected only as long as allow_until() permits.
  bool guarded = false;
  /// The domain whose JetStream API is used; empty: the domain of the NATS server.
  std::string js_domain;
  /// The first tokens of the subjects on which this connection receives answers.
  std::string inbox_prefix = std::string(defaults::kInboxPrefix);
  /// If true, each message is written to the socket separately. If false, many messages share one
  /// write and the sender must flush: for each message, this saves a system call in this process
  /// and a read in the NATS server.
  bool send_at_once = true;
  /// How long a request waits for the broker's answer, if the request names no other time.
  Duration request_timeout{5'000};
};

/// The URLs without user names and passwords, for messages.
std::vector<std::string> without_logins(std::vector<std::string> servers);

enum class LinkChange {
  kConnected,
  kDisconnected,
  kLameDuck,  ///< the NATS server will soon close its connections; nats.c then connects elsewhere
};

class Connection {
 public:
  /// Returns a connection even if no NATS server is reachable. The connection then retries for
  /// ever, every 100 ms to 2 s. Errors: `broker.settings` (a file cannot be read; or a URL, the
  /// JetStream domain or the inbox prefix is not valid), `broker.nkey`.
  static Result<std::unique_ptr<Connection>> open(ConnectionSettings settings);

  /// Closes the connection at once. Afterwards no watcher and no handler of a subscription is
  /// called.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Whether this connection can be used: it is connected to a NATS server and, if the connection
  /// is `guarded`, allow_until() permits its use.
  bool connected() const;

  /// Allows the use of a guarded connection until this time of the steady clock. Each call replaces
  /// the time of the previous call. If the use was not allowed before, watchers get kConnected.
  /// `asked`: when the request was sent whose answer allows it (Permission::allow_until).
  void allow_until(Permission::Time until, std::optional<Permission::Time> asked = std::nullopt);
  /// Ends the permission of allow_until(). Watchers get kDisconnected.
  void forbid();

  /// Waits until a NATS server is connected, whether or not allow_until() permits the use of the
  /// connection. Returns false if that took longer than `at_most`.
  bool wait_until_connected(Duration at_most) const;

  /// Calls `watcher` for every change from now on. unwatch() waits for a call that is under way;
  /// after unwatch(), `watcher` is not called any more. Do not call unwatch() within a watcher.
  uint64_t watch(std::function<void(LinkChange)> watcher);
  void unwatch(uint64_t watch);

  /// Calls `watcher` with the subject of each message that the NATS server refuses from now on,
  /// because the user may not publish on that subject (refused_subject.h). unwatch() ends the
  /// calls.
  uint64_t watch_refusals(std::function<void(const std::string& subject)> watcher);

  /// Sends `data` to `subject` and waits for the answer: for `at_most`, or, if it is nullopt, for
  /// ConnectionSettings::request_timeout. Errors: `broker.unreachable` (no connection, or no
  /// subscriber on the subject), `broker.timeout`, `broker.protocol`.
  Result<NatsMessage> request(std::string_view subject, std::string_view data,
                              std::optional<Duration> at_most = std::nullopt) const;

  /// Sends a message with headers and waits for the answer. The time and the errors are those of
  /// the request() that takes a subject.
  Result<NatsMessage> request(const NatsMessage& message,
                              std::optional<Duration> at_most = std::nullopt) const;

  /// A new subject for answers, which has no other subscriber: the inbox prefix and 32 random
  /// hexadecimal digits. A client that has seen other inboxes of this process cannot guess it.
  std::string make_inbox() const;

  /// A subject of the JetStream API in the configured domain; `subject` is the part after
  /// `$JS.API.`.
  std::string api_subject(std::string_view subject) const;

  /// Makes one request of the JetStream API; `subject` is the part after `$JS.API.`. The time is
  /// that of request(). Errors: those of request(), and for an error answer `broker.not_found` (its
  /// code is 404) or `broker.refused`.
  Result<Json> api(std::string_view subject, const Json& body,
                   std::optional<Duration> at_most = std::nullopt) const;

  /// The same for a caller that looks at the reason of an error answer. Errors: those of request().
  Result<ApiAnswer> ask_api(std::string_view subject, const Json& body,
                            std::optional<Duration> at_most = std::nullopt) const;

  /// The largest message that the NATS server accepts, in bytes, headers included.
  size_t max_payload() const;

  /// Why no NATS server is connected, and what an operator can do, as far as is known. The reason
  /// comes from separate attempts beside those of nats.c, 100 ms to 10 s apart.
  std::string why_disconnected() const;

  /// The newest error that the NATS server reported since it was connected, for messages; empty: it
  /// reported none.
  std::string last_complaint() const;

  /// The handle of nats.c, for the other parts of broker/. The handle changes when nats.c gives up
  /// for good (a login was refused twice) and a new connection is made: call handle() again after
  /// each kConnected.
  std::shared_ptr<__natsConnection> handle() const;

  /// Ends a subscription that was made with handle(), for the other parts of broker/. Frees the
  /// subscription when nats.c can no longer put a message into it: after a round trip to the NATS
  /// server, which may take one second. If the NATS server does not answer, a later call of
  /// retire() or the destructor frees the subscription.
  void retire(__natsSubscription* subscription) const;

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// Checks the answer to a request of the JetStream API that was sent to `subject`. Errors: for an
/// error answer `broker.not_found` (its code is 404) or `broker.refused`; `broker.protocol` if
/// `answer` is not a JSON object.
Status check_api_answer(std::string_view subject, const Json& answer);

/// Reads the answer to a request of the JetStream API that was sent to `subject`. Pure.
ApiAnswer read_api_answer(std::string_view subject, Json answer);

}  // namespace millrace
