// Commands about one instance: start it, control it, remove it. Each function returns the answer of
// its command, or an error; Service::command lists both. After an error `store.*` the batch is
// lost, unless the error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Starts an instance, or returns the instance that was started earlier with the same idempotency
/// key. Errors `start.conflict`, `start.key_with_batch`, `direktiv.mutex`.
Result<Json> run_command(const CommandContext& context, const StartInstance& command);

/// Cancels a live instance. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const CancelInstance& command);

/// Pauses a live instance. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const PauseInstance& command);

/// Resumes a paused instance. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const ResumeInstance& command);

/// Starts a new run of a failed or timed-out instance, from the state that failed. Errors
/// `instance.living`, `instance.not_failed`, `instance.deadline_passed`.
Result<CommandProgress> run_command(const CommandContext& context, const RetryInstance& command);

/// Starts a new run of an ended instance, from its first state. Error `instance.living`.
Result<Json> run_command(const CommandContext& context, const RestartInstance& command);

/// Starts a new run of an ended instance, from a state that it entered before. Errors
/// `instance.living`, `instance.no_state`, `instance.no_data`.
Result<CommandProgress> run_command(const CommandContext& context, const RerunInstance& command);
Result<Json> run_command(const CommandContext& context, const CompensateInstance& command);

/// Erases an ended instance with its history and variables. Error `instance.living`.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteInstance& command);

/// Records the deletion of the ended instances that the filter selects. Purges deletes them in
/// later batches.
Result<Json> run_command(const CommandContext& context, const DeleteInstances& command);

}  // namespace millrace
