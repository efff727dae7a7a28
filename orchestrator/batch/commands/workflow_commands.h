// Commands about a workflow and its schedule. Each answers what Service::command lists, or fails
// with an error of that list; an error `store.*` is of the store, and the batch is lost. Engine
// thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Adds a revision, unless the newest one has that text already.
Result<Json> run_command(const CommandContext& context, const ApplyWorkflow& command);

/// Deletes the workflow. Its living instances are cancelled first, or the command is refused
/// (`workflow.has_instances`). Instances that have ended stay.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteWorkflow& command);

/// Pauses the workflow and its living instances, or has them go on.
Result<CommandProgress> run_command(const CommandContext& context, const PauseWorkflow& command);

/// Starts an instance as a tick of the schedule would. Errors `schedule.not_found`,
/// `direktiv.mutex`.
Result<Json> run_command(const CommandContext& context, const TriggerSchedule& command);

}  // namespace millrace
