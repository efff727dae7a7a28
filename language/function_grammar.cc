// The tables of work outside the engine: actions, which call a function, and functions by their
// type. Constants, any thread.
#include "language/grammar_tables.h"

namespace millrace::grammar {
// Actions.

constexpr KeyRule kActionKeys[] = {
    {.name = "function",
     .kind = Kind::kFunction,
     .meaning = "The function that does the work, by its id in `functions`.",
     .required = true},
    {.name = "input",
     .kind = Kind::kCommand,
     .meaning = "What the function is given.",
     .otherwise = "."},
    {.name = "secrets",
     .kind = Kind::kText,
     .meaning = "Names of secrets that `input` finds under .secrets, and nobody else.",
     .list = true},
    retries("Tries the call again when it has failed."),
};
constexpr Mapping kActionDefinition = {
    .name = "ActionDefinition",
    .section = "ActionDefinition",
    .meaning = "A call of a function.",
    .groups = {kActionKeys, kActionTimeoutKeys},
};

// Functions.

constexpr std::array kFileTypes = {
    Word{"plain", "the variable's bytes as they are"},
    Word{"base64", "the bytes that the variable's Base64 text stands for"},
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
     .meaning = "The name of the file; without it that of the variable."},
    {.name = "type",
     .kind = Kind::kWord,
     .meaning = "How the variable becomes a file.",
     .otherwise = "plain",
     .words = kFileTypes},
};
constexpr Mapping kFunctionFileDefinition = {
    .name = "FunctionFileDefinition",
    .section = "FunctionFileDefinition",
    .meaning = "A variable that the function finds as a file.",
    .groups = {kFileKeys},
};

constexpr KeyRule kFunctionKeys[] = {
    {.name = "id",
     .kind = Kind::kIdentifier,
     .meaning = "What actions call the function; no other function of the workflow has it.",
     .required = true},
    {.name = "type",
     .kind = Kind::kType,
     .meaning = "How the function runs, and so which keys it has.",
     .required = true},
    retries("Tries each call again whose action and state have no policy of their own.", true),
};
constexpr KeyRule kFilesKeys[] = {
    {.name = "files",
     .kind = Kind::kObject,
     .meaning = "Variables that the function finds as files.",
     .list = true,
     .object = &kFunctionFileDefinition},
};
constexpr KeyRule kServiceKeys[] = {
    {.name = "service",
     .kind = Kind::kIdentifier,
     .meaning = "The service that does the work, by its name in the settings.",
     .required = true},
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
     .meaning = "The command that is run in the container instead of the image's own."},
    {.name = "size",
     .kind = Kind::kWord,
     .meaning = "How much processor and memory it has; each has 64 MB of storage.",
     .otherwise = "small",
     .words = kSizes},
    {.name = "scale",
     .kind = Kind::kInteger,
     .meaning = "How many containers are kept running at least.",
     .otherwise = "0",
     .min = 0,
     .max = 1000},
};

constexpr Mapping kGlobalFunction = {
    .name = "GlobalFunctionDefinition",
    .section = "GlobalFunctionDefinition",
    .meaning = "A service that all namespaces share.",
    .groups = {kFunctionKeys, kServiceKeys, kFilesKeys, kActionTimeoutKeys},
    .types = {"knative-global"},
};
constexpr Mapping kNamespacedFunction = {
    .name = "NamespacedFunctionDefinition",
    .section = "NamespacedFunctionDefinition",
    .meaning = "A service of the workflow's namespace.",
    .groups = {kFunctionKeys, kServiceKeys, kFilesKeys, kActionTimeoutKeys},
    .types = {"knative-namespace"},
};
constexpr Mapping kReusableFunction = {
    .name = "ReusableFunctionDefinition",
    .section = "ReusableFunctionDefinition",
    .meaning = "A container that is kept running from call to call.",
    .groups = {kFunctionKeys, kImageKeys, kFilesKeys, kActionTimeoutKeys},
    .types = {"reusable"},
};
constexpr KeyRule kSubflowKeys[] = {
    {.name = "workflow",
     .kind = Kind::kIdentifier,
     .meaning = "The workflow of this namespace that is run; it may be stored later.",
     .required = true},
};
constexpr Mapping kSubflowFunction = {
    .name = "SubflowFunctionDefinition",
    .section = "SubflowFunctionDefinition",
    .meaning = "Another workflow.",
    .groups = {kFunctionKeys, kSubflowKeys, kActionTimeoutKeys},
    .types = {"subflow"},
};
constexpr Mapping kIsolatedFunction = {
    .name = "IsolatedFunctionDefinition",
    .section = "IsolatedFunctionDefinition",
    .meaning = "A container of its own for each call.",
    .groups = {kFunctionKeys, kImageKeys, kFilesKeys, kActionTimeoutKeys},
    .types = {"isolated"},
};
constexpr const Mapping* kFunctions[] = {
    &kGlobalFunction,  &kNamespacedFunction, &kReusableFunction,
    &kSubflowFunction, &kIsolatedFunction,
};
constexpr Mapping kFunction = {
    .name = "FunctionDefinition",
    .section = "FunctionDefinition",
    .meaning = "Work that actions can have done.",
    .groups = {kFunctionKeys, kActionTimeoutKeys},
    .kinds = kFunctions,
};

}  // namespace millrace::grammar
