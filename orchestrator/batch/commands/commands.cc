#include "orchestrator/batch/commands/commands.h"

#include <variant>

#include "orchestrator/batch/commands/callback_commands.h"
#include "orchestrator/batch/commands/group_commands.h"
#include "orchestrator/batch/commands/inbound_commands.h"
#include "orchestrator/batch/commands/instance_commands.h"
#include "orchestrator/batch/commands/namespace_commands.h"
#include "orchestrator/batch/commands/node_commands.h"
#include "orchestrator/batch/commands/replay_commands.h"
#include "orchestrator/batch/commands/secret_commands.h"
#include "orchestrator/batch/commands/source_commands.h"
#include "orchestrator/batch/commands/variable_commands.h"
#include "orchestrator/batch/commands/workflow_commands.h"

namespace millrace {

Result<CommandProgress> carry_out(const CommandContext& context, const Command& command) {
  return std::visit(
      [&](const auto& one) -> Result<CommandProgress> { return run_command(context, one); },
      command);
}

}  // namespace millrace
