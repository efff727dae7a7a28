// Commands: requests of users and programs, applied in the current batch. This file has the
// dispatch; each command is implemented in the file of its noun. Engine thread only.
#pragma once

#include "base/result.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Applies the command, or as much of it as one batch should. Service::command lists answers and
/// errors. After an error `store.*`, except that of a damaged row, the batch is lost.
Result<CommandProgress> carry_out(const CommandContext& context, const Command& command);

}  // namespace millrace
