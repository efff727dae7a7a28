#include "language/grammar.h"

#include <algorithm>

#include <fmt/format.h>

#include "policies/vocabularies.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

constexpr std::array kScopes = {
    Word{"instance", "kept for this instance alone"},
    Word{"workflow", "shared by the instances of this workflow"},
    Word{"namespace", "shared by all workflows of the namespace"},
};

// Errors and retries.

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

// A retry policy is one of several kinds, the vocabularies; its keys say which.

constexpr Kind kind_of(RetryKey::Unit unit) {
  switch (unit) {
    case RetryKey::Unit::kCount:
    case RetryKey::Unit::kMilliseconds:
      return Kind::kInteger;
    case RetryKey::Unit::kFactor:
      return Kind::kNumber;
    case RetryKey::Unit::kSpan:
    case RetryKey::Unit::kSpanOrNumber:
      return Kind::kDuration;
    case RetryKey::Unit::kPatterns:
      return Kind::kPattern;
    case RetryKey::Unit::kCodes:
      return Kind::kText;
  }
  return Kind::kText;
}

/// The rows of a vocabulary as rows of the grammar.
template <size_t N>
constexpr std::array<KeyRule, N> rules_of(const std::array<RetryKey, N>& keys, bool own = true) {
  std::array<KeyRule, N> rules{};
  for (size_t i = 0; i < N; ++i) {
    const RetryKey& key = keys[i];
    rules[i] = {
        .name = key.name,
        .kind = kind_of(key.unit),
        .meaning = key.meaning,
        .list = key.unit == RetryKey::Unit::kPatterns || key.unit == RetryKey::Unit::kCodes,
        .required = key.required,
        .otherwise = key.otherwise,
        .spellings = {key.spelling},
        .min = key.min,
        .max = key.max,
        .above_min = key.above_min,
        .zero = key.part == RetryKey::Part::kDelay,
        .milliseconds = key.unit == RetryKey::Unit::kSpanOrNumber,
        .own = own,
    };
  }
  return rules;
}

constexpr KeyRule kVocabularyKeys[] = {
    {.name = "vocabulary",
     .kind = Kind::kType,
     .meaning = "Whose policy it is, where its keys leave that open.",
     .own = true},
};
constexpr auto kDirektivRetryKeys = rules_of(kDirektivRetry, false);
constexpr Mapping kDirektivRetryPolicy = {
    .name = "RetryDefinition",
    .section = "RetryDefinition",
    .meaning = "Direktiv's: an error that nothing catches is tried again, if its code is listed.",
    .groups = {kDirektivRetryKeys, kVocabularyKeys},
    .types = {"direktiv"},
};
constexpr auto kSteepRetryKeys = rules_of(kSteepRetry);
constexpr Mapping kSteepRetryPolicy = {
    .name = "SteepRetryPolicy",
    .section = "Retry policies",
    .meaning = "Steep's: every error is tried again, before `catch` is asked.",
    .groups = {kSteepRetryKeys, kVocabularyKeys},
    .types = {"steep"},
    .document = "000",
};
constexpr auto kTemporalRetryKeys = rules_of(kTemporalRetry);
constexpr Mapping kTemporalRetryPolicy = {
    .name = "TemporalRetryPolicy",
    .section = "Retry Policy",
    .meaning = "Temporal's: errors are tried again but for some, before `catch` is asked.",
    .groups = {kTemporalRetryKeys, kVocabularyKeys},
    .types = {"temporal"},
    .document = "001",
};
constexpr auto kStevoraRetryKeys = rules_of(kStevoraRetry);
constexpr Mapping kStevoraRetryPolicy = {
    .name = "StevoraRetryPolicy",
    .section = "The RetryPolicy Interface",
    .meaning = "Stevora's: every error is tried again, before `catch` is asked.",
    .groups = {kStevoraRetryKeys, kVocabularyKeys},
    .types = {"stevora"},
    .document = "002",
};
constexpr const Mapping* kRetryPolicies[] = {
    &kDirektivRetryPolicy,
    &kSteepRetryPolicy,
    &kTemporalRetryPolicy,
    &kStevoraRetryPolicy,
};
constexpr Mapping kRetryPolicy = {
    .name = "RetryPolicy",
    .section = "RetryDefinition",
    .meaning = "How often, and after which waits, what has failed is tried again.",
    .groups = {kVocabularyKeys},
    .kinds = kRetryPolicies,
};

