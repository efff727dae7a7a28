// The tables of events: those that states wait for, those that start instances, and those that
// states publish. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
constexpr std::array kCaptures = {
    Word{"payload", "the event's data"},
    Word{"event",
         "the complete CloudEvent in JSON format: attributes at .[TYPE].NAME, the payload at "
         ".[TYPE].data"},
};

constexpr KeyRule kEventType = {
    .name = "type",
    .kind = Kind::kEventType,
    .meaning = "The type of the CloudEvent, compared as plain text.",
    .required = true,
};
constexpr KeyRule kCapture = {
    .name = "capture",
    .kind = Kind::kWord,
    .meaning = "The part of the event that is stored in the data, under the type of the event.",
    .otherwise = "payload",
    .words = kCaptures,
    .own = true,
};

constexpr KeyRule kConsumedKeys[] = {
    kEventType,
    {.name = "context",
     .kind = Kind::kPatterns,
     .meaning =
         "Patterns for the event's context attributes. jq($instance.id) is the id of this "
         "instance, which a reply may have. The result of a jq(…) is compared as plain text.",
     .spellings = {"filters"}},
    kCapture,
    {.name = "lookback",
     .kind = Kind::kDuration,
     .meaning = "The state first gets matching events that came at most this long before it, and "
                "that the instance has not taken; at most P7D.",
     .own = true},
};
constexpr Mapping kConsumeEventDefinition = {
    .name = "ConsumeEventDefinition",
    .section = "ConsumeEventDefinition",
    .meaning = "An event that a state waits for.",
    .groups = {kConsumedKeys},
};

constexpr KeyRule kConsumedEventKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event to wait for.",
     .required = true,
     .object = &kConsumeEventDefinition,
     .inlined = true},
};
constexpr Mapping kEventAndEntry = {
    .name = "EventAndEntry",
    .section = "EventAndState",
    .meaning = "One of the events that must all arrive.",
    .groups = {kConsumedEventKeys},
};
constexpr Mapping kEventConditionDefinition = {
    .name = "EventConditionDefinition",
    .section = "EventConditionDefinition",
    .meaning = "One of the events of which one must arrive, and the state that follows this event.",
    .groups = {kConsumedEventKeys, kExitKeys},
};

constexpr KeyRule kStartEventKeys[] = {
    kEventType,
    {.name = "filters",
     .kind = Kind::kPatterns,
     .meaning = "Patterns for the event's context attributes; jq(…) is not possible in a start.",
     .spellings = {"context"}},
    kCapture,
};
constexpr Mapping kStartEventDefinition = {
    .name = "StartEventDefinition",
    .section = "StartEventDefinition",
    .meaning = "An event that starts an instance.",
    .groups = {kStartEventKeys},
};

constexpr KeyRule kStartEventEntryKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event to listen for.",
     .required = true,
     .object = &kStartEventDefinition,
     .inlined = true},
};
constexpr Mapping kStartEventEntry = {
    .name = "StartEventEntry",
    .section = "StartEventDefinition",
    .meaning = "One of several events that start an instance.",
    .groups = {kStartEventEntryKeys},
};

constexpr KeyRule kGeneratedKeys[] = {
    {.name = "type",
     .kind = Kind::kTemplate,
     .meaning = "The type of the published CloudEvent.",
     .required = true},
    {.name = "source",
     .kind = Kind::kTemplate,
     .meaning = "The source of the published CloudEvent: a URI reference.",
     .required = true},
    {.name = "data", .kind = Kind::kCommand, .meaning = "The payload.", .otherwise = "."},
    {.name = "datacontenttype",
     .kind = Kind::kMediaType,
     .meaning = "The media type of the payload; unless this type is JSON, a string that is Base64 "
                "is decoded.",
     .otherwise = "application/json"},
    {.name = "context",
     .kind = Kind::kAttributes,
     .meaning = "Further context attributes: subject, dataschema and extensions."},
};
constexpr Mapping kGenerateEventDefinition = {
    .name = "GenerateEventDefinition",
    .section = "GenerateEventDefinition",
    .meaning = "An event to publish.",
    .groups = {kGeneratedKeys},
};

}  // namespace millrace::grammar
