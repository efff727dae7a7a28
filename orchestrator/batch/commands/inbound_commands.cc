#include "orchestrator/batch/commands/inbound_commands.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// The stored settings of a namespace, which have the inbound webhook `name` of a command.
template <typename OneCommand>
Result<Json> settings_with(const CommandContext& context, const OneCommand& command) {
  const auto record = TRY(read_namespace(context.batch.tx, command.ns));
  Json settings = Json::object();
  if (record && !record->settings.empty()) settings = TRY(parse_own_json(record->settings));
  const NamespaceSettings parsed = TRY(parse_settings(settings));
  if (parsed.inbound.contains(command.name)) return settings;
  return fail("hooks.not_found", fmt::format("namespace \"{}\" has no inbound webhook \"{}\"",
                                             command.ns, excerpt(command.name)));
}

Status store_settings(const CommandContext& context, NamespaceNumber ns, const Json& settings) {
  NamespaceSettings parsed = TRY(parse_settings(settings));
  return context.batch.catalog.set_settings(context.batch.tx, ns, dump_json(settings),
                                            std::move(parsed));
}

}  // namespace

Result<Json> run_command(const CommandContext& context, const PauseInboundWebhook& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  Json settings = TRY(settings_with(context, command));
  Json& webhook = settings[kInboundSetting][command.name];
  const bool was_paused = webhook.value(kPausedWebhook, false);
  if (command.paused) {
    webhook[kPausedWebhook] = true;
  } else {
    webhook.erase(kPausedWebhook);
  }
  TRY(store_settings(context, ns, settings));
  return Json{{"name", command.name},
              {"paused", command.paused},
              {"changed", was_paused != command.paused}};
}

Result<Json> run_command(const CommandContext& context, const DeleteInboundWebhook& command) {
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  Json settings = TRY(settings_with(context, command));
  Json& webhooks = settings[kInboundSetting];
  webhooks.erase(command.name);
  if (webhooks.empty()) settings.erase(kInboundSetting);
  TRY(store_settings(context, ns, settings));
  return Json{{"name", command.name}, {"deleted", true}};
}

}  // namespace millrace
