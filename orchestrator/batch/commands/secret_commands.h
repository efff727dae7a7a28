// Commands about secrets. Each answers what Service::command lists, or fails with an error of that
// list; an error `store.*` is of the store, and the batch is lost. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a secret of the namespace, sealed.
Result<Json> run_command(const CommandContext& context, const PutSecret& command);

/// Erases one. Errors `secret.not_found`, `secret.in_use` (a webhook sends it).
Result<Json> run_command(const CommandContext& context, const DeleteSecret& command);

}  // namespace millrace
