// Commands about secrets. Each returns the answer, or an error, that Service::command lists for it.
// After an error `store.*` of the store the batch is lost, except after that of a damaged row.
// Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a secret of the namespace, sealed.
Result<Json> run_command(const CommandContext& context, const PutSecret& command);

/// Erases a secret. Errors `secret.not_found`, `secret.in_use` (a webhook sends it).
Result<Json> run_command(const CommandContext& context, const DeleteSecret& command);

}  // namespace millrace
