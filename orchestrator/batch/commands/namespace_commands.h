// Commands about a namespace, its settings and the services that they name. Each answers what
// Service::command lists, or fails with an error of that list; an error `store.*` is of the store,
// and the batch is lost. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Makes the namespace unless it exists, and stores its settings if there are any. Error
/// `settings.invalid`.
Result<CommandProgress> run_command(const CommandContext& context, const CreateNamespace& command);

/// Deletes the namespace. Its living instances are cancelled first, or the command is refused
/// (`namespace.not_empty`); a purge erases its rows afterwards.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteNamespace& command);

/// Pauses a service of the namespace, or has it go on. Error `function.not_found`.
Result<CommandProgress> run_command(const CommandContext& context, const PauseService& command);

}  // namespace millrace
