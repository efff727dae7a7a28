// The tables of calls: actions, which call a function, and the types of functions. Constants, any
// thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
// Flow control of calls.

constexpr KeyRule kCallConcurrencyKeys[] = {
    {.name = "limit",
     .kind = Kind::kInteger,
     .meaning = "How many calls may run at once: the number of slots.",
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .own = true},
    {.name = "key",
     .kind = Kind::kQuery,
     .meaning = "A query over the input of the call; each of its values has slots of its own.",
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long an attempt of a call may wait for a slot before it fails with "
                "millrace.concurrency.timeout; by default without limit.",
     .own = true},
};
constexpr Mapping kCallConcurrency = {
    .name = "CallConcurrency",
    .section = "Concurrency of calls",
    .meaning =
        "How many calls of a service may run at once, of all workflows of the namespace "
        "together.",
    .groups = {kCallConcurrencyKeys},
    .source = "millrace",
};
constexpr KeyRule kCallThrottleKeys[] = {
    {.name = "limit",
     .kind = Kind::kInteger,
     .meaning = "How many calls may be handed out.",
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .own = true},
    {.name = "period",
     .kind = Kind::kDuration,
     .meaning = "The length of time in which no more than that many calls are handed out, whenever "
                "it begins.",
     .required = true,
     .own = true},
    {.name = "key",
     .kind = Kind::kQuery,
     .meaning = "A query over the input of the call; the calls with each of its values count for "
                "themselves.",
     .own = true},
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long an attempt of a call may wait for the throttle before it fails with "
                "millrace.throttle.timeout; by default without limit.",
     .own = true},
};
constexpr Mapping kCallThrottle = {
    .name = "CallThrottle",
    .section = "Throttle of calls",
    .meaning =
        "How many calls of a service may be handed out in a time, of all workflows of the "
        "namespace together. A call beyond it waits.",
    .groups = {kCallThrottleKeys},
    .source = "millrace",
};
constexpr KeyRule kCallFlowKeys[] = {
    {.name = "concurrency",
     .kind = Kind::kObject,
     .meaning = "How many calls of the service may run at once; further calls wait.",
     .object = &kCallConcurrency,
     .own = true},
    {.name = "throttle",
     .kind = Kind::kObject,
     .meaning = "How many calls of the service may be handed out in a time; further calls wait.",
     .object = &kCallThrottle,
     .own = true},
    {.name = "priority",
     .kind = Kind::kQuery,
     .meaning = "An integer from the input of the call: of the calls that wait with one key for a "
                "slot or for the throttle, the call with the highest one goes first.",
     .otherwise = "0",
     .own = true},
};

// Actions.

constexpr KeyRule kActionKeys[] = {
    {.name = "function",
     .kind = Kind::kFunction,
     .meaning = "The function to call, by its id in `functions`.",
     .required = true},
    {.name = "input",
     .kind = Kind::kCommand,
     .meaning = "The input of the function.",
     .otherwise = "."},
    {.name = "secrets",
     .kind = Kind::kText,
     .meaning = "Names of secrets; only `input` can read them, under .secrets.",
     .list = true},
    {.name = "sealed",
     .kind = Kind::kBoolean,
     .meaning = "Whether the API hides all data that comes from the call, instead of masking the "
                "values of secrets in it.",
     .otherwise = "false",
     .own = true},
    retries("When and how often a failed call of the function is retried."),
};
constexpr Mapping kActionDefinition = {
    .name = "ActionDefinition",
    .section = "ActionDefinition",
    .meaning = "A call of a function or a subflow.",
    .groups = {kActionKeys, kCallFlowKeys, kActionTimeoutKeys},
};

// Compensations.

constexpr KeyRule kCompensationKeys[] = {
    {.name = "function",
     .kind = Kind::kFunction,
     .meaning = "The function that undoes what the state has done, by its id in `functions`.",
     .required = true,
     .own = true},
    {.name = "input",
     .kind = Kind::kCommand,
     .meaning = "The input of the function. It is evaluated when the state is left, with .return "
                "and before `transform`; in foreach and parallel over an object that has only "
                ".return, the result of one call.",
     .otherwise = ".",
     .own = true},
    retries("When and how often a failed call of the function is retried.", true),
};
constexpr Mapping kCompensation = {
    .name = "Compensation",
    .section = "Compensation",
    .meaning = "A call that undoes what the state has done, if the instance does not complete.",
    .groups = {kCompensationKeys, kActionTimeoutKeys},
    .source = "millrace",
};

// Functions.

constexpr std::array kFileTypes = {
    Word{"plain", "the unchanged bytes of the variable"},
    Word{"base64", "the decoded bytes of the variable's Base64 text"},
    Word{"tar", "an archive, unpacked into a folder"},
    Word{"tar.gz", "a compressed archive, unpacked into a folder"},
};
constexpr KeyRule kFileKeys[] = {
    {.name = "key",
     .kind = Kind::kText,
     .meaning = "The variable whose value becomes the file.",
     .required = true},
    kVariableScope,
    {.name = "as",
     .kind = Kind::kText,
     .meaning = "The name of the file; by default the name of the variable."},
    {.name = "type",
     .kind = Kind::kWord,
     .meaning = "How the variable becomes a file.",
     .otherwise = "plain",
     .words = kFileTypes},
};
constexpr Mapping kFunctionFileDefinition = {
    .name = "FunctionFileDefinition",
    .section = "FunctionFileDefinition",
    .meaning = "A variable that the function gets as a file.",
    .groups = {kFileKeys},
};

