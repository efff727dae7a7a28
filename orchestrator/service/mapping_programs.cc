#include "orchestrator/service/mapping_programs.h"

#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

constexpr std::chrono::seconds kMappingCheckTime(5);

}  // namespace

Status check_mapping_programs(std::span<const PlacedMapping> mappings, const TimedCheck& check) {
  std::vector<std::string> places;
  std::vector<std::string> programs;
  for (const PlacedMapping& one : mappings) {
    for (MappingProgram& program : one.mapping.programs()) {
      places.push_back(fmt::format("{}.{}", one.where, program.where));
      programs.push_back(std::move(program.text));
    }
  }
  if (programs.empty() || !check) return {};
  const std::vector<std::optional<Error>> errors = check(programs, kMappingCheckTime);
  for (size_t i = 0; i < errors.size() && i < places.size(); ++i) {
    if (!errors[i]) continue;
    if (errors[i]->code == "jq.unavailable") return tl::unexpected(*errors[i]);
    return invalid_setting(places[i],
                           fmt::format("jq({}): {}", excerpt(programs[i]), errors[i]->message));
  }
  return {};
}

InboundWebhooks inbound_webhooks_of(const Command& command) {
  const auto* const create = std::get_if<CreateNamespace>(&command);
  if (create == nullptr || !create->settings) return {};
  const auto inbound = create->settings->find(kInboundSetting);
  if (inbound == create->settings->end()) return {};
  return parse_inbound_webhooks(kInboundSetting, *inbound).value_or(InboundWebhooks());
}

std::vector<PlacedMapping> mappings_of(const InboundWebhooks& webhooks) {
  std::vector<PlacedMapping> mappings;
  for (const auto& [name, webhook] : webhooks) {
    mappings.push_back(
        {.where = fmt::format("{}.{}.mapping", kInboundSetting, name), .mapping = webhook.mapping});
  }
  return mappings;
}

Status check_command_programs(const Command& command, const TimedCheck& check) {
  const InboundWebhooks webhooks = inbound_webhooks_of(command);
  return check_mapping_programs(mappings_of(webhooks), check);
}

}  // namespace millrace
