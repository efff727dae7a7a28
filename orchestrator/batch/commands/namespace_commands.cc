#include "orchestrator/batch/commands/namespace_commands.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/commands/leftovers.h"
#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// Whether the settings of the namespace, or the newest revision of one of its workflows, name the
/// service.
Result<bool> names_service(const CommandContext& context, NamespaceNumber space,
                           std::string_view service) {
  Draft& draft = context.draft;
  const NamespaceSettings& settings = draft.catalog.settings(space);
  if (settings.services.contains(service) || settings.paused.contains(service)) return true;
  for (const auto& [number, entry] : draft.catalog.workflows()) {
    if (entry.space != space) continue;
    const auto workflow = draft.catalog.definition(draft.tx, {number, entry.latest});
    if (!workflow && is_damaged_row(workflow.error())) continue;
    for (const auto& state : TRY(workflow)->states) {
      const std::vector<std::string> named = state->services();
      if (std::find(named.begin(), named.end(), service) != named.end()) return true;
    }
  }
  return false;
}

/// Resumes the services that those settings of the namespace have go on. Returns whether all
/// instances have heard of it; if not, `command` says where to go on.
Result<bool> resume_services_of(const CommandContext& context, NamespaceNumber space,
                                const NamespaceSettings& settings, CreateNamespace& command) {
  Draft& draft = context.draft;
  const bool was_unreadable = draft.catalog.has_unreadable_settings(space);
  ServiceNames resumed = draft.catalog.settings(space).paused;
  std::erase_if(resumed, [&](const std::string& name) { return settings.paused.contains(name); });
  if (resumed.empty() && !was_unreadable) return true;
  std::vector<NamespaceNumber> spaces = {space};
  // Global services of all namespaces are in the settings of this one.
  if (was_unreadable && command.name == kDefaultNamespace) spaces = draft.catalog.namespaces();
  const ServiceNames* const services = was_unreadable ? nullptr : &resumed;
  for (const NamespaceNumber one : spaces) {
    if (command.sweeping && one < *command.sweeping) continue;
    command.sweeping = one;
    if (!TRY(resume_services(context, one, services, command.sweep))) return false;
    command.sweep = {};
  }
  return true;
}

/// Error `settings.invalid`: a webhook names a secret that the namespace does not have. No `space`:
/// the namespace does not exist yet.
Status check_webhook_secrets(const CommandContext& context, std::optional<NamespaceNumber> space,
                             const NamespaceSettings& settings) {
  for (size_t i = 0; i < settings.webhooks.size(); ++i) {
    const std::string& name = settings.webhooks[i].secret;
    if (name.empty() || (space && has_secret(context.draft.tx, *space, name))) continue;
    return fail("settings.invalid",
                fmt::format("webhooks[{}].secret: the namespace has no secret \"{}\"; create the "
                            "namespace, then set the secret (`millrace secret set {}`), then "
                            "these settings",
                            i, name, name));
  }
  return {};
}

/// Stores the settings and has what they resume go on. `parsed` is what parse_settings() makes of
/// `settings`.
Status set_settings(const CommandContext& context, NamespaceNumber space, const Json& settings,
                    NamespaceSettings parsed) {
  Draft& draft = context.draft;
  const std::set<std::string, std::less<>> before = draft.catalog.settings(space).paused;
  const std::set<std::string, std::less<>> after = parsed.paused;
  const bool was_unreadable = draft.catalog.has_unreadable_settings(space);
  TRY(draft.catalog.set_settings(draft.tx, space, dump_json(settings), std::move(parsed)));
  if (was_unreadable) draft.tasks.resume_all();
  for (const std::string& service : before) {
    if (!after.contains(service)) draft.tasks.resume(space, service);
  }
  return {};
}

}  // namespace

Result<CommandProgress> run_command(const CommandContext& context, const PauseService& command) {
  Draft& draft = context.draft;
  const NamespaceNumber space = TRY(find_namespace(context, command.space));
  if (!TRY(names_service(context, space, command.name))) {
    return fail("function.not_found",
                fmt::format("namespace \"{}\" has no service \"{}\": neither its settings nor the "
                            "newest revision of a workflow names it",
                            command.space, command.name));
  }
  PauseService rest = command;
  const bool resumes =
      !command.paused && draft.catalog.settings(space).paused.contains(command.name);
  const ServiceNames resumed = {command.name};
  if (resumes && !TRY(resume_services(context, space, &resumed, rest.sweep))) return rest;
  Json settings = Json::object();
  if (const auto record = TRY(read_namespace(draft.tx, command.space));
      record && !record->settings.empty()) {
    settings = TRY(parse_own_json(record->settings));
  }
  std::set<std::string, std::less<>> paused = draft.catalog.settings(space).paused;
  const bool changed =
      command.paused ? paused.insert(command.name).second : paused.erase(command.name) > 0;
  settings["paused"] = paused;
  TRY(set_settings(context, space, settings, TRY(parse_settings(settings))));
  return Json{{"name", command.name}, {"paused", command.paused}, {"changed", changed}};
}

Result<CommandProgress> run_command(const CommandContext& context, const CreateNamespace& command) {
  Draft& draft = context.draft;
  std::optional<NamespaceSettings> settings;
  if (command.settings) settings = TRY(parse_settings(*command.settings));
  const auto known = draft.catalog.find_namespace(command.name);
  if (settings) TRY(check_webhook_secrets(context, known, *settings));
  const bool exists = known.has_value();
  if (!exists) TRY(draft.catalog.create_namespace(draft.tx, command.name, context.now));
  if (settings) {
    const NamespaceNumber space = *draft.catalog.find_namespace(command.name);
    CreateNamespace rest = command;
    if (!TRY(resume_services_of(context, space, *settings, rest))) return rest;
    TRY(set_settings(context, space, *command.settings, *std::move(settings)));
  }
  Json answer{{"name", command.name}, {"created", !exists}};
  if (command.settings) {
    Json warnings = settings_warnings(*command.settings);
    if (!warnings.empty()) answer["warnings"] = std::move(warnings);
  }
  return answer;
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteNamespace& command) {
  Draft& draft = context.draft;
  if (command.leftovers) return TRY(finish_deletion(context, command));
  const NamespaceNumber space = TRY(find_namespace(context, command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" stays");
  }
  if (!command.cancel) {
    TRY(refuse_living(count_living(context, space, std::nullopt),
                      {"namespace.not_empty",
                       fmt::format("namespace \"{}\" has living instances", command.name)}));
  }
  DeleteNamespace rest = command;
  if (!TRY(cancel_living(context, space, std::nullopt, rest.sweep))) return rest;
  // Nothing of it works on from here. The rows go with the purge, a little in each batch.
  for (const auto& [number, entry] : draft.catalog.workflows()) {
    if (entry.space != space) continue;
    TRY(draft.waiting.set_start(command.name, number, {}));
    draft.waiting.disarm_schedule(number);
  }
  context.purges.begin(space, command.name);
  draft.catalog.remove_namespace(draft.tx, space);
  return Json{{"cancelled", rest.sweep.changed}};
}

}  // namespace millrace
