// Commands of services that have accepted a task, and answer it later. Each function returns the
// answer of its command, or an error; Service::command lists both. After an error `store.*` the
// batch is lost, unless the error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Ends a task with a result or an error, or notes a heartbeat. The repetition of the answer that
/// has ended the task changes nothing, and is answered as that one was, as long as the store knows
/// it (answer_rows.h). Errors `namespace.not_found`, `callback.ended`, `call.not_accepted`.
Result<Json> run_command(const CommandContext& context, const AnswerTask& command);

}  // namespace millrace
