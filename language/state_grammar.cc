// The tables of states: what every state has, and each type of state. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
// The entries of `catch`.

constexpr KeyRule kCatchKeys[] = {
    {.name = "error",
     .kind = Kind::kGlob,
     .meaning = "Which error codes this entry catches.",
     .required = true},
    {.name = "transition",
     .kind = Kind::kState,
     .meaning = "The state that goes on from the error; without one the instance ends, complete."},
};
constexpr Mapping kErrorDefinition = {
    .name = "ErrorDefinition",
    .section = "ErrorDefinition",
    .meaning = "What follows an error; the first entry that matches its code decides.",
    .groups = {kCatchKeys},
};

// What every state has, and what most of them have.

constexpr KeyRule kStateKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "What transitions call the state; no other state of the workflow has it.",
     .required = true},
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "What the state does, and so which keys it has.",
     .required = true},
    {.name = "log",
     .kind = Kind::kCommand,
     .meaning = "What is written to the instance's history when it enters the state."},
    {.name = "catch",
     .kind = Kind::kObject,
     .meaning = "Where the instance goes on after an error in this state.",
     .list = true,
     .object = &kErrorDefinition},
    retries("Tries the state again, or each of its actions that has no policy of its own."),
};
constexpr KeyRule kExitKeys[] = {
    {.name = "transform",
     .kind = Kind::kQuery,
     .meaning = "Replaces the data by its result just before the instance goes on.",
     .otherwise = "."},
    {.name = "transition",
     .kind = Kind::kState,
     .meaning = "The state that comes next; without one the instance ends, complete."},
};
constexpr KeyRule kTimeoutKeys[] = {
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long the state may take before it ends with direktiv.stateTimeout."},
};

constexpr KeyRule kOneActionKeys[] = {
    {.name = "action",
     .kind = Kind::kObject,
     .meaning = "The call that is made.",
     .required = true,
     .object = &kActionDefinition},
};

// The states, in alphabetical order.

constexpr KeyRule kAsyncKeys[] = {
    {.name = "async",
     .kind = Kind::kBoolean,
     .meaning = "Go on at once; what comes of the call is not waited for.",
     .otherwise = "false"},
};
constexpr KeyRule kActionStateKeys[] = {kOneActionKeys[0], kAsyncKeys[0]};
constexpr Mapping kActionState = {
    .name = "ActionState",
    .section = "ActionState",
    .meaning = "Calls a function or a subflow and puts what it returns under .return.",
    .groups = {kStateKeys, kActionStateKeys, kTimeoutKeys, kExitKeys},
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
    .meaning = "Waits for one event and puts its payload into the data, under its type.",
    .groups = {kStateKeys, kConsumeEventStateKeys, kTimeoutKeys, kExitKeys},
    .types = {"consumeEvent"},
};

constexpr KeyRule kDelayKeys[] = {
    {.name = "duration",
     .kind = Kind::kDuration,
     .meaning = "How long the instance waits.",
     .required = true},
};
constexpr Mapping kDelayState = {
    .name = "DelayState",
    .section = "DelayState",
    .meaning = "Waits for a length of time.",
    .groups = {kStateKeys, kDelayKeys, kExitKeys},
    .types = {"delay"},
};

constexpr KeyRule kErrorKeys[] = {
    {.name = "error",
     .kind = Kind::kIdentifier,
     .meaning = "The code of the error that the instance ends with.",
     .required = true},
    {.name = "message",
     .kind = Kind::kMessage,
     .meaning = "The text of the error, with printf's conversions for `args`.",
     .required = true},
    {.name = "args",
     .kind = Kind::kCommand,
     .meaning = "jq for each conversion of `message`.",
     .list = true},
};
constexpr Mapping kErrorState = {
    .name = "ErrorState",
    .section = "ErrorState",
    .meaning = "Fixes the error that the instance ends with, and goes on; the first one counts.",
    .groups = {kStateKeys, kErrorKeys, kExitKeys},
    .types = {"error"},
};

constexpr KeyRule kEventAndKeys[] = {
    {.name = "events",
     .kind = Kind::kObject,
     .meaning = "The events that must all come, in any order.",
     .list = true,
     .required = true,
     .object = &kEventAndEntry},
};
constexpr Mapping kEventAndState = {
    .name = "EventAndState",
    .section = "EventAndState",
    .meaning = "Waits until each of several events has come.",
    .groups = {kStateKeys, kEventAndKeys, kTimeoutKeys, kExitKeys},
    .types = {"eventAnd", "eventsAnd"},
};

constexpr KeyRule kEventXorKeys[] = {
    {.name = "events",
     .kind = Kind::kObject,
     .meaning = "The events of which one must come; the first entry that matches decides.",
     .list = true,
     .required = true,
     .object = &kEventConditionDefinition},
};
constexpr Mapping kEventXorState = {
    .name = "EventXorState",
    .section = "EventXorState",
    .meaning = "Waits for any one of several events; which one decides the way on.",
    .groups = {kStateKeys, kEventXorKeys, kTimeoutKeys},
    .types = {"eventXor", "eventsXor"},
};

