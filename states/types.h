// Every state type, each defined in the file of its name. A new type adds a line here and one in
// registry.cc.
#pragma once

#include "states/state.h"

namespace millrace {

extern const StateType kActionState;
extern const StateType kConsumeEventState;
extern const StateType kDelayState;
extern const StateType kErrorState;
extern const StateType kEventAndState;
extern const StateType kEventXorState;
extern const StateType kForeachState;
extern const StateType kGenerateEventState;
extern const StateType kGetterState;
extern const StateType kNoopState;
extern const StateType kParallelState;
extern const StateType kSetterState;
extern const StateType kSwitchState;
extern const StateType kValidateState;

}  // namespace millrace
