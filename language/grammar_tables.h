// The tables of the grammar that tables in other files refer to. A comment names the file that
// defines each table. Only the files of the grammar include this header; all other code uses
// grammar.h. Constants, any thread.
#pragma once

#include <array>
#include <string_view>

#include "language/grammar.h"
#include "policies/vocabularies.h"

namespace millrace::grammar {

using Kind = KeyRule::Kind;

// policy_grammar.cc
extern const Mapping kRetryPolicy;
extern const Mapping kService;
/// The keys of timeouts that an action, a function or a service may have.
extern const std::array<KeyRule, kActionTimeouts.size() + 1> kActionTimeoutKeys;

// event_grammar.cc
extern const Mapping kConsumeEventDefinition;
extern const Mapping kEventAndEntry;
extern const Mapping kEventConditionDefinition;
extern const Mapping kStartEventDefinition;
extern const Mapping kStartEventEntry;
extern const Mapping kGenerateEventDefinition;

// function_grammar.cc
extern const Mapping kActionDefinition;
extern const Mapping kCompensation;
extern const Mapping kFunction;

// start_grammar.cc
extern const Mapping kStart;

// state_grammar.cc
extern const Mapping kState;
/// The keys of every mapping that leads to another state.
extern const KeyRule kExitKeys[3];

// workflow_grammar.cc
extern const Mapping kWorkflow;

/// The key `retries`, with its meaning in the mapping that has it.
constexpr KeyRule retries(std::string_view meaning, bool own = false) {
  return {.name = "retries",
          .kind = Kind::kObject,
          .meaning = meaning,
          .spellings = {"retry"},
          .object = &kRetryPolicy,
          .instead = Kind::kRetryText,
          .own = own};
}

inline constexpr std::array kVariableScopes = {
    Word{"instance", "belongs to this instance only"},
    Word{"workflow", "shared by the instances of this workflow"},
    Word{"namespace", "shared by all workflows of the namespace"},
};
/// The key `scope` of a variable.
inline constexpr KeyRule kVariableScope = {
    .name = "scope",
    .kind = Kind::kWord,
    .meaning = "The scope of the variable: the instance, the workflow or the namespace.",
    .otherwise = "instance",
    .words = kVariableScopes,
};

}  // namespace millrace::grammar
