// Commands about groups of events. Each function returns the answer of its command, or an error;
// Service::command lists both. After an error `store.*` the batch is lost, unless the error is that
// of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Removes the events that waited in the group when the command began; each becomes a dead letter.
/// Events that join the group afterwards stay, and may complete it with events that are not removed
/// yet. Error `group.not_found`: no event waits in such a group.
Result<CommandProgress> run_command(const CommandContext& context, const DropGroup& command);

}  // namespace millrace
