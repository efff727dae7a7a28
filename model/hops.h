// Hops: the number of generated events in a chain in which each event was published by an instance
// that the previous event had started or woken. The count is the extension attribute kHopsAttribute
// of the events. A limit on the count stops workflows that trigger each other endlessly. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/event.h"
#include "base/own_attributes.h"
#include "base/time.h"

namespace millrace {

/// An event with more hops than this is not published: it becomes a dead letter with the code
/// kHopsError.
inline constexpr uint32_t kMaxHops = 100;
inline constexpr std::string_view kHopsError = "millrace.limits.hops";

/// A wait, or the delay of an event, of at least this length is long. A long delay or long wait for
/// an attempt begins a new chain, and so does an event with a long delay: workflows that trigger
/// each other so rarely may do so forever. After a long wait of any kind the transitions of the
/// instance are counted again (EngineLimits).
inline constexpr Duration kLongWait = std::chrono::seconds(1);

/// The hops of an event, from 0 to kMaxHops + 1; 0 if the attribute is absent or not a number.
uint32_t hops_of(const Event& event);

}  // namespace millrace
