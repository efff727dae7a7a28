#include <array>

#include "language/grammar.h"
#include "states/types.h"

namespace millrace {
namespace {

constexpr std::array<const StateType*, 14> kStateTypes = {
    &kActionState,   &kConsumeEventState, &kDelayState,         &kErrorState,    &kEventAndState,
    &kEventXorState, &kForeachState,      &kGenerateEventState, &kGetterState,   &kNoopState,
    &kParallelState, &kSetterState,       &kSwitchState,        &kValidateState,
};

}  // namespace

std::span<const StateType* const> state_types() { return kStateTypes; }

const StateType* find_state_type(std::string_view name) {
  if (const Mapping* const kind = state_grammar().kind(name)) name = kind->types[0];
  for (const StateType* type : kStateTypes) {
    if (type->name == name) return type;
  }
  return nullptr;
}

}  // namespace millrace
