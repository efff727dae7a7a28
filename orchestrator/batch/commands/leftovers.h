// Leftovers: rows in the store of namespaces and workflows that were deleted by earlier releases,
// which did not record the deletion. An operator names such a namespace or workflow by its number
// (`--leftovers`); then its deletion is finished like a new deletion. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Starts a purge of the rows of a deleted namespace, named by its number. Errors `leftovers.none`
/// (no such rows are left), `leftovers.in_use` (the namespace was not deleted, but its row is
/// lost).
Result<Json> finish_deletion(const CommandContext& context, const DeleteNamespace& command);

/// Erases the definitions of a deleted workflow, named by its number. If queries still need the
/// definitions to show ended instances, it records the deletion instead. Errors `leftovers.none`
/// (no definitions are left, or the workflow still exists), `leftovers.in_use` (the workflow was
/// not deleted, but its row is lost; or its instances belong to another namespace).
Result<CommandProgress> finish_deletion(const CommandContext& context,
                                        const DeleteWorkflow& command);

}  // namespace millrace
