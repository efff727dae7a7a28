// Commands about variables. Each function returns the answer of its command, or an error;
// Service::command lists both. After an error `store.*` the batch is lost, unless the error is that
// of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a variable of a namespace, a workflow or an instance.
Result<Json> run_command(const CommandContext& context, const PutVariable& command);

/// Erases a variable. Error `variable.not_found`.
Result<Json> run_command(const CommandContext& context, const DeleteVariable& command);

}  // namespace millrace
