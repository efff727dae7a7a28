// Commands about sources. Each function returns the answer of its command, or an error;
// Service::command lists both. After an error `store.*` the batch is lost, unless the error is that
// of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Errors `source.too_many`, `source.consumers_left`, and those of the quota `storeBytes`.
Result<Json> run_command(const CommandContext& context, const ApplySource& command);
/// Error `source.not_found`.
Result<Json> run_command(const CommandContext& context, const PauseSource& command);
/// Error `source.not_found`.
Result<Json> run_command(const CommandContext& context, const DeleteSource& command);
/// Error `source.not_found`.
Result<Json> run_command(const CommandContext& context, const MoveSource& command);
/// Has no error: the row may have been erased before.
Result<Json> run_command(const CommandContext& context, const ForgetConsumer& command);
/// Errors `source.not_found`: no source of the namespace reads the origin stream. The messages that
/// were applied before, or became dead letters, are left out.
Result<Json> run_command(const CommandContext& context, const RefuseMessages& command);

/// Refuses to delete the namespace while sources of it have streams that millrace made: the engine
/// cannot delete these. Error `namespace.not_empty`.
Status refuse_source_streams(const CommandContext& context, NamespaceNumber ns,
                             const std::string& name);

/// Erases the rows of all sources of the deleted namespace `name`.
Status erase_sources(const CommandContext& context, NamespaceNumber ns, const std::string& name);

}  // namespace millrace
