// How long an action may take. Each timeout is a deadline,
// counted from a moment that the caller knows and keeps. Immutable values, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policies/duration.h"

namespace millrace {

/// In the order in which they are asked where several are due at one moment.
// On disk, as places in a list: never renumber.
enum class TimeoutKind : uint8_t {
  kScheduleToClose = 0,  ///< all attempts, and the waits between them
  kStartToClose = 1,     ///< one attempt, from when somebody begins with it
  kHeartbeat = 2,        ///< the silence of who works on it
  kScheduleToStart = 3,  ///< from when an attempt is handed out until somebody begins with it
};
inline constexpr size_t kTimeoutKinds = 4;

/// "millrace.timeout.scheduleToClose", …
std::string_view error_code(TimeoutKind kind);

struct Timeout {
  Span span;
  /// What its expiry is: an error that a retry policy may take, one that no policy is asked about,
  /// or the end of the instance, cancelled, without any error (Steep, `errorOnTimeout`).
  enum class Expiry : uint8_t { kRetryable, kFinal, kCancels };
  Expiry expiry = Expiry::kFinal;

  bool operator==(const Timeout&) const = default;
};

/// What an action or a function says; of each kind one at most.
struct TimeoutPolicy {
  std::array<std::optional<Timeout>, kTimeoutKinds> timeouts;

  std::optional<Timeout>& operator[](TimeoutKind kind) {
    return timeouts[static_cast<size_t>(kind)];
  }
  const std::optional<Timeout>& operator[](TimeoutKind kind) const {
    return timeouts[static_cast<size_t>(kind)];
  }

  /// This one, and for what it does not say the other: the nearest key wins, key by key.
  TimeoutPolicy over(const TimeoutPolicy& farther) const;

  bool operator==(const TimeoutPolicy&) const = default;
};

}  // namespace millrace