/// The key, with what it means where it stands.
constexpr KeyRule retries(std::string_view meaning, bool own = false) {
  return {.name = "retries",
          .kind = Kind::kObject,
          .meaning = meaning,
          .spellings = {"retry"},
          .object = &kRetryPolicy,
          .instead = Kind::kRetryText,
          .own = own};
}

// Timeouts of actions.

constexpr KeyRule kSteepTimeoutKeys[] = {
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "How long.",
     .required = true,
     .milliseconds = true,
     .own = true},
    {.name = "errorOnTimeout",
     .kind = Kind::kBoolean,
     .meaning = "Whether its end is an error, which can be tried again or caught.",
     .otherwise = "false",
     .own = true},
};
constexpr Mapping kSteepTimeout = {
    .name = "SteepTimeout",
    .section = "Timeout policies",
    .meaning = "A timeout, and whether its end is an error instead of that of the instance.",
    .groups = {kSteepTimeoutKeys},
    .document = "000",
};

template <size_t N>
constexpr std::array<Word, N> words_of(const std::array<TimeoutScope, N>& scopes) {
  std::array<Word, N> words{};
  for (size_t i = 0; i < N; ++i) words[i] = {scopes[i].word, scopes[i].meaning};
  return words;
}
constexpr auto kTimeoutScopeWords = words_of(kTimeoutScopes);

constexpr auto kActionTimeoutKeys = [] {
  std::array<KeyRule, kActionTimeouts.size() + 1> rules{};
  for (size_t i = 0; i < kActionTimeouts.size(); ++i) {
    const TimeoutKey& key = kActionTimeouts[i];
    const bool is_steep = key.vocabulary == Vocabulary::kSteep;
    rules[i] = {.name = key.name,
                .kind = is_steep ? Kind::kObject : Kind::kDuration,
                .meaning = key.meaning,
                .milliseconds = is_steep,
                .object = is_steep ? &kSteepTimeout : nullptr,
                .own = true};
    if (is_steep) rules[i].instead = Kind::kDuration;
  }
  rules.back() = {.name = "timeout_scope",
                  .kind = Kind::kWord,
                  .meaning = "What `timeout` bounds.",
                  .otherwise = kTimeoutScopeWords[0].word,
                  .words = kTimeoutScopeWords,
                  .own = true};
  return rules;
}();

// Of the settings of a namespace.

