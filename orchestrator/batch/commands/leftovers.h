// Leftovers: what deletions by earlier releases, which noted nothing of them, have left in the
// store. An operator names it by its number (`--leftovers`), and the deletion is finished as
// today's are. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Has a purge erase the rows of a deleted namespace; the name is its number. Errors
/// `leftovers.none` (nothing is left of such a one), `leftovers.in_use` (it was not deleted: its
/// row is lost).
Result<Json> finish_deletion(const CommandContext& context, const DeleteNamespace& command);

/// Erases the definitions of a deleted workflow, or notes the deletion where instances that have
/// ended are shown by them; the id is its number. Errors as above.
Result<CommandProgress> finish_deletion(const CommandContext& context,
                                        const DeleteWorkflow& command);

}  // namespace millrace
