#include "orchestrator/batch/event_start_id.h"

#include <algorithm>
#include <array>

namespace millrace {
namespace {

/// Distinguishes these fingerprints from those of other purposes under the same key.
constexpr std::string_view kPurpose = "event start";

constexpr size_t kIdentifiedBy = 8 + 8 + 8 + sizeof(Fingerprint) + 4;

/// Writes the bytes of the number, the least significant one first, independent of the machine;
/// returns the end of the written bytes.
template <class T>
char* put_number(char* at, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    *at++ = static_cast<char>(number & 0xff);
    number >>= 8;
  }
  return at;
}

}  // namespace

InstanceId event_start_id(std::string_view key, const AppliedEvent& applied,
                          WorkflowNumber workflow) {
  const uint64_t sequence = applied.position.sequence;
  std::array<char, kIdentifiedBy> bytes{};
  char* at = bytes.data();
  at = put_number(at, static_cast<uint64_t>(applied.stream_created));
  at = put_number(at, sequence);
  at = put_number(at, static_cast<uint64_t>(to_millis(applied.stamped)));
  at = std::copy(applied.known_as.begin(), applied.known_as.end(), at);
  put_number(at, static_cast<uint32_t>(workflow));
  const Fingerprint print = keyed_fingerprint(key, {kPurpose, {bytes.data(), bytes.size()}});
  std::array<uint8_t, 10> rest{};
  std::copy_n(print.begin(), rest.size(), rest.begin());
  rest[0] = static_cast<uint8_t>(sequence >> 8);
  rest[1] = static_cast<uint8_t>(sequence);
  return make_instance_id(applied.stamped, rest);
}

}  // namespace millrace
