// How an instance enters a state: the state's `log`, its timeout if the data decides it, and then
// the state itself. Private to the engine.
#pragma once

#include "model/instance.h"
#include "orchestrator/engine/step_context.h"

namespace millrace {

/// Enters the current state. A timeout that the data decides counts from the step in which all
/// values of the state are known: then its timer is armed, and nothing evaluates it again.
Outcome log_and_enter(StepContext& step, Visit& visit);

/// Arms the timer of the state's timeout again after a pause, which held `held`. A timeout starts
/// again in full; a time at which the wait ends (`until`) stays as it was.
void arm_timeout_again(StepContext& step, const Timer& held);

}  // namespace millrace
