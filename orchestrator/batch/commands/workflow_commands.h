// Commands about a workflow and its schedule. Each function returns the answer of its command, or
// an error; Service::command lists both. After an error `store.*` the batch is lost, unless the
// error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Adds a revision, unless the newest revision has the same text. Error
/// `workflow.revision_conflict`: see ApplyWorkflow::base_revision.
Result<Json> run_command(const CommandContext& context, const ApplyWorkflow& command);

/// Deletes the workflow. If `command.cancel` is set, first cancels the live instances of the
/// workflow; if it is not set, live instances are the error `workflow.has_instances`. While
/// instances make their compensations: the error `workflow.compensating`. Drops the starts that the
/// workflow has put off, in any case. Ended instances stay.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteWorkflow& command);

/// Drops the pending starts that are there, as CancelInstance drops one. Error
/// `workflow.not_found`.
Result<CommandProgress> run_command(const CommandContext& context,
                                    const DropPendingStarts& command);

/// Pauses or resumes the workflow and its live instances.
Result<CommandProgress> run_command(const CommandContext& context, const PauseWorkflow& command);

/// Starts an instance as a tick of the schedule would. Errors `schedule.not_found`,
/// `direktiv.mutex`.
Result<Json> run_command(const CommandContext& context, const TriggerSchedule& command);

}  // namespace millrace
