// The initial data and attributes of an instance that is started by one event, or by one event for
// each entry of an eventsAnd start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/event.h"
#include "model/definition.h"
#include "orchestrator/batch/instances.h"
#include "states/workflow.h"

namespace millrace {

/// The most bytes of the events, as they are stored, with which one instance starts: they become
/// its input in one unit of work.
inline constexpr size_t kMostStartBytes = size_t{16} << 20;

/// `events` are the events that start an instance of the workflow, one for each of `entries`;
/// `last` is the event that completed them. The input has each event's payload under the event's
/// type; if several entries have the same type, the input has an array of the payloads of their
/// events, in the order of the entries. `traceparent` and `correlationid` are taken from `last`. If
/// a jq program of the workflow names `$instance`, `start_event` has the context attributes of the
/// event, and of an `eventsAnd` start an array of those of all events, in the order of the entries;
/// without the data.
StartSpec start_by_events(const Workflow& workflow, uint32_t revision,
                          std::span<const StartEvent> entries, std::span<const Event> events,
                          const Event& last);

}  // namespace millrace