constexpr KeyRule kForeachKeys[] = {
    {.name = "array",
     .kind = Kind::kQuery,
     .meaning = "Yields the array whose elements the calls are made for.",
     .required = true},
    kOneActionKeys[0],
    {.name = "concurrency",
     .kind = Kind::kInteger,
     .meaning = "How many calls may be under way at once; without it all of them.",
     .min = 1,
     .own = true},
};
constexpr Mapping kForeachState = {
    .name = "ForeachState",
    .section = "ForeachState",
    .meaning = "Makes one call for each element of an array; the results become .return.",
    .groups = {kStateKeys, kForeachKeys, kTimeoutKeys, kExitKeys},
    .types = {"foreach"},
};

constexpr KeyRule kGenerateEventKeys[] = {
    {.name = "event",
     .kind = Kind::kObject,
     .meaning = "The event to send.",
     .required = true,
     .object = &kGenerateEventDefinition},
    {.name = "delay",
     .kind = Kind::kDuration,
     .meaning = "How much later it is sent; the instance does not wait for it.",
     .otherwise = "PT0S",
     .zero = true},
};
constexpr Mapping kGenerateEventState = {
    .name = "GenerateEventState",
    .section = "GenerateEventState",
    .meaning = "Sends a CloudEvent.",
    .groups = {kStateKeys, kGenerateEventKeys, kExitKeys},
    .types = {"generateEvent"},
};

constexpr KeyRule kVariableGetterKeys[] = {
    {.name = "key",
     .kind = Kind::kText,
     .meaning = "The variable to read; under this name it comes into .var.",
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
    .meaning = "Reads variables into .var; one that does not exist is null.",
    .groups = {kStateKeys, kGetterKeys, kExitKeys},
    .types = {"getter"},
};

constexpr Mapping kNoopState = {
    .name = "NoopState",
    .section = "NoopState",
    .meaning = "Does nothing but what every state can: transform, log, transition.",
    .groups = {kStateKeys, kExitKeys},
    .types = {"noop"},
};

constexpr std::array kModes = {
    Word{"and", "all calls must succeed; the first failure fails the state"},
    Word{"or", "the first call that succeeds is enough; the others are stopped"},
};
constexpr KeyRule kParallelKeys[] = {
    {.name = "actions",
     .kind = Kind::kObject,
     .meaning = "The calls that are made at once.",
     .list = true,
     .required = true,
     .object = &kActionDefinition},
    {.name = "mode",
     .kind = Kind::kWord,
     .meaning = "What it takes for the state to be done.",
     .otherwise = "and",
     .words = kModes},
};
constexpr Mapping kParallelState = {
    .name = "ParallelState",
    .section = "ParallelState",
    .meaning = "Makes several calls at once; the results become .return, in their order.",
    .groups = {kStateKeys, kParallelKeys, kTimeoutKeys, kExitKeys},
    .types = {"parallel"},
};

constexpr KeyRule kVariableSetterKeys[] = {
    {.name = "key", .kind = Kind::kText, .meaning = "The variable to write.", .required = true},
    kVariableScope,
    {.name = "value",
     .kind = Kind::kCommand,
     .meaning = "What it becomes; null deletes it.",
     .required = true},
    {.name = "mimeType",
     .kind = Kind::kMediaType,
     .meaning = "What the value is; a string under another type than JSON is text, or Base64.",
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
    .groups = {kStateKeys, kSetterKeys, kExitKeys},
    .types = {"setter"},
};

constexpr KeyRule kSwitchConditionKeys[] = {
    {.name = "condition",
     .kind = Kind::kQuery,
     .meaning = "True unless it yields null, false, {}, [], \"\", 0 or nothing.",
     .required = true},
};
constexpr Mapping kSwitchConditionDefinition = {
    .name = "SwitchConditionDefinition",
    .section = "SwitchConditionDefinition",
    .meaning = "A condition, and the way on if it is the first that is true.",
    .groups = {kSwitchConditionKeys, kExitKeys},
};
constexpr KeyRule kSwitchKeys[] = {
    {.name = "conditions",
     .kind = Kind::kObject,
     .meaning = "The conditions, asked in their order.",
     .list = true,
     .required = true,
     .object = &kSwitchConditionDefinition},
    {.name = "defaultTransition",
     .kind = Kind::kState,
     .meaning = "The state that comes next where no condition is true; without one the instance "
                "ends, complete."},
    {.name = "defaultTransform",
     .kind = Kind::kQuery,
     .meaning = "Replaces the data by its result where no condition is true.",
     .otherwise = "."},
};
constexpr Mapping kSwitchState = {
    .name = "SwitchState",
    .section = "SwitchState",
    .meaning = "Goes the way of the first condition that is true.",
    .groups = {kStateKeys, kSwitchKeys},
    .types = {"switch"},
};

constexpr KeyRule kValidateKeys[] = {
    {.name = "subject", .kind = Kind::kQuery, .meaning = "What is validated.", .otherwise = "."},
    {.name = "schema",
     .kind = Kind::kSchemaOrId,
     .meaning = "The JSON Schema that it must satisfy.",
     .required = true},
};
constexpr Mapping kValidateState = {
    .name = "ValidateState",
    .section = "ValidateState",
    .meaning = "Fails with direktiv.schema.failed where the data does not satisfy a schema.",
    .groups = {kStateKeys, kValidateKeys, kExitKeys},
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
    .groups = {kStateKeys, kTimeoutKeys, kExitKeys},
    .kinds = kStates,
};

}  // namespace millrace::grammar
