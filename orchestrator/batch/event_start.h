// What an instance starts with that events start, be it one event or one for each entry of an
// eventsAnd.
#pragma once

#include <cstdint>
#include <span>

#include "base/event.h"
#include "model/definition.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

/// `events` are those that start it, one for each of `entries`; `last` is the event that completed
/// them. The input has each payload under its event's type; a type that several entries have holds
/// an array of them, in the order of the entries. `traceparent` and `correlationid` are those of
/// `last`.
StartSpec start_by_events(uint32_t revision, std::span<const StartEvent> entries,
                          std::span<const Event> events, const Event& last);

}  // namespace millrace
