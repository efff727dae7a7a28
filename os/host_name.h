// The name of this machine.
#pragma once

#include <array>
#include <string>

#include <unistd.h>

namespace millrace {

/// At most 255 bytes; empty: the system does not say it.
inline std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace millrace
