// The early events of a state with `lookback`, which it takes when it begins to wait. Private to
// the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "model/early_events.h"
#include "orchestrator/engine/step_context.h"

namespace millrace {

/// Gives the instance the early events in their order, as long as it waits in the state that it
/// entered in the step `entered`, and listens for them.
void offer_early(StepContext& step, const std::vector<EarlyEvent>& events, uint64_t entered);

}  // namespace millrace
