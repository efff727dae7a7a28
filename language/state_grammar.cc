// The tables of states: the keys that every state has, and each type of state. Constants, any
// thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
// The entries of `catch`.

constexpr KeyRule kCatchKeys[] = {
    {.name = "error",
     .kind = Kind::kGlob,
     .meaning = "The error codes that this entry catches.",
     .required = true},
    {.name = "transition",
     .kind = Kind::kState,
     .meaning = "The state that follows the error; without one the instance ends as complete."},
    {.name = "continueAsNew",
     .kind = Kind::kQuery,
     .meaning = "In place of `transition`: a query whose result, with the error under .error, is "
                "the input of the next run of the instance.",
     .own = true},
};
constexpr Mapping kErrorDefinition = {
    .name = "ErrorDefinition",
    .section = "ErrorDefinition",
    .meaning =
        "What happens after an error; the first entry that matches the code of the error applies.",
    .groups = {kCatchKeys},
};

// The keys that every state has, and those that most states have.

constexpr KeyRule kStateKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "The name by which transitions refer to the state; unique in the workflow.",
     .required = true},
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "The type of the state, which determines which other keys are valid.",
     .required = true},
    {.name = "log",
     .kind = Kind::kCommand,
     .meaning = "A value that is written to the history of the instance when the instance enters "
                "the state."},
    {.name = "catch",
     .kind = Kind::kObject,
     .meaning = "Where the instance continues after an error in this state.",
     .list = true,
     .object = &kErrorDefinition},
    retries("When the state is retried; if the state calls functions: when each action without its "
            "own policy is retried."),
};
constexpr KeyRule kExitKeys[] = {
    {.name = "transform",
     .kind = Kind::kQuery,
     .meaning = "A query whose result replaces the data when the instance leaves the state.",
     .otherwise = "."},
    {.name = "transition",
     .kind = Kind::kState,
     .meaning = "The next state; without one the instance ends as complete."},
    {.name = "continueAsNew",
     .kind = Kind::kQuery,
     .meaning = "In place of `transition`: a query over the transformed data whose result is the "
                "input of the next run of the instance.",
     .own = true},
};
constexpr KeyRule kCompensateKeys[] = {
    {.name = "compensate",
     .kind = Kind::kObject,
     .meaning =
         "The call that undoes what the state has done; it is noted when the instance leaves "
         "the state in success, in foreach and parallel when a call has succeeded.",
     .object = &kCompensation,
     .own = true},
};
constexpr KeyRule kTimeoutKeys[] = {
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long the state may take before it fails with direktiv.stateTimeout.",
     .jq = true},
};

// The end of a wait as a time. The value may also be a text, or a number of seconds since 1970.

constexpr KeyRule kUntilKeys[] = {
    {.name = "cron",
     .kind = Kind::kCron,
     .meaning = "The schedule whose next tick ends the wait.",
     .required = true,
     .jq = true,
     .own = true},
    {.name = "timezone",
     .kind = Kind::kTemplate,
     .meaning = "The time zone of the schedule, such as Europe/Vienna.",
     .otherwise = "UTC",
     .own = true},
};
constexpr Mapping kUntil = {
    .name = "Until",
    .section = "Until",
    .meaning = "A schedule; its next tick after the entry into the state ends the wait.",
    .groups = {kUntilKeys},
    .source = "millrace",
};
constexpr KeyRule until(std::string_view meaning) {
  return {.name = "until",
          .kind = Kind::kObject,
          .meaning = meaning,
          .object = &kUntil,
          .instead = Kind::kUntil,
          .own = true};
}
/// The timeout of the states that wait for events.
constexpr KeyRule kWaitTimeoutKeys[] = {
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long the state may wait before it fails with direktiv.stateTimeout.",
     .jq = true,
     .alternative = "until"},
    until("The time at which the state fails with direktiv.stateTimeout."),
};

constexpr KeyRule kOneActionKeys[] = {
    {.name = "action",
     .kind = Kind::kObject,
     .meaning = "The function or subflow that the state calls.",
     .required = true,
     .object = &kActionDefinition},
};

