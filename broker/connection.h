// A connection to NATS that is made again for as long as it is wanted, and requests over it. All
// other parts of broker/ stand on one. Any thread may call it; watchers are called on threads of
// nats.c and must return at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/defaults.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"

// nats.h, which only sources of broker/ include, calls them so.
// NOLINTBEGIN(bugprone-reserved-identifier)
struct __natsConnection;
struct __natsSubscription;
// NOLINTEND(bugprone-reserved-identifier)

namespace millrace {

/// Where the broker is and who we are there. Empty: not used.
struct ConnectionSettings {
  std::vector<std::string> servers = {defaults::nats_url()};
  std::string name = "millrace";  ///< shown by the server
  std::string user;
  std::string password;
  std::string token;
  std::string creds_file;      ///< JWT and seed
  std::string nkey_seed_file;  ///< the seed alone
  std::string tls_ca_file;
  std::string tls_cert_file;  ///< with tls_key_file: mutual TLS
  std::string tls_key_file;
  /// Whether it counts as connected only where allow_until() says so.
  bool guarded = false;
  std::string js_domain;  ///< of JetStream: its API is asked there; empty: where the server is
  /// Whether each message is written to the socket by itself. Else many go in one write, and who
  /// sends them flushes: a system call here and a read there saved for each.
  bool send_at_once = true;
};

/// URLs without the names and passwords that they may hold, to be shown.
std::vector<std::string> without_logins(std::vector<std::string> servers);

enum class LinkChange {
  kConnected,
  kDisconnected,
  kLameDuck,  ///< the server is about to close its connections; nats.c then goes to another
};

/// How long an answer of the broker is waited for.
inline constexpr Duration kRequestTimeout{5000};

class Connection {
 public:
  /// Returns with or without a server there: it goes on trying, 100 ms to 2 s apart, for ever.
  /// Errors: `broker.settings` (a file cannot be read, a URL is none), `broker.nkey`.
  static Result<std::unique_ptr<Connection>> open(ConnectionSettings settings);

  /// Closes at once; nothing watches or subscribes any more.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Whether it can be used: it is connected, and allowed where it is guarded.
  bool connected() const;

  /// A guarded one may be used until then, by the steady clock; each call replaces the time of the
  /// one before. Where it was not allowed, those who watch hear that it is connected.
  void allow_until(std::chrono::steady_clock::time_point until);
  /// It may not be used any more; those who watch hear that it is disconnected.
  void forbid();

  /// Waits until it is connected; false: not within `at_most`.
  bool wait_until_connected(Duration at_most) const;

  /// `watcher` hears every change from now on, until unwatch(): not within, and not after it.
  uint64_t watch(std::function<void(LinkChange)> watcher);
  void unwatch(uint64_t watch);

  /// Sends `data` to `subject` and waits for the answer. Errors: `broker.unreachable` (no
  /// connection, or nobody listens there), `broker.timeout`, `broker.protocol`.
  Result<NatsMessage> request(std::string_view subject, std::string_view data,
                              Duration at_most = kRequestTimeout) const;

  /// The same with headers.
  Result<NatsMessage> request(const NatsMessage& message, Duration at_most = kRequestTimeout) const;

  /// A subject of the JetStream API, in the domain; `subject` is what follows `$JS.API.`.
  std::string api_subject(std::string_view subject) const;

  /// One request of the JetStream API; `subject` is what follows `$JS.API.`. Errors as request(),
  /// and what the broker answers: `broker.not_found` (its code 404), `broker.refused`.
  Result<Json> api(std::string_view subject, const Json& body,
                   Duration at_most = kRequestTimeout) const;

  /// The largest message that the server takes, headers included.
  size_t max_payload() const;

  /// Why it is not connected and what to do, as far as is known: found out by an attempt beside
  /// that of nats.c, which comes 100 ms to 10 s after the one before.
  std::string why_disconnected() const;

  /// What the server last complained about since it was connected, for messages; empty: nothing.
  std::string last_complaint() const;

  /// The handle of nats.c, for the rest of broker/. It changes when the library gives up for good
  /// (a login refused twice) and a new one is made: ask again after each kConnected.
  std::shared_ptr<__natsConnection> handle() const;

  /// Ends a subscription of that handle, for the rest of broker/, and frees it when nats.c can no
  /// longer be about to put a message into it: after a round trip to the server, for which it waits
  /// a second at most. Where there is none that is left to the next one, or to the end of this.
  void retire(__natsSubscription* subscription) const;

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