constexpr KeyRule kFunctionKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "The name by which actions refer to the function; unique in the workflow.",
     .required = true},
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "How the function is executed; the type determines which other keys are valid.",
     .required = true},
    retries(
        "When a failed call of the function is retried, if its action and state have no policy.",
        true),
};
constexpr KeyRule kFilesKeys[] = {
    {.name = "files",
     .kind = Kind::kObject,
     .meaning = "Variables that the function gets as files.",
     .list = true,
     .object = &kFunctionFileDefinition},
};
constexpr KeyRule kServiceName = {
    .name = "service",
    .kind = Kind::kIdentifier,
    .meaning =
        "The service that executes the calls of the function, by the service's name in the "
        "settings. The URL of an HTTP service is not in the definition; set it by `millrace "
        "namespace create NAME --settings "
        "'{\"services\":{\"SERVICE\":{\"url\":\"https://…\"}}}'`.",
    .required = true,
};
constexpr KeyRule kServiceKeys[] = {kServiceName};
constexpr KeyRule kServiceAndGlobalKeys[] = {
    kServiceName,
    {.name = "global",
     .kind = Kind::kBoolean,
     .meaning = "Whether the service is looked up in the settings of the namespace `default`, "
                "whose services all namespaces share.",
     .otherwise = "false",
     .own = true},
};
constexpr std::array kSizes = {
    Word{"small", "1 CPU, 256 MB"},
    Word{"medium", "1 CPU, 512 MB"},
    Word{"large", "2 CPU, 1024 MB"},
};
constexpr KeyRule kImageKeys[] = {
    {.name = "image", .kind = Kind::kText, .meaning = "The container image.", .required = true},
    {.name = "cmd",
     .kind = Kind::kText,
     .meaning = "The command to run in the container instead of the image's default command."},
    {.name = "size",
     .kind = Kind::kWord,
     .meaning = "The CPU and memory of a container; every size has 64 MB of storage.",
     .otherwise = "small",
     .words = kSizes},
    {.name = "scale",
     .kind = Kind::kInteger,
     .meaning = "The minimum number of containers that stay running.",
     .otherwise = "0",
     .min = 0,
     .max = 1000},
};

constexpr Mapping kServiceFunction = {
    .name = "ServiceFunctionDefinition",
    .section = "Functions and actions",
    .meaning = "A service.",
    .groups = {kFunctionKeys, kServiceAndGlobalKeys, kFilesKeys, kCallFlowKeys, kActionTimeoutKeys},
    .types = {"service"},
    .source = "millrace",
};
constexpr Mapping kGlobalFunction = {
    .name = "GlobalFunctionDefinition",
    .section = "GlobalFunctionDefinition",
    .meaning =
        "A service that all namespaces share; `knative-global` is Direktiv's name of this type.",
    .groups = {kFunctionKeys, kServiceKeys, kFilesKeys, kCallFlowKeys, kActionTimeoutKeys},
    .types = {"knative-global"},
};
constexpr Mapping kNamespacedFunction = {
    .name = "NamespacedFunctionDefinition",
    .section = "NamespacedFunctionDefinition",
    .meaning =
        "A service of the workflow's namespace; `knative-namespace` is Direktiv's name of this "
        "type.",
    .groups = {kFunctionKeys, kServiceKeys, kFilesKeys, kCallFlowKeys, kActionTimeoutKeys},
    .types = {"knative-namespace"},
};
constexpr Mapping kReusableFunction = {
    .name = "ReusableFunctionDefinition",
    .section = "ReusableFunctionDefinition",
    .meaning = "A function in containers that stay running between tasks.",
    .groups = {kFunctionKeys, kImageKeys, kFilesKeys, kCallFlowKeys, kActionTimeoutKeys},
    .types = {"container-pool", "reusable"},
};
constexpr KeyRule kSubflowKeys[] = {
    {.name = "workflow",
     .kind = Kind::kIdentifier,
     .meaning = "The id of the workflow to start, in this namespace; that workflow may be applied "
                "after this one.",
     .required = true},
};
constexpr Mapping kSubflowFunction = {
    .name = "SubflowFunctionDefinition",
    .section = "SubflowFunctionDefinition",
    .meaning = "A subflow: each call starts an instance of another workflow.",
    .groups = {kFunctionKeys, kSubflowKeys, kActionTimeoutKeys},
    .types = {"subflow"},
};
constexpr Mapping kIsolatedFunction = {
    .name = "IsolatedFunctionDefinition",
    .section = "IsolatedFunctionDefinition",
    .meaning = "A function in containers; each task gets a new container.",
    .groups = {kFunctionKeys, kImageKeys, kFilesKeys, kCallFlowKeys, kActionTimeoutKeys},
    .types = {"container", "isolated"},
};
constexpr const Mapping* kFunctions[] = {
    &kServiceFunction, &kIsolatedFunction, &kReusableFunction,
    &kSubflowFunction, &kGlobalFunction,   &kNamespacedFunction,
};
constexpr Mapping kFunction = {
    .name = "FunctionDefinition",
    .section = "FunctionDefinition",
    .meaning = "A function that actions can call.",
    .groups = {kFunctionKeys, kActionTimeoutKeys},
    .kinds = kFunctions,
};

}  // namespace millrace::grammar
