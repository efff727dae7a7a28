// Commands about a workflow and its schedule. Each returns the answer, or an error, that
// Service::command lists for it. After an error `store.*` of the store the batch is lost, except
// after that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Adds a revision, unless the newest revision has the same text.
Result<Json> run_command(const CommandContext& context, const ApplyWorkflow& command);

/// Deletes the workflow. Its live instances are cancelled first, or the command is refused
/// (`workflow.has_instances`). Ended instances stay.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteWorkflow& command);

/// Pauses or resumes the workflow and its live instances.
Result<CommandProgress> run_command(const CommandContext& context, const PauseWorkflow& command);

/// Starts an instance as a tick of the schedule would. Errors `schedule.not_found`,
/// `direktiv.mutex`.
Result<Json> run_command(const CommandContext& context, const TriggerSchedule& command);

}  // namespace millrace
