#include <array>

#include "states/types.h"

namespace millrace {
namespace {

constexpr std::array<const StateType*, 11> kTypes = {
    &kActionState,   &kConsumeEventState, &kDelayState,   &kErrorState,
    &kEventAndState, &kEventXorState,     &kForeachState, &kGenerateEventState,
    &kNoopState,     &kParallelState,     &kSwitchState,
};

/// Second spellings of a type (SEMANTICS "Loading" 5).
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSpellings = {{
    {"eventsAnd", "eventAnd"},
    {"eventsXor", "eventXor"},
}};

}  // namespace

std::span<const StateType* const> state_types() { return kTypes; }

const StateType* find_state_type(std::string_view name) {
  for (const auto& [spelling, proper] : kSpellings) {
    if (spelling == name) name = proper;
  }
  for (const StateType* type : kTypes) {
    if (type->name == name) return type;
  }
  return nullptr;
}

}  // namespace millrace
