// Random ids: of a store, of a process, of an incarnation.
#pragma once

#include <array>
#include <cstdint>

#include <sodium.h>

namespace millrace {

inline std::array<uint8_t, 16> random_id() {
  std::array<uint8_t, 16> id;
  randombytes_buf(id.data(), id.size());
  return id;
}

}  // namespace millrace
