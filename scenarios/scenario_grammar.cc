#include "scenarios/scenario_grammar.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

constexpr KeyRule kErrorKeys[] = {
    {.name = "code", .kind = Kind::kText, .meaning = "The error's code."},
    {.name = "msg", .kind = Kind::kText, .meaning = "The error's message."},
};
constexpr Mapping kError = {
    .name = "ExpectedError", .meaning = "The error that it ends with.", .groups = {kErrorKeys}};

constexpr Mapping kPublished = {.name = "PublishedEvent", .meaning = "A part of an event."};

constexpr Word kStatuses[] = {
    {"complete", "It has ended."},
    {"failed", "It has ended with an error."},
    {"cancelled", "It was cancelled."},
    {"timedout", "Its time was over."},
    {"waiting", "It waits when nothing is left to do."},
};

constexpr KeyRule kExpectationKeys[] = {
    {.name = "workflow", .kind = Kind::kText, .meaning = "The workflow of the instance."},
    {.name = "status", .kind = Kind::kWord, .meaning = "How it ends.", .words = kStatuses},
    {.name = "states", .kind = Kind::kState, .meaning = "Those it enters, in order.", .list = true},
    {.name = "output", .kind = Kind::kCommand, .meaning = "The whole of its output."},
    {.name = "outputContains", .kind = Kind::kCommand, .meaning = "A part of its output."},
    {.name = "error",
     .kind = Kind::kObject,
     .meaning = "The error that it ends with.",
     .object = &kError},
    {.name = "published",
     .kind = Kind::kObject,
     .meaning = "A part of each event that it publishes, in order.",
     .list = true,
     .object = &kPublished},
    {.name = "attempts",
     .kind = Kind::kText,
     .meaning = "When its calls were made, counted from its start, in order.",
     .list = true},
    {.name = "took",
     .kind = Kind::kDuration,
     .meaning = "From its start to its end.",
     .zero = true},
    {.name = "instances",
     .kind = Kind::kInteger,
     .meaning = "How many of its workflow there are.",
     .min = 0},
};
constexpr Mapping kExpectation = {.name = "Expectation",
                                  .meaning = "What is to come of an instance.",
                                  .groups = {kExpectationKeys}};

constexpr KeyRule kStartKeys[] = {
    {.name = "workflow", .kind = Kind::kText, .meaning = "The workflow that is called."},
    {.name = "input", .kind = Kind::kCommand, .meaning = "Its input, as it stands."},
};
constexpr Mapping kStart = {
    .name = "StartCall", .meaning = "The call that starts it.", .groups = {kStartKeys}};

constexpr KeyRule kGivenKeys[] = {
    {.name = "at",
     .kind = Kind::kDuration,
     .meaning = "When, counted from the beginning.",
     .zero = true},
    {.name = "event", .kind = Kind::kCommand, .meaning = "A CloudEvent, as it stands."},
    {.name = "cancel", .kind = Kind::kBoolean, .meaning = "The instance is cancelled."},
    {.name = "pause", .kind = Kind::kBoolean, .meaning = "It is paused."},
    {.name = "resume", .kind = Kind::kBoolean, .meaning = "It goes on after a pause."},
    {.name = "retry", .kind = Kind::kBoolean, .meaning = "It has failed and is tried again."},
    {.name = "extend",
     .kind = Kind::kBoolean,
     .meaning = "With retry: the execution's deadline counts anew."},
    {.name = "restart", .kind = Kind::kBoolean, .meaning = "It has ended and is run anew."},
    {.name = "rerun",
     .kind = Kind::kText,
     .meaning = "It has ended and is run anew from that state."},
};
constexpr Mapping kGiven = {
    .name = "Given", .meaning = "What happens from outside.", .groups = {kGivenKeys}};

constexpr Word kNever[] = {
    {"begins", "Nobody takes it."},
    {"ends", "Whoever takes it never answers, and falls silent after `takes`."},
};
constexpr KeyRule kFailureKeys[] = {
    {.name = "code", .kind = Kind::kText, .meaning = "The error's code.", .required = true},
    {.name = "msg", .kind = Kind::kText, .meaning = "The error's message."},
};
constexpr Mapping kFailure = {
    .name = "FunctionError", .meaning = "The error that it answers.", .groups = {kFailureKeys}};
constexpr KeyRule kPerformanceKeys[] = {
    {.name = "begins",
     .kind = Kind::kDuration,
     .meaning = "How long after it was handed out somebody begins with it.",
     .otherwise = "PT0S",
     .zero = true},
    {.name = "takes",
     .kind = Kind::kDuration,
     .meaning = "How long it takes from then on.",
     .otherwise = "PT0S",
     .zero = true},
    {.name = "heartbeat", .kind = Kind::kDuration, .meaning = "How often it gives a sign of life."},
    {.name = "never",
     .kind = Kind::kWord,
     .meaning = "What does not happen at all.",
     .words = kNever},
    {.name = "return", .kind = Kind::kCommand, .meaning = "What it answers.", .otherwise = "null"},
    {.name = "error",
     .kind = Kind::kObject,
     .meaning = "The error that it answers.",
     .object = &kFailure},
};
constexpr Mapping kPerformance = {.name = "Performance",
                                  .meaning = "What a function does with one attempt.",
                                  .groups = {kPerformanceKeys}};

constexpr KeyRule kScenarioKeys[] = {
    {.name = "name", .kind = Kind::kText, .meaning = "What it shows.", .required = true},
    {.name = "secrets",
     .kind = Kind::kAttributes,
     .meaning = "The namespace's secrets, name by name."},
    {.name = "variables",
     .kind = Kind::kAttributes,
     .meaning = "The namespace's variables, key by key, as JSON."},
    {.name = "functions",
     .kind = Kind::kAttributes,
     .meaning = "What functions outside do, by id: a part, or one for each attempt in a list."},
    {.name = "start", .kind = Kind::kObject, .meaning = "The call at 0 s.", .object = &kStart},
    {.name = "given",
     .kind = Kind::kObject,
     .meaning = "What happens then, in the order of time.",
     .list = true,
     .object = &kGiven},
    {.name = "until", .kind = Kind::kDuration, .meaning = "When it is over at the latest."},
    {.name = "expect",
     .kind = Kind::kObject,
     .meaning = "What is to come of it.",
     .list = true,
     .required = true,
     .object = &kExpectation},
};
constexpr Mapping kScenario = {
    .name = "Scenario", .meaning = "One thing that the workflows do.", .groups = {kScenarioKeys}};

constexpr KeyRule kFileKeys[] = {
    {.name = "workflows",
     .kind = Kind::kText,
     .meaning = "Their files, from here; without it the one of the same name.",
     .list = true},
    {.name = "scenarios",
     .kind = Kind::kObject,
     .meaning = "What they do.",
     .list = true,
     .required = true,
     .object = &kScenario},
};
constexpr Mapping kFile = {
    .name = "ScenarioFile", .meaning = "Scenarios of workflows.", .groups = {kFileKeys}};

}  // namespace

const Mapping& scenario_file_grammar() { return kFile; }
const Mapping& expectation_grammar() { return kExpectation; }
const Mapping& performance_grammar() { return kPerformance; }

}  // namespace millrace
