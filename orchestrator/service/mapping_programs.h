// The jq programs of mappings in new settings, which only a jq worker can check.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "orchestrator/batch/command.h"
#include "orchestrator/definition/event_mapping.h"
#include "orchestrator/definition/inbound_webhooks.h"
#include "orchestrator/service/definition_deadline.h"

namespace millrace {

/// A mapping of new settings. It outlives the object.
struct PlacedMapping {
  std::string where;  ///< its place in the settings, such as `hooks.git.mapping`
  const EventMapping& mapping;
};

/// Checks the jq programs of the mappings; takes 5 s at most. `check`: null: nothing is checked.
/// Errors: `settings.invalid` has the place of the first jq program that is wrong, and its error;
/// `jq.unavailable`: no jq worker can be started.
Status check_mapping_programs(std::span<const PlacedMapping> mappings, const TimedCheck& check);

/// The inbound webhooks in the settings of a CreateNamespace; none for other commands, and if
/// parse_inbound_webhooks() does not accept them: the engine reports their mistakes.
InboundWebhooks inbound_webhooks_of(const Command& command);

/// The mappings of the webhooks, which outlive the result.
std::vector<PlacedMapping> mappings_of(const InboundWebhooks& webhooks);

/// Checks the jq programs of inbound_webhooks_of(), as check_mapping_programs().
Status check_command_programs(const Command& command, const TimedCheck& check);

}  // namespace millrace
