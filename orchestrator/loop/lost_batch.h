// A lost batch: one that did not reach the disk. What it changed in memory is taken back. Engine
// thread only.
#pragma once

#include "base/result.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Takes back what the batch in hand has changed. Of instances it reads those that the batch
/// touched; the small lists (names, errands, kept messages) anew. An error is one of the store's:
/// then all is to be loaded (recovery.h).
Status undo(EngineState& engine);

}  // namespace millrace
