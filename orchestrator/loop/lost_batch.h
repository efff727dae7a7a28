// Undoes a lost batch, which is a batch that did not reach the disk: reverts its changes in memory.
// Engine thread only.
#pragma once

#include "base/result.h"
#include "orchestrator/loop/engine_state.h"

namespace millrace {

/// Whether the engine must end after a commit that failed with this error: the state of the disk is
/// not known, or this node is not the active of its cluster any more (CommitLog::append()).
bool ends_engine(const Error& error);

/// Reverts the changes of the current batch. Of the instances, undo() reads again only those that
/// the batch had loaded; undo() reads the small lists (names, instance messages, acked messages)
/// completely. Errors: those of the store; after an error the whole store must be loaded again
/// (recovery.h).
Status undo(EngineState& engine);

}  // namespace millrace
