// The settings of a connection as options of nats.c. Private to broker/.
#pragma once

#include <string>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"

namespace millrace {

/// Sets options one after the other until nats.c refuses one.
class NatsOptionSetter {
 public:
  explicit NatsOptionSetter(natsOptions* options) : options_(options) {}

  template <class Function, class... Arguments>
  void operator()(Function function, Arguments... arguments) {
    if (status_ == NATS_OK) status_ = function(options_, arguments...);
  }

  /// Whether nats.c has taken all of them. Error `broker.settings`.
  Status check(const ConnectionSettings& settings) const;

 private:
  natsOptions* options_;
  natsStatus status_ = NATS_OK;
};

/// The servers, and who we are there: all that an attempt to connect needs. Errors:
/// `broker.settings`, `broker.nkey`.
Result<NatsOptionsHandle> make_login_options(const ConnectionSettings& settings);

/// These, and how the connection is kept alive and made again. Errors as make_login_options().
Result<NatsOptionsHandle> make_link_options(const ConnectionSettings& settings);

/// The same for one attempt of two seconds at most, without another one behind it.
Result<NatsOptionsHandle> make_attempt_options(const ConnectionSettings& settings);

/// The servers for messages, without names and passwords.
std::string shown_servers(const ConnectionSettings& settings);

}  // namespace millrace
