// Commands about the registered nodes of the cluster. Each function returns the answer of its
// command, or an error; Service::command lists both. After an error `store.*` the batch is lost,
// unless the error is that of a damaged row. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Writes the row of a node, or its new address. Error `cluster.too_many_nodes`.
Result<Json> run_command(const CommandContext& context, const RegisterNode& command);

/// Erases the row of a node. Error `cluster.node_not_found`.
Result<Json> run_command(const CommandContext& context, const RemoveNode& command);

}  // namespace millrace