// The states, in alphabetical order.

constexpr KeyRule kAsyncKeys[] = {
    {.name = "async",
     .kind = Kind::kBoolean,
     .meaning = "Continue without waiting for the result of the function or subflow.",
     .otherwise = "false"},
};
constexpr KeyRule kActionStateKeys[] = {kOneActionKeys[0], kAsyncKeys[0]};
constexpr Mapping kActionState = {
    .name = "ActionState",
    .section = "ActionState",
    .meaning = "Calls a function or a subflow; the result is stored under .return.",
    .groups = {kStateKeys, kCompensateKeys, kActionStateKeys, kTimeoutKeys, kExitKeys},
    .types = {"action"},
};

constexpr KeyRule kConsumeEventStateKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event to wait for.",
     .required = true,
     .object = &kConsumeEventDefinition},
};
constexpr Mapping kConsumeEventState = {
    .name = "ConsumeEventState",
    .section = "ConsumeEventState",
    .meaning = "Waits for one event and stores its payload in the data, under its type.",
    .groups = {kStateKeys, kCompensateKeys, kConsumeEventStateKeys, kWaitTimeoutKeys, kExitKeys},
    .types = {"consumeEvent"},
};

constexpr KeyRule kDelayKeys[] = {
    {.name = "duration",
     .kind = Kind::kDuration,
     .meaning = "How long the instance waits.",
     .required = true,
     .jq = true,
     .alternative = "until"},
    until("The time until which the instance waits."),
};
constexpr Mapping kDelayState = {
    .name = "DelayState",
    .section = "DelayState",
    .meaning = "Waits for a length of time.",
    .groups = {kStateKeys, kCompensateKeys, kDelayKeys, kExitKeys},
    .types = {"delay"},
};

constexpr KeyRule kErrorKeys[] = {
    {.name = "error",
     .kind = Kind::kIdentifier,
     .meaning = "The code of the error that the instance ends with.",
     .required = true},
    {.name = "message",
     .kind = Kind::kMessage,
     .meaning = "The text of the error; the result of an entry of `args` replaces each conversion "
                "such as %s.",
     .required = true},
    {.name = "args",
     .kind = Kind::kCommand,
     .meaning = "The jq(…) queries whose results replace the conversions in `message`, one query "
                "for each conversion.",
     .list = true},
    {.name = "compensate",
     .kind = Kind::kBoolean,
     .meaning =
         "Whether the calls that `compensate` of states has noted are made when the instance "
         "ends with this error.",
     .otherwise = "false",
     .own = true},
};
constexpr Mapping kErrorState = {
    .name = "ErrorState",
    .section = "ErrorState",
    .meaning =
        "Sets the error that the instance ends with, and continues; only the first error that is "
        "set counts.",
    .groups = {kStateKeys, kErrorKeys, kExitKeys},
    .types = {"error"},
};

constexpr KeyRule kEventAndKeys[] = {
    {.name = "events",
     .kind = Kind::kObject,
     .meaning = "The events that must all arrive, in any order.",
     .list = true,
     .required = true,
     .object = &kEventAndEntry},
};
constexpr Mapping kEventAndState = {
    .name = "EventAndState",
    .section = "EventAndState",
    .meaning = "Waits until each of several events has arrived.",
    .groups = {kStateKeys, kCompensateKeys, kEventAndKeys, kWaitTimeoutKeys, kExitKeys},
    .types = {"eventAnd", "eventsAnd"},
};

constexpr KeyRule kEventXorKeys[] = {
    {.name = "events",
     .kind = Kind::kObject,
     .meaning = "The events of which one must arrive; the first entry that matches applies.",
     .list = true,
     .required = true,
     .object = &kEventConditionDefinition},
};
constexpr Mapping kEventXorState = {
    .name = "EventXorState",
    .section = "EventXorState",
    .meaning =
        "Waits for any one of several events; the entry that the event matches determines the next "
        "state.",
    .groups = {kStateKeys, kCompensateKeys, kEventXorKeys, kWaitTimeoutKeys},
    .types = {"eventXor", "eventsXor"},
};

