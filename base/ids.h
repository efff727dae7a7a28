// Ids of instances: UUIDs of version 7 (RFC 9562). Ids sort by their times, so that the store
// appends the rows of new instances at the end. The time is usually near the start of the instance,
// but not always (orchestrator/store/rows/start_bounds.h). Nothing here generates random bits: the
// caller passes them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

struct InstanceId {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const InstanceId&) const = default;
};

/// A version 7 UUID for `time`; `randomness` fills the bits that are not time, version or variant.
InstanceId make_instance_id(TimePoint time, std::array<uint8_t, 10> randomness);

/// The time that make_instance_id() put into the id.
TimePoint time_of(const InstanceId& id);

/// The id in the form `0190b5a4-7c1e-7f2a-8000-0123456789ab`.
std::string to_string(const InstanceId& id);

/// Reads an id in the form that to_string writes; upper-case digits are accepted. Error:
/// `id.malformed`, which quotes the text.
Result<InstanceId> parse_instance_id(std::string_view text);

/// Whether `name` is a valid name of a workflow, state, function, error code, namespace or secret:
/// 1 to 128 letters, digits, `.`, `-`, `_` (Direktiv's "Common Fields").
bool is_identifier(std::string_view name);

}  // namespace millrace

template <>
struct std::hash<millrace::InstanceId> {
  /// The low half of the id is random bits, so it serves as the hash.
  size_t operator()(const millrace::InstanceId& id) const noexcept {
    uint64_t low = 0;
    for (size_t i = 8; i < 16; ++i) low = low << 8 | id.bytes[i];
    return low;
  }
};
