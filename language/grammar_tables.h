// The tables of the grammar that tables in other files refer to; each stands in the file that the
// comment names. For the files of the grammar alone: all others reach the tables by grammar.h.
// Constants, any thread.
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
/// The timeouts that an action, and what it calls, may have.
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
extern const Mapping kFunction;

// start_grammar.cc
extern const Mapping kStart;

// state_grammar.cc
extern const Mapping kState;
/// The keys of what goes on to another state.
extern const KeyRule kExitKeys[2];

// workflow_grammar.cc
extern const Mapping kWorkflow;

/// The key `retries`, with what it means where it stands.
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
    Word{"instance", "kept for this instance alone"},
    Word{"workflow", "shared by the instances of this workflow"},
    Word{"namespace", "shared by all workflows of the namespace"},
};
/// The key `scope` of a variable.
inline constexpr KeyRule kVariableScope = {
    .name = "scope",
    .kind = Kind::kWord,
    .meaning = "Whose variable it is.",
    .otherwise = "instance",
    .words = kVariableScopes,
};

}  // namespace millrace::grammar
