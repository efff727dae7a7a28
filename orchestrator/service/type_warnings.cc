#include "orchestrator/service/type_warnings.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/definition/made_types.h"

namespace millrace {

Json type_warnings(std::span<const PlacedMapping> mappings, const NamespaceTypes& types) {
  Json warnings = Json::array();
  for (const PlacedMapping& one : mappings) {
    if (may_make_any(one.mapping.type, types.awaited)) continue;
    warnings.push_back(
        {{"path", one.where + ".type"},
         {"message", fmt::format("no workflow of the namespace starts on {}, or waits for such "
                                 "events; correct the type, or apply the workflow",
                                 described_types(one.mapping.type))}});
  }
  return warnings;
}

Result<Json> add_warnings(Result<Json> answer, const Json& warnings) {
  if (!answer || warnings.empty()) return answer;
  Json& all = (*answer)["warnings"];
  for (const Json& one : warnings) all.push_back(one);
  return answer;
}

std::function<void(Result<Json>)> with_type_warnings(const Command& command,
                                                     Environment& environment,
                                                     DefinitionCache& definitions,
                                                     std::function<void(Result<Json>)> done) {
  const InboundWebhooks webhooks = inbound_webhooks_of(command);
  if (webhooks.empty()) return done;
  const Result<Snapshot> view = Snapshot::take(environment);
  if (!view) return done;
  const auto types = namespace_types(*view, namespace_of_command(command), definitions, false);
  if (!types || !*types) return done;
  Json warnings = type_warnings(mappings_of(webhooks), **types);
  if (warnings.empty()) return done;
  return [done = std::move(done), warnings = std::move(warnings)](Result<Json> answer) {
    done(add_warnings(std::move(answer), warnings));
  };
}

}  // namespace millrace
