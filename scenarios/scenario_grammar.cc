#include "scenarios/scenario_grammar.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

constexpr KeyRule kErrorKeys[] = {
    {.name = "code", .kind = Kind::kText, .meaning = "The error's code."},
    {.name = "msg", .kind = Kind::kText, .meaning = "The error's message."},
};
constexpr Mapping kError = {
    .name = "ExpectedError", .meaning = "The error of the instance.", .groups = {kErrorKeys}};

constexpr Mapping kPublished = {.name = "PublishedEvent",
                                .meaning = "A part of an event that the instance publishes."};

constexpr Word kStatuses[] = {
    {"complete", "The instance has ended without an error."},
    {"failed", "The instance has ended with an error."},
    {"cancelled", "The instance was cancelled."},
    {"timedout", "A timeout has ended the instance."},
    {"waiting",
     "The instance still waits for an event or for the result of a call when no timer is due any "
     "more."},
    {"running", "Likewise for the result of a compensation."},
    {"paused", "An operator has paused the instance."},
    {"pending", "The start waits for a slot or the throttle of its workflow."},
};
constexpr Word kLimits[] = {
    {"slot", "The start waits for a slot of its workflow, or a call for one of its service."},
    {"throttle", "Likewise for the throttle."},
};

constexpr KeyRule kMadeKeys[] = {
    {.name = "state", .kind = Kind::kState, .meaning = "The state that the compensation undoes."},
    {.name = "input",
     .kind = Kind::kCommand,
     .meaning = "A part of the input that its function gets."},
};
constexpr Mapping kMade = {.name = "ExpectedCompensation",
                           .meaning = "A part of a compensation that succeeds.",
                           .groups = {kMadeKeys}};
constexpr KeyRule kLeftKeys[] = {
    {.name = "state", .kind = Kind::kState, .meaning = "The state that the compensation undoes."},
    {.name = "input", .kind = Kind::kCommand, .meaning = "A part of its input."},
    {.name = "error",
     .kind = Kind::kObject,
     .meaning = "The error with which the compensation has failed for good.",
     .object = &kError},
};
constexpr Mapping kLeft = {.name = "ExpectedCompensationLeft",
                           .meaning = "A part of a compensation that is left.",
                           .groups = {kLeftKeys}};

constexpr KeyRule kExpectationKeys[] = {
    {.name = "workflow",
     .kind = Kind::kText,
     .meaning = "Selects the instance to check: the instance that `start` started if it is of this "
                "workflow, otherwise the first instance of this workflow."},
    {.name = "instance",
     .kind = Kind::kInteger,
     .meaning = "Selects another instance of the workflow: its number in the order of the starts, "
                "from 1.",
     .min = 1},
    {.name = "status",
     .kind = Kind::kWord,
     .meaning = "The status of the instance at the end of the scenario.",
     .words = kStatuses},
    {.name = "waits",
     .kind = Kind::kWord,
     .meaning = "The limit for which the instance, or one of its calls, waits at the end of the "
                "scenario.",
     .words = kLimits},
    {.name = "run",
     .kind = Kind::kInteger,
     .meaning = "The number of the run of the instance at the end of the scenario, from 1.",
     .min = 1},
    {.name = "states",
     .kind = Kind::kState,
     .meaning = "The states that the instance enters, in order; after `continueAsNew` those of the "
                "last run.",
     .list = true},
    {.name = "compensated",
     .kind = Kind::kState,
     .meaning = "The states whose compensations succeed, in the order in which these are made.",
     .list = true},
    {.name = "compensations",
     .kind = Kind::kObject,
     .meaning = "A part of each compensation that succeeds, in the order in which these are made.",
     .list = true,
     .object = &kMade},
    {.name = "compensationsLeft",
     .kind = Kind::kObject,
     .meaning = "A part of each compensation that is left at the end of the scenario, the next one "
                "first.",
     .list = true,
     .object = &kLeft},
    {.name = "output", .kind = Kind::kCommand, .meaning = "The complete output of the instance."},
    {.name = "outputContains",
     .kind = Kind::kCommand,
     .meaning = "A part of the output of the instance."},
    {.name = "error",
     .kind = Kind::kObject,
     .meaning = "The error of the instance.",
     .object = &kError},
    {.name = "published",
     .kind = Kind::kObject,
     .meaning = "A part of each event that the instance publishes, in order.",
     .list = true,
     .object = &kPublished},
    {.name = "attempts",
     .kind = Kind::kText,
     .meaning = "The times of the attempts of all calls, counted from the start of the instance, "
                "in order.",
     .list = true},
    {.name = "took",
     .kind = Kind::kDuration,
     .meaning = "The time from the start to the end of the instance.",
     .zero = true},
    {.name = "instances",
     .kind = Kind::kInteger,
     .meaning = "The number of instances of the workflow.",
     .min = 0},
};
constexpr Mapping kExpectation = {.name = "Expectation",
                                  .meaning = "The expected result of an instance.",
                                  .groups = {kExpectationKeys}};

constexpr KeyRule kStartKeys[] = {
    {.name = "workflow", .kind = Kind::kText, .meaning = "The workflow to start."},
    {.name = "input",
     .kind = Kind::kCommand,
     .meaning = "The input of the instance, without jq programs."},
};
constexpr Mapping kStart = {.name = "StartCall",
                            .meaning = "The API call that starts an instance.",
                            .groups = {kStartKeys}};

