// The initial data and attributes of an instance that is started by one event, or by one event for
// each entry of an eventsAnd start.
#pragma once

#include <cstdint>
#include <span>

#include "base/event.h"
#include "model/definition.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

/// `events` are the events that start the instance, one for each of `entries`; `last` is the event
/// that completed them. The input has each event's payload under the event's type; if several
/// entries have the same type, the input has an array of the payloads of their events, in the order
/// of the entries. `traceparent` and `correlationid` are taken from `last`.
StartSpec start_by_events(uint32_t revision, std::span<const StartEvent> entries,
                          std::span<const Event> events, const Event& last);

/// The value of Instance::start_event: the context attributes of the event, and of an `eventsAnd`
/// start an array of those of all events, in the order of the entries. Without the data.
LazyJson attributes_of(Start::Kind kind, std::span<const Event> events);

}  // namespace millrace
