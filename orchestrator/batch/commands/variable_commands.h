// Commands about variables. Each answers what Service::command lists, or fails with an error of
// that list; an error `store.*` is of the store, and the batch is lost. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a variable of the namespace, a workflow or an instance.
Result<Json> run_command(const CommandContext& context, const PutVariable& command);

/// Erases one. Error `variable.not_found`.
Result<Json> run_command(const CommandContext& context, const DeleteVariable& command);

}  // namespace millrace
