// The tables of starts: how instances of a workflow are started. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
constexpr KeyRule kStartKeys[] = {
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "The type of the start, which determines which other keys are valid.",
     .required = true},
    {.name = "state",
     .kind = Kind::kState,
     .meaning = "The state that an instance begins with; by default the first in `states`."},
};
constexpr Mapping kDefaultStart = {
    .name = "DefaultStartDefinition",
    .section = "Start",
    .meaning = "Started only through the API (by a program or an operator) or as a subflow.",
    .groups = {kStartKeys},
    .types = {"default"},
};
constexpr KeyRule kScheduledKeys[] = {
    {.name = "cron",
     .kind = Kind::kCron,
     .meaning = "The times at which instances start; without this key no instance starts."},
};
constexpr Mapping kScheduledStart = {
    .name = "ScheduledStartDefinition",
    .section = "ScheduledStartDefinition",
    .meaning = "Started repeatedly, by a schedule.",
    .groups = {kStartKeys, kScheduledKeys},
    .types = {"scheduled"},
};
constexpr KeyRule kEventStartKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event that starts an instance.",
     .required = true,
     .object = &kStartEventDefinition},
};
constexpr Mapping kEventStart = {
    .name = "EventStartDefinition",
    .section = "EventStartDefinition",
    .meaning = "Started by each event that matches.",
    .groups = {kStartKeys, kEventStartKeys},
    .types = {"event"},
};
constexpr KeyRule kStartEventsKeys[] = {
    {.name = "events",
     .kind = Kind::kObject,
     .meaning = "The events to listen for.",
     .list = true,
     .required = true,
     .object = &kStartEventEntry},
};
constexpr Mapping kEventsXorStart = {
    .name = "EventsXorStartDefinition",
    .section = "EventsXorStartDefinition",
    .meaning = "Started by each event that matches any of several entries.",
    .groups = {kStartKeys, kStartEventsKeys},
    .types = {"eventsXor", "eventXor"},
};
constexpr KeyRule kEventsAndKeys[] = {
    {.name = "lifespan",
     .kind = Kind::kDuration,
     .meaning = "How long each event waits in its group for the other events, counted from the "
                "arrival of the event; by default without limit."},
    {.name = "correlate",
     .kind = Kind::kAttribute,
     .meaning = "Context attributes that all events of one instance must have, with equal values.",
     .list = true},
};
constexpr Mapping kEventsAndStart = {
    .name = "EventsAndStartDefinition",
    .section = "EventsAndStartDefinition",
    .meaning = "Started when an event has arrived for each of several entries.",
    .groups = {kStartKeys, kStartEventsKeys, kEventsAndKeys},
    .types = {"eventsAnd", "eventAnd"},
};
constexpr const Mapping* kStarts[] = {
    &kDefaultStart, &kScheduledStart, &kEventStart, &kEventsXorStart, &kEventsAndStart,
};
constexpr Mapping kStart = {
    .name = "Start",
    .section = "Start",
    .meaning = "How instances of the workflow are started.",
    .groups = {kStartKeys},
    .kinds = kStarts,
};

}  // namespace millrace::grammar
