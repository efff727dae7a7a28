// Events of an instance: those that its listeners match, and the early events that a state with
// `lookback` has asked for. Private to the engine.
#pragma once

#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/stimulus.h"

namespace millrace {

/// The results of the evaluations that the current state has asked for, and its early events: the
/// state first begins to wait, then takes the events in their order, as long as it listens for
/// them.
void apply(StepContext& step, const EvaluationDone& resumed);

void apply(StepContext& step, const Matched& matched);

}  // namespace millrace
