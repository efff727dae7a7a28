// The table of the workflow definition itself, from which all other tables can be reached.
// Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
constexpr KeyRule kSchemaKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "The name by which `validate` states refer to the schema.",
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
     .meaning = "How long an instance may run before its state fails with "
                "direktiv.cancels.timeout, an error that `catch` can catch."},
    {.name = "kill",
     .kind = Kind::kDuration,
     .meaning =
         "How long an instance may run before millrace ends it; `catch` cannot prevent this end."},
};
constexpr Mapping kTimeoutDefinition = {
    .name = "TimeoutDefinition",
    .section = "TimeoutDefinition",
    .meaning = "How long an instance may run.",
    .groups = {kTimeoutsKeys},
};

constexpr KeyRule kRateLimitKeys[] = {
    {.name = "limit",
     .kind = Kind::kInteger,
     .meaning = "How many instances may start.",
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .own = true},
    {.name = "period",
     .kind = Kind::kDuration,
     .meaning = "The length of time in which no more than that many instances start, whenever it "
                "begins.",
     .required = true,
     .own = true},
    {.name = "key",
     .kind = Kind::kCommand,
     .meaning = "The starts with equal values of this key count together; jq(…) in it reads the "
                "input of the instance. Without this key, all starts of the workflow do.",
     .own = true},
};
constexpr Mapping kRateLimit = {
    .name = "RateLimit",
    .section = "Rate Limits",
    .meaning =
        "How many instances of the workflow may start in a time. A start beyond it is "
        "refused: a call gets the error millrace.rateLimit, events and ticks are skipped.",
    .groups = {kRateLimitKeys},
    .source = "millrace",
};

constexpr KeyRule kDebounceKeys[] = {
    {.name = "period",
     .kind = Kind::kDuration,
     .meaning = "How long after the newest request the instance starts.",
     .required = true,
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long after the first request the instance starts at the latest; without this "
                "key, each request moves the start.",
     .own = true},
    {.name = "key",
     .kind = Kind::kCommand,
     .meaning = "Of the requests with equal values of this key the last one counts; jq(…) in it "
                "reads the input of the instance. Without this key, of all requests.",
     .own = true},
};
constexpr Mapping kDebounce = {
    .name = "Debounce",
    .section = "Debounced Starts",
    .meaning =
        "Puts off a start until no request has come for a while, so that of many requests "
        "the last one starts an instance.",
    .groups = {kDebounceKeys},
    .source = "millrace",
};

constexpr KeyRule kBatchKeys[] = {
    {.name = "maxSize",
     .kind = Kind::kInteger,
     .meaning = "With so many inputs the instance starts.",
     .required = true,
     .min = 1,
     .max = 1'000,
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long after the first input the instance starts at the latest, with the inputs "
                "that have come.",
     .required = true,
     .own = true},
    {.name = "key",
     .kind = Kind::kCommand,
     .meaning = "The inputs of requests with equal values of this key come together; jq(…) in it "
                "reads the input of the request. Without this key, those of all requests.",
     .own = true},
};
constexpr Mapping kBatch = {
    .name = "StartBatch",
    .section = "Batched Starts",
    .meaning =
        "Collects starts: one instance starts with the inputs of many requests, as the array "
        "`events`.",
    .groups = {kBatchKeys},
    .source = "millrace",
};

constexpr std::array kDefaults = {
    Word{"stevora", "three attempts, with waits that grow from 1 second"},
    Word{"temporal", "attempts for ten years, with waits that grow from 1 to 100 seconds"},
    Word{"steep", "one attempt"},
    Word{"zart", "one attempt"},
    Word{"direktiv", "one attempt"},
};
constexpr Word kOnFailureWhen[] = {
    {"timeout", "when the workflow's `timeout` expires"},
    {"any", "before the instance fails, whatever the error is"},
};
constexpr KeyRule kOnFailureKeys[] = {
    {.name = "state",
     .kind = Kind::kState,
     .meaning = "The state that does the cleanup.",
     .required = true,
     .own = true},
    {.name = "when",
     .kind = Kind::kWord,
     .meaning = "When the cleanup runs.",
     .otherwise = "timeout",
     .words = kOnFailureWhen,
     .own = true},
    {.name = "compensate",
     .kind = Kind::kBoolean,
     .meaning = "Whether the calls that `compensate` of states has noted are made before the "
                "instance fails.",
     .otherwise = "false",
     .own = true},
};
constexpr Mapping kOnFailure = {
    .name = "OnFailure",
    .section = "Execution-Level Timeouts",
    .meaning = "The state that does the cleanup, once, before an instance fails.",
    .groups = {kOnFailureKeys},
    .source = "Zart",
};

constexpr Word kOnLimit[] = {
    {"queue", "the start waits until a slot is free"},
    {"reject", "a call is refused with millrace.concurrency.limit; an event or a tick is skipped"},
    {"skip", "no instance starts; a subflow returns null at once"},
    {"replace", "the instance that has held its slot longest is cancelled"},
};
constexpr KeyRule kConcurrencyKeys[] = {
    {.name = "limit",
     .kind = Kind::kInteger,
     .meaning = "How many instances may be active at once: the number of slots.",
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .own = true},
    {.name = "key",
     .kind = Kind::kCommand,
     .meaning = "Each value of this key has slots of its own; jq(…) in it reads the input of the "
                "instance. Without this key, all starts share the slots.",
     .own = true},
    {.name = "onLimit",
     .kind = Kind::kWord,
     .meaning = "What becomes of a start without a free slot.",
     .otherwise = "queue",
     .words = kOnLimit,
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long a start may wait for a slot before its instance fails with "
                "millrace.concurrency.timeout; by default without limit.",
     .own = true},
};
constexpr Mapping kConcurrency = {
    .name = "Concurrency",
    .section = "Concurrency",
    .meaning = "How many instances of the workflow may be active at once.",
    .groups = {kConcurrencyKeys},
    .source = "millrace",
};

