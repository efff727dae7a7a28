// Connections to a NATS server without nats.c, for what nats.c does not report. Private to broker/.
// The functions block: for one second for each address, and as long as the resolver does.
#pragma once

#include <string>
#include <string_view>

#include "os/descriptor.h"

namespace millrace {

/// A connected socket that does not block, or why there is none.
struct Dialed {
  Descriptor socket;
  std::string why;  ///< a sentence; empty: there is a socket
};

/// Connects to the first address of the NATS server that accepts. `url` has no login:
/// `nats://host:port`, `[::1]:4222`, `host`.
Dialed dial(std::string_view url);

}  // namespace millrace
