// Commands about replays of ranges of the event stream. Each function returns the answer of its
// command, or an error; Service::command lists both. After an error `store.*` the batch is lost,
// unless the error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Writes the row of a replay: begins it, moves its progress, or stops it. Errors
/// `replay.too_many`, `replay.not_found`, `replay.ended` (only a running replay changes).
Result<Json> run_command(const CommandContext& context, const ChangeReplay& command);

/// Erases the rows of all replays of a deleted namespace.
Status erase_replays(const CommandContext& context, NamespaceNumber ns);

}  // namespace millrace