constexpr KeyRule kForeachKeys[] = {
    {.name = "array",
     .kind = Kind::kQuery,
     .meaning =
         "A query that yields an array; the function or subflow is called once for each element.",
     .required = true},
    kOneActionKeys[0],
    {.name = "concurrency",
     .kind = Kind::kInteger,
     .meaning = "How many calls may run at the same time; by default 16 calls of a function, and "
                "all calls of a subflow.",
     .min = 1,
     .own = true},
};
constexpr Mapping kForeachState = {
    .name = "ForeachState",
    .section = "ForeachState",
    .meaning =
        "Calls a function or a subflow once for each element of an array; the results are stored "
        "in .return.",
    .groups = {kStateKeys, kCompensateKeys, kForeachKeys, kTimeoutKeys, kExitKeys},
    .types = {"foreach"},
};

constexpr KeyRule kGenerateEventKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event to publish.",
     .required = true,
     .object = &kGenerateEventDefinition},
    {.name = "delay",
     .kind = Kind::kDuration,
     .meaning =
         "How long after this state the event is published; the instance does not wait for that.",
     .otherwise = "PT0S",
     .zero = true,
     .jq = true},
};
constexpr Mapping kGenerateEventState = {
    .name = "GenerateEventState",
    .section = "GenerateEventState",
    .meaning = "Publishes a CloudEvent.",
    .groups = {kStateKeys, kCompensateKeys, kGenerateEventKeys, kExitKeys},
    .types = {"generateEvent"},
};

constexpr KeyRule kVariableGetterKeys[] = {
    {.name = "key",
     .kind = Kind::kText,
     .meaning = "The variable to read; its value is stored in .var under this key.",
     .required = true},
    kVariableScope,
};
constexpr Mapping kVariableGetterDefinition = {
    .name = "VariableGetterDefinition",
    .section = "VariableGetterDefinition",
    .meaning = "A variable to read.",
    .groups = {kVariableGetterKeys},
};
constexpr KeyRule kGetterKeys[] = {
    {.name = "variables",
     .kind = Kind::kObject,
     .meaning = "The variables to read.",
     .list = true,
     .required = true,
     .object = &kVariableGetterDefinition},
};
constexpr Mapping kGetterState = {
    .name = "GetterState",
    .section = "GetterState",
    .meaning = "Reads variables into .var; the value of a variable that does not exist is null.",
    .groups = {kStateKeys, kCompensateKeys, kGetterKeys, kExitKeys},
    .types = {"getter"},
};

constexpr Mapping kNoopState = {
    .name = "NoopState",
    .section = "NoopState",
    .meaning = "Does nothing except what every state can do: log, transform, transition.",
    .groups = {kStateKeys, kCompensateKeys, kExitKeys},
    .types = {"noop"},
};

constexpr std::array kModes = {
    Word{"and", "all calls must succeed; the first failed call fails the state"},
    Word{"or", "one call must succeed; the other calls are then stopped"},
};
constexpr KeyRule kParallelKeys[] = {
    {.name = "actions",
     .kind = Kind::kObject,
     .meaning = "The functions and subflows that the state calls, all at the same time.",
     .list = true,
     .required = true,
     .object = &kActionDefinition},
    {.name = "mode",
     .kind = Kind::kWord,
     .meaning = "How many of the calls must succeed.",
     .otherwise = "and",
     .words = kModes},
};
constexpr Mapping kParallelState = {
    .name = "ParallelState",
    .section = "ParallelState",
    .meaning =
        "Calls several functions or subflows at the same time; the results are stored in .return, "
        "in order.",
    .groups = {kStateKeys, kCompensateKeys, kParallelKeys, kTimeoutKeys, kExitKeys},
    .types = {"parallel"},
};

