// NextFilter: which of the things that time will cause a list shows: timeouts, delays, retries,
// delayed events, ends of lifespans, ticks of schedules, pending starts and turns of throttles.
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// What time will cause. The first ones are timers of instances, with the numbers of TimerKind.
enum class FiringKind : uint8_t {
  kStateTimeout = 0,
  kDelay = 1,
  kRetry = 2,
  kInterrupt = 3,
  kKill = 4,
  kRunTimeout = 5,
  kExecutionTimeout = 6,
  kCall = 7,             ///< the next attempt or the earliest timeout of the calls of an instance
  kQueueTimeout = 8,     ///< the end of a start's wait for a slot
  kThrottleTimeout = 9,  ///< the end of a start's wait for the throttle
  kDelayedEvent = 10,    ///< the publication of a delayed event
  kLifespan = 11,        ///< an event leaves the group of an eventsAnd start
  kTick = 12,            ///< a schedule starts an instance
  kPendingStart = 13,    ///< a start that `debounce` or `batch` has put off
  kThrottle = 14,        ///< a throttle permits the next start or call that waits for it
};

/// The names of the kinds in the API, by their numbers.
inline constexpr std::array<std::string_view, 15> kFiringKinds = {"stateTimeout",
                                                                  "delay",
                                                                  "retry",
                                                                  "interrupt",
                                                                  "kill",
                                                                  "runTimeout",
                                                                  "executionTimeout",
                                                                  "call",
                                                                  "queueTimeout",
                                                                  "throttleTimeout",
                                                                  "delayedEvent",
                                                                  "lifespan",
                                                                  "tick",
                                                                  "pendingStart",
                                                                  "throttle"};

static_assert(static_cast<size_t>(TimerKind::kThrottle) ==
              static_cast<size_t>(FiringKind::kThrottleTimeout));

struct NextFilter {
  std::optional<TimePoint> until;  ///< not later than this time
  std::vector<FiringKind> kinds;   ///< one of these; empty: any
  size_t limit = 50;
};

inline bool wants(const NextFilter& filter, FiringKind kind) {
  const auto& kinds = filter.kinds;
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
/// Whether the filter wants a kind that has timers in the wheel, each with an owner of its own.
inline bool wants_timers(const NextFilter& filter) {
  const auto is_other = [](FiringKind kind) {
    return kind != FiringKind::kTick && kind != FiringKind::kPendingStart &&
           kind != FiringKind::kThrottle;
  };
  return filter.kinds.empty() || std::any_of(filter.kinds.begin(), filter.kinds.end(), is_other);
}

/// What has cut a list of firings, in the member `cutBy` of the answer: the limit of the filter,
/// which the caller may raise, or a bound of what one query looks at.
inline constexpr std::string_view kCutByLimit = "limit";
inline constexpr std::string_view kCutByLook = "look";

struct WalkedTimers;

/// The most heads of instances, delayed events and grouped events at which one query looks.
inline constexpr size_t kMostFiringRows = 20'000;

/// What one query of what will fire looks at.
struct NextLooks {
  size_t rows = kMostFiringRows;  ///< heads, delayed events and grouped events
  /// Timers that the engine thread has found, instead of all of these rows; null: look at the rows.
  const WalkedTimers* walked = nullptr;
};

}  // namespace millrace
