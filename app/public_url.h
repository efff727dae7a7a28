// The URL at which services reach the gateway.
#pragma once

#include <cstdint>
#include <string>

#include "app/server_settings.h"

namespace millrace {

/// The URL that the operator has set; otherwise that of the node in its cluster; otherwise the host
/// of the address that the gateway listens on, with this port, which the system may have chosen. If
/// the gateway listens on all addresses, the host is the name of this machine.
std::string public_url(const ServerSettings& settings, uint16_t port);

}  // namespace millrace
