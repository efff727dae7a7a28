// The tables of starts: what makes instances of a workflow begin. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
constexpr KeyRule kStartKeys[] = {
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "What makes an instance start, and so which keys there are.",
     .required = true},
    {.name = "state",
     .kind = Kind::kState,
     .meaning = "The state that an instance begins with; without it the first one."},
};
constexpr Mapping kDefaultStart = {
    .name = "DefaultStartDefinition",
    .section = "Start",
    .meaning = "Started by a call, a subflow or an operator only.",
    .groups = {kStartKeys},
    .types = {"default"},
};
constexpr KeyRule kScheduledKeys[] = {
    {.name = "cron", .kind = Kind::kCron, .meaning = "When an instance starts; without it never."},
};
constexpr Mapping kScheduledStart = {
    .name = "ScheduledStartDefinition",
    .section = "ScheduledStartDefinition",
    .meaning = "Started again and again, by the clock.",
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
     .meaning = "How long an event is kept for the others to come; without it for ever."},
    {.name = "correlate",
     .kind = Kind::kAttribute,
     .meaning = "Context attributes that all events of one instance must have, with equal values.",
     .list = true},
};
constexpr Mapping kEventsAndStart = {
    .name = "EventsAndStartDefinition",
    .section = "EventsAndStartDefinition",
    .meaning = "Started once an event has come for each of several entries.",
    .groups = {kStartKeys, kStartEventsKeys, kEventsAndKeys},
    .types = {"eventsAnd", "eventAnd"},
};
constexpr const Mapping* kStarts[] = {
    &kDefaultStart, &kScheduledStart, &kEventStart, &kEventsXorStart, &kEventsAndStart,
};
constexpr Mapping kStart = {
    .name = "Start",
    .section = "Start",
    .meaning = "How instances of the workflow come to be.",
    .groups = {kStartKeys},
    .kinds = kStarts,
};

}  // namespace millrace::grammar
