// Whether a host is this machine, by its name or address alone: no name is resolved. Pure.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// Whether a host without a port is a loopback name or address: `localhost` and names below it,
/// 127.0.0.0/8, `[::1]`.
bool is_loopback_host(std::string_view host);

/// Whether a request to the URL leaves this machine in plain text: it has the scheme http, or none,
/// and a host that is not loopback. false for a text that is no URL of a server.
bool is_plain_to_other_machine(const std::string& url);

}  // namespace millrace
