// Early events: events that came before an instance listens for them (`lookback`). The instance
// asks for them with a LookBack effect (effect.h), waits as for an evaluation, and is offered what
// was found before any later event. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/event.h"
#include "base/result.h"
#include "base/time.h"
#include "matchers/event_filter.h"

namespace millrace {

/// The error of a state whose window cannot be looked through completely.
inline constexpr const char* kLookbackLimit = "millrace.limits.lookback";

/// The longest `lookback`.
inline constexpr Duration kLongestLookback = std::chrono::days(7);

/// A filter for early events. `entry` is the number that the state gives to the listener.
struct EarlyListener {
  uint32_t entry = 0;
  EventFilter filter;
  TimePoint since;  ///< only events that the broker stored at this time or later
};

/// An early event for the instance.
struct EarlyEvent {
  uint64_t sequence = 0;   ///< of its message in the event stream
  Fingerprint known_as{};  ///< the fingerprint of its namespace, source and id
  std::shared_ptr<const Event> event;
  uint32_t entry = 0;  ///< the first of the matching listeners
};

/// The early events for an instance, ascending by sequence. Error kLookbackLimit: the window, or
/// what the instance has taken in it, could not be read completely.
using EarlyEvents = Result<std::vector<EarlyEvent>>;

}  // namespace millrace
