// NextFilter: which of the things that time will cause a list shows: timeouts, delays, retries,
// delayed events, ends of lifespans and ticks of schedules. Pure.
#pragma once

#include <array>
#include <cstddef>
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
  kCall = 7,          ///< the next attempt or the earliest timeout of the calls of an instance
  kDelayedEvent = 8,  ///< the publication of a delayed event
  kLifespan = 9,      ///< an event leaves the group of an eventsAnd start
  kTick = 10,         ///< a schedule starts an instance
};

/// The names of the kinds in the API, by their numbers.
inline constexpr std::array<std::string_view, 11> kFiringKinds = {
    "stateTimeout",     "delay", "retry",        "interrupt", "kill", "runTimeout",
    "executionTimeout", "call",  "delayedEvent", "lifespan",  "tick"};

static_assert(static_cast<size_t>(TimerKind::kCalls) == static_cast<size_t>(FiringKind::kCall));

struct NextFilter {
  std::optional<TimePoint> until;  ///< not later than this time
  std::vector<FiringKind> kinds;   ///< one of these; empty: any
  size_t limit = 50;
};

}  // namespace millrace
