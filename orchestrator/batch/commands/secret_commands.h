// Commands about secrets. Each function returns the answer of its command, or an error;
// Service::command lists both. After an error `store.*` the batch is lost, unless the error is that
// of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a secret of the namespace, sealed.
Result<Json> run_command(const CommandContext& context, const PutSecret& command);

/// Erases a secret. Errors `secret.not_found`, `secret.in_use` (a webhook sends the secret as its
/// token).
Result<Json> run_command(const CommandContext& context, const DeleteSecret& command);

}  // namespace millrace
