// Commands about the inbound webhooks in the settings of a namespace. Each changes one of them and
// no other setting, so settings that are written at the same time lose nothing. Each function
// returns the answer of its command, or an error; Service::command lists both. Engine thread only.
#pragma once

#include "orchestrator/batch/commands/command_context.h"

namespace millrace {

/// Errors `hooks.not_found`; `settings.invalid`: the stored settings cannot be read.
Result<Json> run_command(const CommandContext& context, const PauseInboundWebhook& command);
/// Errors as of PauseInboundWebhook.
Result<Json> run_command(const CommandContext& context, const DeleteInboundWebhook& command);

}  // namespace millrace
