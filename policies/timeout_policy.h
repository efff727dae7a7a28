// TimeoutPolicy: how long an action may take. Each timeout is a span that starts at a time which
// the caller knows and stores. Immutable values, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policies/duration.h"

namespace millrace {

/// The kinds of timeouts, in the order in which they are applied if several are due at the same
/// time.
// Stored on disk as positions in a list: never renumber.
enum class TimeoutKind : uint8_t {
  kScheduleToClose = 0,  ///< all attempts together, and the waits between them
  kStartToClose = 1,     ///< one attempt, from when its work starts
  kHeartbeat = 2,        ///< the longest time without a heartbeat
  kScheduleToStart = 3,  ///< from when an attempt is handed out until its work starts
};
inline constexpr size_t kTimeoutKinds = 4;

/// The error code of a timeout of this kind: "millrace.timeout.scheduleToClose", …
std::string_view error_code(TimeoutKind kind);

struct Timeout {
  Span span;
  /// What happens when the timeout expires: an error that a retry policy may retry, an error that
  /// no retry policy applies to, or the instance is cancelled without an error (Steep,
  /// `errorOnTimeout`).
  enum class Expiry : uint8_t { kRetryable, kFinal, kCancels };
  Expiry expiry = Expiry::kFinal;

  bool operator==(const Timeout&) const = default;
};

/// The timeouts of an action or a function, at most one of each kind.
struct TimeoutPolicy {
  std::array<std::optional<Timeout>, kTimeoutKinds> timeouts;

  std::optional<Timeout>& operator[](TimeoutKind kind) {
    return timeouts[static_cast<size_t>(kind)];
  }
  const std::optional<Timeout>& operator[](TimeoutKind kind) const {
    return timeouts[static_cast<size_t>(kind)];
  }

  /// This policy, completed by the timeouts of `farther` for each kind that is not set here.
  TimeoutPolicy over(const TimeoutPolicy& farther) const;

  bool operator==(const TimeoutPolicy&) const = default;
};

}  // namespace millrace
