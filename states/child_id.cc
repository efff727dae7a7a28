#include "states/child_id.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace millrace {
namespace {

/// The bytes of the number, the least significant one first, independent of the machine.
template <class T>
std::string little_endian(T number) {
  std::string bytes(sizeof number, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(number & 0xff);
    number >>= 8;
  }
  return bytes;
}

}  // namespace

InstanceId child_id(std::string_view key, const Caller& caller, TimePoint now) {
  const Fingerprint print =
      keyed_fingerprint(key, {to_string(caller.instance), little_endian(caller.entered),
                              little_endian(caller.index), little_endian(caller.attempt)});
  std::array<uint8_t, 10> rest{};
  std::copy_n(print.begin(), rest.size(), rest.begin());
  rest[0] = static_cast<uint8_t>(caller.index >> 8);
  rest[1] = static_cast<uint8_t>(caller.index);
  return make_instance_id(now, rest);
}

}  // namespace millrace
