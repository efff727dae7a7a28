// The early events of a state with `lookback`, which it takes when it begins to wait, in several
// steps if they are many or large. Private to the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "model/early_events.h"
#include "orchestrator/engine/step_context.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {

/// Gives the instance the early events in their order, as long as it waits in the state that it
/// entered in the step `entered`, and listens for them. If the limit of one step is reached before,
/// but after at least one event, the instance takes_early_events() from then on, and the step
/// has_early_left.
void offer_early(StepContext& step, const std::vector<EarlyEvent>& events, uint64_t entered);

/// Continues to enter the state of an instance that takes_early_events(). Returns Wait if the step
/// has the early events that are left. Otherwise, after a restart or a pause, asks for them: Park,
/// or Raise millrace.limits.lookback.
Outcome enter_further(StepContext& step, Visit& visit);

}  // namespace millrace