constexpr KeyRule kGivenKeys[] = {
    {.name = "at",
     .kind = Kind::kDuration,
     .meaning = "The time, counted from the start of the scenario.",
     .zero = true},
    {.name = "event", .kind = Kind::kCommand, .meaning = "A CloudEvent, without jq programs."},
    {.name = "cancel", .kind = Kind::kBoolean, .meaning = "Cancels the instance."},
    {.name = "pause", .kind = Kind::kBoolean, .meaning = "Pauses the instance."},
    {.name = "resume", .kind = Kind::kBoolean, .meaning = "Resumes the paused instance."},
    {.name = "retry", .kind = Kind::kBoolean, .meaning = "Retries the failed instance."},
    {.name = "extend",
     .kind = Kind::kBoolean,
     .meaning = "With retry: restarts the execution timeout."},
    {.name = "restart",
     .kind = Kind::kBoolean,
     .meaning = "Starts another run of the ended instance, from its first state."},
    {.name = "rerun",
     .kind = Kind::kText,
     .meaning = "Starts another run of the ended instance, from the state that this key names."},
    {.name = "compensate",
     .kind = Kind::kBoolean,
     .meaning = "Makes the compensations that the ended instance has left."},
    {.name = "past",
     .kind = Kind::kBoolean,
     .meaning = "With compensate: passes over the compensation that failed."},
};
constexpr Mapping kGiven = {
    .name = "Given", .meaning = "An external event or a command.", .groups = {kGivenKeys}};

constexpr Word kNever[] = {
    {"begins", "No worker takes the task."},
    {"ends", "The task has no result, and its heartbeats stop after `takes`."},
};
constexpr KeyRule kFailureKeys[] = {
    {.name = "code", .kind = Kind::kText, .meaning = "The error's code.", .required = true},
    {.name = "msg", .kind = Kind::kText, .meaning = "The error's message."},
};
constexpr Mapping kFailure = {.name = "FunctionError",
                              .meaning = "The error with which the task ends.",
                              .groups = {kFailureKeys}};
constexpr KeyRule kWrittenKeys[] = {
    {.name = "instance",
     .kind = Kind::kAttributes,
     .meaning = "Files that become variables of the instance, by key."},
    {.name = "workflow",
     .kind = Kind::kAttributes,
     .meaning = "Files that become variables of the workflow, by key."},
    {.name = "namespace",
     .kind = Kind::kAttributes,
     .meaning = "Files that become variables of the namespace, by key."},
};
constexpr Mapping kWritten = {.name = "WrittenFiles",
                              .meaning =
                                  "The files that a function writes: a text as it is, "
                                  "other values as JSON.",
                              .groups = {kWrittenKeys}};
constexpr KeyRule kPerformanceKeys[] = {
    {.name = "begins",
     .kind = Kind::kDuration,
     .meaning = "The time from the hand-out of the task to its start.",
     .otherwise = "PT0S",
     .zero = true},
    {.name = "takes",
     .kind = Kind::kDuration,
     .meaning = "The time from the start of the task to its end.",
     .otherwise = "PT0S",
     .zero = true},
    {.name = "heartbeat", .kind = Kind::kDuration, .meaning = "The interval of heartbeats."},
    {.name = "accepts",
     .kind = Kind::kBoolean,
     .meaning =
         "The service accepts the task when it starts; a callback ends it after `takes`, and "
         "`heartbeat` is the interval of its heartbeats."},
    {.name = "never",
     .kind = Kind::kWord,
     .meaning = "The report that the worker never sends.",
     .words = kNever},
    {.name = "return",
     .kind = Kind::kCommand,
     .meaning = "The result of the task.",
     .otherwise = "null"},
    {.name = "error",
     .kind = Kind::kObject,
     .meaning = "The error with which the task ends.",
     .object = &kFailure},
    {.name = "files",
     .kind = Kind::kObject,
     .meaning = "The files that the function has written when the task ends, by scope and key.",
     .object = &kWritten},
};
constexpr Mapping kPerformance = {.name = "Performance",
                                  .meaning = "The behaviour of a function for one attempt.",
                                  .groups = {kPerformanceKeys}};

constexpr KeyRule kScenarioKeys[] = {
    {.name = "name",
     .kind = Kind::kText,
     .meaning = "The name of the scenario, unique in the file.",
     .required = true},
    {.name = "secrets",
     .kind = Kind::kAttributes,
     .meaning = "The secrets of the namespace at 0 s, by name."},
    {.name = "variables",
     .kind = Kind::kAttributes,
     .meaning = "The variables of the namespace at 0 s, by key, as JSON."},
    {.name = "functions",
     .kind = Kind::kAttributes,
     .meaning = "The behaviour of external functions, by id: a mapping, or a list with one mapping "
                "for each attempt."},
    {.name = "start",
     .kind = Kind::kObject,
     .meaning = "The API call that starts an instance when the scenario begins (at 0 s).",
     .object = &kStart},
    {.name = "given",
     .kind = Kind::kObject,
     .meaning = "External events and commands, in the order of time.",
     .list = true,
     .object = &kGiven},
    {.name = "until",
     .kind = Kind::kDuration,
     .meaning = "The time at which the scenario ends, counted from its start."},
    {.name = "expect",
     .kind = Kind::kObject,
     .meaning = "The expected result.",
     .list = true,
     .required = true,
     .object = &kExpectation},
};
constexpr Mapping kScenario = {
    .name = "Scenario", .meaning = "One test of the workflows.", .groups = {kScenarioKeys}};

constexpr KeyRule kFileKeys[] = {
    {.name = "workflows",
     .kind = Kind::kText,
     .meaning =
         "The workflows: paths relative to this file, or definitions; by default the file of "
         "the same name without `.test`.",
     .list = true},
    {.name = "scenarios",
     .kind = Kind::kObject,
     .meaning = "The scenarios.",
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