constexpr KeyRule kThrottleKeys[] = {
    {.name = "limit",
     .kind = Kind::kInteger,
     .meaning = "How many instances may start.",
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .own = true},
    {.name = "period",
     .kind = Kind::kDuration,
     .meaning = "The length of time in which no more than that many instances start, whenever it "
                "begins.",
     .required = true,
     .own = true},
    {.name = "key",
     .kind = Kind::kCommand,
     .meaning = "The starts with equal values of this key count together; jq(…) in it reads the "
                "input of the instance. Without this key, all starts of the workflow do.",
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long a start may wait for the throttle before its instance fails with "
                "millrace.throttle.timeout; by default without limit.",
     .own = true},
};
constexpr Mapping kThrottle = {
    .name = "Throttle",
    .section = "Throttle",
    .meaning = "How many instances of the workflow may start in a time. A start beyond it waits.",
    .groups = {kThrottleKeys},
    .source = "millrace",
};

constexpr KeyRule kWorkflowKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "The name of the workflow, unique in its namespace.",
     .required = true},
    {.name = "name", .kind = Kind::kText, .meaning = "A title, for human readers."},
    {.name = "description", .kind = Kind::kText, .meaning = "A description, for human readers."},
    {.name = "version", .kind = Kind::kText, .meaning = "A version, for human readers."},
    {.name = "singular",
     .kind = Kind::kBoolean,
     .meaning = "Do not start an instance while another instance of the workflow has not ended.",
     .otherwise = "false"},
    {.name = "rateLimit",
     .kind = Kind::kObject,
     .meaning = "How many instances may start in a time, for each key.",
     .object = &kRateLimit,
     .own = true},
    {.name = "debounce",
     .kind = Kind::kObject,
     .meaning = "Whether starts wait for further requests, of which the last one counts.",
     .object = &kDebounce,
     .own = true},
    {.name = "concurrency",
     .kind = Kind::kObject,
     .meaning = "How many instances of the workflow may be active at once.",
     .object = &kConcurrency,
     .own = true},
    {.name = "throttle",
     .kind = Kind::kObject,
     .meaning = "How many instances may start in a time, for each key, while the others wait.",
     .object = &kThrottle,
     .own = true},
    {.name = "priority",
     .kind = Kind::kQuery,
     .meaning = "An integer from the input: of the starts that wait with one key for a slot or for "
                "the throttle, the start with the highest one goes first.",
     .otherwise = "0",
     .own = true},
    {.name = "batch",
     .kind = Kind::kObject,
     .meaning = "Whether one instance starts with the inputs of many requests.",
     .object = &kBatch,
     .own = true},
    {.name = "sealed",
     .kind = Kind::kBoolean,
     .meaning = "Whether the API hides the data of the instances of this workflow.",
     .otherwise = "false",
     .own = true},
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
     .meaning = "The steps; an instance begins with the first one, or with the state in `start`.",
     .list = true,
     .required = true,
     .object = &kState},
    {.name = "timeouts",
     .kind = Kind::kObject,
     .meaning = "How long an instance may run.",
     .object = &kTimeoutDefinition},
    {.name = "start",
     .kind = Kind::kObject,
     .meaning = "How instances are started; without this key, only through the API or as subflows.",
     .object = &kStart},
    retries("When and how often a failed run is followed by another run.", true),
    {.name = "defaults",
     .kind = Kind::kWord,
     .meaning = "The vocabulary whose default retry policy applies to actions without a policy.",
     .words = kDefaults,
     .own = true},
    {.name = "workflowExecutionTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long all runs together may take, from the start of the first one.",
     .own = true},
    {.name = "workflowRunTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long each run may take; without this key, as long as all runs together.",
     .own = true},
    {.name = "workflowTaskTimeout",
     .kind = Kind::kDuration,
     .meaning = "How long the evaluation of one state may take; by default the server's limit.",
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long all runs together may take before the instance fails.",
     .own = true},
    {.name = "on_failure",
     .kind = Kind::kObject,
     .meaning =
         "The state that does the cleanup when `timeout` expires, before the instance fails; "
         "{state: x, when: any} does it before the instance fails with any error.",
     .object = &kOnFailure,
     .instead = Kind::kState,
     .own = true},
    {.name = "compensate",
     .kind = Kind::kBoolean,
     .meaning = "Whether the calls that `compensate` of states has noted are made before the "
                "instance ends, unless it completes.",
     .otherwise = "false",
     .own = true},
};
constexpr Mapping kWorkflow = {
    .name = "Workflow",
    .section = "Workflow Definition",
    .meaning = "A workflow: how it is started, and its states.",
    .groups = {kWorkflowKeys},
};

}  // namespace millrace::grammar
