// The name of this machine, and the host at which others reach a server on it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <unistd.h>

namespace millrace {

/// At most 255 bytes; empty: the system does not say it.
inline std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The host at which others reach a server that listens on this address, HOST:PORT: this machine if
/// it listens on all addresses, and loopback if there is no host.
inline std::string reachable_host(std::string_view listen) {
  const std::string_view host = listen.substr(0, listen.rfind(':'));
  if (host.empty()) return "127.0.0.1";
  const bool is_any = host == "0.0.0.0" || host == "[::]";
  return is_any ? host_name() : std::string(host);
}

}  // namespace millrace