constexpr KeyRule kServicePolicyKeys[] = {
    retries("Tries each call again for which nothing nearer has a policy.", true),
};
constexpr Mapping kService = {
    .name = "Service",
    .section = "Timeout policies",
    .meaning = "What calls of a service have where nothing nearer says otherwise.",
    .groups = {kServicePolicyKeys, kActionTimeoutKeys},
    .document = "000",
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

// Events.

constexpr std::array kCaptures = {
    Word{"payload", "the event's data"},
    Word{"event", "the whole CloudEvent in its JSON form"},
};

constexpr KeyRule kEventType = {
    .name = "type",
    .kind = Kind::kEventType,
    .meaning = "The type of the CloudEvent, compared as it is.",
    .required = true,
};
constexpr KeyRule kCapture = {
    .name = "capture",
    .kind = Kind::kWord,
    .meaning = "What of the event is put into the data, under its type.",
    .otherwise = "payload",
    .words = kCaptures,
    .own = true,
};

constexpr KeyRule kConsumedKeys[] = {
    kEventType,
    {.name = "context",
     .kind = Kind::kPatterns,
     .meaning = "What the event's context attributes must match; jq(…) is data, not a pattern.",
     .spellings = {"filters"}},
    kCapture,
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
    .meaning = "One of the events that must all have come.",
    .groups = {kConsumedEventKeys},
};
constexpr Mapping kEventConditionDefinition = {
    .name = "EventConditionDefinition",
    .section = "EventConditionDefinition",
    .meaning = "One of the events that may come, and the way on from it.",
    .groups = {kConsumedEventKeys, kExitKeys},
};

constexpr KeyRule kStartEventKeys[] = {
    kEventType,
    {.name = "filters",
     .kind = Kind::kPatterns,
     .meaning = "What the event's context attributes must match; there is no data for jq yet.",
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
     .meaning = "The type of the CloudEvent that is sent.",
     .required = true},
    {.name = "source",
     .kind = Kind::kTemplate,
     .meaning = "The source of the CloudEvent that is sent: a URI reference.",
     .required = true},
    {.name = "data", .kind = Kind::kCommand, .meaning = "The payload.", .otherwise = "."},
    {.name = "datacontenttype",
     .kind = Kind::kMediaType,
     .meaning = "The media type of the payload; under any but JSON a Base64 text is decoded.",
     .otherwise = "application/json"},
    {.name = "context",
     .kind = Kind::kAttributes,
     .meaning = "Further context attributes: subject, dataschema and extensions."},
};
constexpr Mapping kGenerateEventDefinition = {
    .name = "GenerateEventDefinition",
    .section = "GenerateEventDefinition",
    .meaning = "An event to send.",
    .groups = {kGeneratedKeys},
};

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

constexpr KeyRule kVariableScope = {
    .name = "scope",
    .kind = Kind::kWord,
    .meaning = "Whose variable it is.",
    .otherwise = "instance",
    .words = kScopes,
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

// Starts.

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

// The workflow.

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
    .document = "004",
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

void add_all(const Mapping& mapping, std::vector<const Mapping*>& all) {
  if (std::find(all.begin(), all.end(), &mapping) != all.end()) return;
  all.push_back(&mapping);
  for (const Mapping* kind : mapping.kinds) add_all(*kind, all);
  for (const KeyRule* key : mapping.keys()) {
    if (key->object != nullptr) add_all(*key->object, all);
  }
}

}  // namespace

std::vector<std::string_view> KeyRule::names() const {
  std::vector<std::string_view> all = {name};
  for (const std::string_view other : spellings) {
    if (!other.empty()) all.push_back(other);
  }
  return all;
}

bool KeyRule::is(std::string_view spelling) const {
  return spelling == name || (!spelling.empty() && std::find(spellings.begin(), spellings.end(),
                                                             spelling) != spellings.end());
}

std::string_view Mapping::chooser() const {
  return find("vocabulary") != nullptr ? "vocabulary" : "type";
}

const KeyRule* Mapping::find(std::string_view spelling) const {
  for (const Keys group : groups) {
    for (const KeyRule& key : group) {
      if (key.is(spelling)) return &key;
    }
  }
  return nullptr;
}

std::vector<const KeyRule*> Mapping::keys() const {
  std::vector<const KeyRule*> all;
  for (const Keys group : groups) {
    for (const KeyRule& key : group) all.push_back(&key);
  }
  return all;
}

const Mapping* Mapping::kind(std::string_view type) const {
  if (type.empty()) return nullptr;
  for (const Mapping* one : kinds) {
    if (std::find(one->types.begin(), one->types.end(), type) != one->types.end()) return one;
  }
  return nullptr;
}

const Mapping& workflow_grammar() { return kWorkflow; }

const Mapping& state_grammar() { return kState; }

const Mapping& retry_grammar() { return kRetryPolicy; }
const Mapping& service_grammar() { return kService; }

std::vector<const Mapping*> all_mappings() {
  std::vector<const Mapping*> all;
  add_all(kWorkflow, all);
  return all;
}

}  // namespace millrace
