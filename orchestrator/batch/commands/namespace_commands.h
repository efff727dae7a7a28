// Commands about a namespace, its settings and their services. Each function returns the answer of
// its command, or an error; Service::command lists both. After an error `store.*` the batch is
// lost, unless the error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Creates the namespace unless it exists, and stores its settings if any are given. Error
/// `settings.invalid`.
Result<CommandProgress> run_command(const CommandContext& context, const CreateNamespace& command);

/// Deletes the namespace. If `command.cancel` is set, first cancels the live instances of the
/// namespace; if it is not set, live instances are the error `namespace.not_empty`. While
/// instances make their compensations: the error `namespace.compensating`. Afterwards a purge
/// erases the rows of the namespace.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteNamespace& command);

/// Pauses or resumes a service of the namespace. Error `function.not_found`.
Result<CommandProgress> run_command(const CommandContext& context, const PauseService& command);

}  // namespace millrace
