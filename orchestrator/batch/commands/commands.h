// Commands: what people and programs ask for, carried out in the batch in hand. This is the
// dispatch; what a command does stands in the file of its noun. Engine thread only.
#pragma once

#include "base/result.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Carries out the command, or as much of it as one batch should. Service::command lists answers
/// and errors; behind an error `store.*` but that of a damaged row the batch is lost.
Result<CommandProgress> carry_out(const CommandContext& context, const Command& command);

}  // namespace millrace
