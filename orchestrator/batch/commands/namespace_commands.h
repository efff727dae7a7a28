// Commands about a namespace, its settings and their services. Each returns the answer, or an
// error, that Service::command lists for it. After an error `store.*` of the store the batch is
// lost, except after that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Creates the namespace unless it exists, and stores its settings if any are given. Error
/// `settings.invalid`.
Result<CommandProgress> run_command(const CommandContext& context, const CreateNamespace& command);

/// Deletes the namespace. Its live instances are cancelled first, or the command is refused
/// (`namespace.not_empty`). Afterwards a purge erases the rows of the namespace.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteNamespace& command);

/// Pauses or resumes a service of the namespace. Error `function.not_found`.
Result<CommandProgress> run_command(const CommandContext& context, const PauseService& command);

}  // namespace millrace