constexpr KeyRule kVariableSetterKeys[] = {
    {.name = "key", .kind = Kind::kText, .meaning = "The variable to write.", .required = true},
    kVariableScope,
    {.name = "value",
     .kind = Kind::kCommand,
     .meaning = "The new value; null deletes the variable.",
     .required = true},
    {.name = "mimeType",
     .kind = Kind::kMediaType,
     .meaning = "The media type of the value; unless this type is JSON or text/*, a string that is "
                "Base64 is stored decoded.",
     .otherwise = "application/json",
     .own = true},
};
constexpr Mapping kVariableSetterDefinition = {
    .name = "VariableSetterDefinition",
    .section = "VariableSetterDefinition",
    .meaning = "A variable to write.",
    .groups = {kVariableSetterKeys},
};
constexpr KeyRule kSetterKeys[] = {
    {.name = "variables",
     .kind = Kind::kObject,
     .meaning = "The variables to write.",
     .list = true,
     .required = true,
     .object = &kVariableSetterDefinition},
};
constexpr Mapping kSetterState = {
    .name = "SetterState",
    .section = "SetterState",
    .meaning = "Writes variables that outlive the state, the instance or the workflow.",
    .groups = {kStateKeys, kCompensateKeys, kSetterKeys, kExitKeys},
    .types = {"setter"},
};

constexpr KeyRule kSwitchConditionKeys[] = {
    {.name = "condition",
     .kind = Kind::kQuery,
     .meaning = "A query; the condition is true unless the query yields null, false, {}, [], \"\", "
                "0 or nothing.",
     .required = true},
};
constexpr Mapping kSwitchConditionDefinition = {
    .name = "SwitchConditionDefinition",
    .section = "SwitchConditionDefinition",
    .meaning = "A condition, and the next state if this condition is the first that is true.",
    .groups = {kSwitchConditionKeys, kExitKeys},
};
constexpr KeyRule kSwitchKeys[] = {
    {.name = "conditions",
     .kind = Kind::kObject,
     .meaning = "The conditions, evaluated in order.",
     .list = true,
     .required = true,
     .object = &kSwitchConditionDefinition},
    {.name = "defaultTransition",
     .kind = Kind::kState,
     .meaning = "The next state if no condition is true; without one the instance ends as "
                "complete."},
    {.name = "defaultTransform",
     .kind = Kind::kQuery,
     .meaning = "A query whose result replaces the data if no condition is true.",
     .otherwise = "."},
    {.name = "defaultContinueAsNew",
     .kind = Kind::kQuery,
     .meaning = "In place of `defaultTransition`: a query over the transformed data whose result "
                "is the input of the next run of the instance if no condition is true.",
     .own = true},
};
constexpr Mapping kSwitchState = {
    .name = "SwitchState",
    .section = "SwitchState",
    .meaning = "Takes the transition of the first condition that is true.",
    .groups = {kStateKeys, kCompensateKeys, kSwitchKeys},
    .types = {"switch"},
};

constexpr KeyRule kValidateKeys[] = {
    {.name = "subject",
     .kind = Kind::kQuery,
     .meaning = "A query that yields the value to validate.",
     .otherwise = "."},
    {.name = "schema",
     .kind = Kind::kSchemaOrId,
     .meaning = "The JSON Schema that the value must match, or the id of one in `schemas`.",
     .required = true},
};
constexpr Mapping kValidateState = {
    .name = "ValidateState",
    .section = "ValidateState",
    .meaning = "Fails with direktiv.schema.failed if the data does not match a JSON Schema.",
    .groups = {kStateKeys, kCompensateKeys, kValidateKeys, kExitKeys},
    .types = {"validate"},
};

constexpr const Mapping* kStates[] = {
    &kActionState,   &kConsumeEventState, &kDelayState,         &kErrorState,    &kEventAndState,
    &kEventXorState, &kForeachState,      &kGenerateEventState, &kGetterState,   &kNoopState,
    &kParallelState, &kSetterState,       &kSwitchState,        &kValidateState,
};
constexpr Mapping kState = {
    .name = "StateDefinition",
    .section = "Common Fields",
    .meaning = "A step of the workflow.",
    .groups = {kStateKeys, kCompensateKeys, kTimeoutKeys, kExitKeys},
    .kinds = kStates,
};

}  // namespace millrace::grammar
