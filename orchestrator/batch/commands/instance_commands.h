// Commands about one instance: its start, what an operator does to it, its removal. Each answers
// what Service::command lists, or fails with an error of that list; an error `store.*` is of the
// store, and the batch is lost. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Starts an instance, or finds the one that was started under the same idempotency key. Errors
/// `start.conflict`, `direktiv.mutex`.
Result<Json> run_command(const CommandContext& context, const StartInstance& command);

/// Cancels a living instance. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const CancelInstance& command);

/// Pauses a living instance. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const PauseInstance& command);

/// Has a paused instance go on. Error `instance.ended`.
Result<Json> run_command(const CommandContext& context, const ResumeInstance& command);

/// Runs an instance that has failed or timed out again, from the state that failed. Errors
/// `instance.living`, `instance.not_failed`, `instance.deadline_passed`.
Result<Json> run_command(const CommandContext& context, const RetryInstance& command);

/// Runs an instance that has ended again, from its start. Error `instance.living`.
Result<Json> run_command(const CommandContext& context, const RestartInstance& command);

/// Runs an instance that has ended again, from a state that it came to. Errors `instance.living`,
/// `instance.no_state`, `instance.no_data`.
Result<Json> run_command(const CommandContext& context, const RerunInstance& command);

/// Erases an instance that has ended, with its history and variables. Error `instance.living`.
Result<CommandProgress> run_command(const CommandContext& context, const DeleteInstance& command);

}  // namespace millrace
