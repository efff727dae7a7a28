// The table of a definition as a whole, from which all others are reached. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
constexpr KeyRule kSchemaKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "What `validate` states call the schema.",
     .required = true},
    {.name = "schema",
     .kind = Kind::kSchema,
     .meaning = "The schema: JSON Schema, draft 7.",
     .required = true},
};
constexpr Mapping kSchemaDefinition = {
    .name = "SchemaDefinition",
    .section = "SchemaDefinition",
    .meaning = "A schema that several states may refer to.",
    .groups = {kSchemaKeys},
};

constexpr KeyRule kTimeoutsKeys[] = {
    {.name = "interrupt",
     .kind = Kind::kDuration,
     .meaning = "How long an instance may run before its state gets direktiv.cancels.timeout, "
                "which can be caught."},
    {.name = "kill",
     .kind = Kind::kDuration,
     .meaning = "How long an instance may run before it is ended, whatever it does."},
};
constexpr Mapping kTimeoutDefinition = {
    .name = "TimeoutDefinition",
    .section = "TimeoutDefinition",
    .meaning = "How long an instance may run.",
    .groups = {kTimeoutsKeys},
};

constexpr std::array kDefaults = {
    Word{"stevora", "three attempts, with waits that grow from a second"},
    Word{"temporal", "attempts for ten years, with waits that grow from a second to 100"},
    Word{"steep", "one attempt"},
    Word{"zart", "one attempt"},
    Word{"direktiv", "one attempt"},
};
constexpr Word kOnFailureWhen[] = {
    {"timeout", "when the workflow's `timeout` is over"},
    {"any", "before the instance fails, whatever it fails with"},
};
constexpr KeyRule kOnFailureKeys[] = {
    {.name = "state",
     .kind = Kind::kState,
     .meaning = "The state that cleans up.",
     .required = true,
     .own = true},
    {.name = "when",
     .kind = Kind::kWord,
     .meaning = "What it follows.",
     .otherwise = "timeout",
     .words = kOnFailureWhen,
     .own = true},
};
constexpr Mapping kOnFailure = {
    .name = "OnFailure",
    .section = "Execution-Level Timeouts",
    .meaning = "The state that cleans up before an instance fails, once.",
    .groups = {kOnFailureKeys},
    .source = "Zart",
};

constexpr KeyRule kWorkflowKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "What the workflow is called within its namespace.",
     .required = true},
    {.name = "name", .kind = Kind::kText, .meaning = "A name for people."},
    {.name = "description", .kind = Kind::kText, .meaning = "What it is for, for people."},
    {.name = "version", .kind = Kind::kText, .meaning = "A version for people."},
    {.name = "singular",
     .kind = Kind::kBoolean,
     .meaning = "Refuse to start while an instance has not ended.",
     .otherwise = "false"},
    {.name = "functions",
     .kind = Kind::kObject,
     .meaning = "The functions that actions call.",
     .list = true,
     .object = &kFunction},
    {.name = "schemas",
     .kind = Kind::kObject,
     .meaning = "The schemas that `validate` states refer to.",
     .list = true,
     .object = &kSchemaDefinition},
    {.name = "states",
     .kind = Kind::kObject,
     .meaning = "The steps; an instance begins with the first unless `start` says otherwise.",
     .list = true,
     .required = true,
     .object = &kState},
    {.name = "timeouts",
     .kind = Kind::kObject,
     .meaning = "How long an instance may run.",
     .object = &kTimeoutDefinition},
    {.name = "start",
     .kind = Kind::kObject,
     .meaning = "What starts instances; without it a call does.",
     .object = &kStart},
    retries("Follows a failed run by another one.", true),
    {.name = "defaults",
     .kind = Kind::kWord,
     .meaning = "Whose default policy is that of actions that nothing gives one.",
     .words = kDefaults,
     .own = true},
    {.name = "workflowExecutionTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long all runs may take together, from the start of the first.",
     .own = true},
    {.name = "workflowRunTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long each run may take; without it as long as all of them.",
     .own = true},
    {.name = "workflowTaskTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long evaluating one state may take; without it as long as the server says.",
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long all runs may take together before the instance fails.",
     .own = true},
    {.name = "on_failure",
     .kind = Kind::kObject,
     .meaning = "The state that cleans up when `timeout` is over, before the instance fails; "
                "{state: x, when: any} cleans up whatever it fails with.",
     .object = &kOnFailure,
     .instead = Kind::kState,
     .own = true},
};
constexpr Mapping kWorkflow = {
    .name = "Workflow",
    .section = "Workflow Definition",
    .meaning = "A definition: what starts it, and the states that it goes through.",
    .groups = {kWorkflowKeys},
};

}  // namespace millrace::grammar
