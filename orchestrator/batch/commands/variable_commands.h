// Commands about variables. Each returns the answer, or an error, that Service::command lists for
// it. After an error `store.*` of the store the batch is lost, except after that of a damaged row.
// Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Stores a variable of a namespace, a workflow or an instance.
Result<Json> run_command(const CommandContext& context, const PutVariable& command);

/// Erases a variable. Error `variable.not_found`.
Result<Json> run_command(const CommandContext& context, const DeleteVariable& command);

}  // namespace millrace
