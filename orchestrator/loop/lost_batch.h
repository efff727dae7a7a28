// A lost batch: one that did not reach the disk. What it changed in memory is taken back. Engine
// thread only.
#pragma once

#include "base/result.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Takes back what the batch in hand has changed, and reads the rows of what it touched, of nothing
/// else. An error is one of the store's: then all of it is to be loaded (recovery.h).
Status undo(EngineState& engine);

}  // namespace millrace
