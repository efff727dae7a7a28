// Hops: how long a chain of generated events is, each sent by an instance that the one before it
// had started or woken. The count travels in an attribute of the events, so that workflows that set
// each other off without end are stopped. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/event.h"
#include "base/time.h"

namespace millrace {

/// The extension attribute that carries the count; absent: 0.
inline constexpr std::string_view kHopsAttribute = "millracehops";

/// An event with a higher count is not sent but becomes a dead letter for that reason.
inline constexpr uint32_t kMaxHops = 100;
inline constexpr std::string_view kHopsError = "millrace.limits.hops";

/// Whoever waits so long begins a new chain: what comes round so seldom may do so for ever.
inline constexpr Duration kHopsForgottenAfter = std::chrono::seconds(1);

/// What the event carries; anything that is no count is 0.
uint32_t hops_of(const Event& event);

}  // namespace millrace
