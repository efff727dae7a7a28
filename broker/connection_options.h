// Converts the settings of a connection into options of nats.c. Private to broker/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"

namespace millrace {

/// Sets options one after the other. After an option that nats.c refuses, no further option is set.
class NatsOptionSetter {
 public:
  explicit NatsOptionSetter(natsOptions* options) : options_(options) {}

  template <class Function, class... Arguments>
  void operator()(Function function, Arguments... arguments) {
    if (status_ == NATS_OK) status_ = function(options_, arguments...);
  }

  /// Ok if nats.c accepted all options. Error `broker.settings`.
  Status check(const ConnectionSettings& settings) const;

 private:
  natsOptions* options_;
  natsStatus status_ = NATS_OK;
};

/// The options that any attempt to connect needs: the servers and the credentials. Errors:
/// `broker.settings`, `broker.nkey`.
Result<NatsOptionsHandle> make_login_options(const ConnectionSettings& settings);

/// The options of a lasting connection: those of make_login_options(), and the options for pings,
/// buffers and reconnects. Errors as make_login_options().
Result<NatsOptionsHandle> make_link_options(const ConnectionSettings& settings);

/// The options of a single attempt: those of make_login_options(), a timeout of two seconds, and no
/// reconnect.
Result<NatsOptionsHandle> make_attempt_options(const ConnectionSettings& settings);

/// The largest inbox prefix, in bytes.
inline constexpr size_t kMostInboxPrefix = 64;

/// Whether subjects for answers may begin with `prefix`: tokens joined by dots, as in a subject to
/// publish to, that do not begin with `$`.
bool is_inbox_prefix(std::string_view prefix);

/// The servers without user names and passwords, for messages.
std::string shown_servers(const ConnectionSettings& settings);

}  // namespace millrace
