#include "orchestrator/batch/commands/namespace_commands.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/commands/leftovers.h"
#include "orchestrator/batch/commands/replay_commands.h"
#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/batch/commands/source_commands.h"
#include "orchestrator/batch/commands/sweep.h"
#include "orchestrator/definition/removed_settings.h"
#include "orchestrator/definition/settings_targets.h"
#include "orchestrator/definition/shown_settings.h"
#include "orchestrator/store/rows/answer_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/rate_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "states/compensation.h"
#include "states/state.h"

namespace millrace {
namespace {

/// How many definitions one unit of work reads at most to find one that names a service. One that
/// is not in memory takes some milliseconds.
constexpr size_t kDefinitionsAtOnce = 8;

/// Whether a state of the workflow, or its `compensate`, calls the service.
bool calls_service(const Workflow& workflow, const std::string& name) {
  const auto calls_it = [&](const auto& state) {
    if (state == nullptr) return false;
    const std::vector<std::string> named = state->services();
    return std::find(named.begin(), named.end(), name) != named.end();
  };
  const auto& states = workflow.states;
  const auto& compensations = workflow.compensations;
  return std::any_of(states.begin(), states.end(), calls_it) ||
         std::any_of(compensations.begin(), compensations.end(), calls_it);
}

/// Searches the settings of the namespace, and some of the newest revisions of its workflows, for
/// the name of the service. Returns whether it was found; nullopt: further workflows follow behind
/// `command.searched`.
Result<std::optional<bool>> names_service(const CommandContext& context, NamespaceNumber ns,
                                          PauseService& command) {
  BatchState& batch = context.batch;
  const NamespaceSettings& settings = batch.catalog.settings(ns);
  if (settings.services.contains(command.name) || settings.paused.contains(command.name)) {
    return std::optional(true);
  }
  const auto& workflows = batch.catalog.workflows();
  size_t left = kDefinitionsAtOnce;
  for (auto next = workflows.upper_bound(command.searched); next != workflows.end(); ++next) {
    const auto& [number, entry] = *next;
    if (entry.ns != ns) continue;
    const bool has_read = left < kDefinitionsAtOnce;
    const bool is_spent = has_read && context.unit != nullptr && context.unit->is_spent();
    if (left-- == 0 || is_spent) return std::optional<bool>();
    command.searched = number;
    const auto workflow = batch.catalog.definition(batch.tx, {number, entry.latest});
    if (!workflow && is_damaged_row(workflow.error())) continue;
    if (calls_service(*TRY(workflow), command.name)) {
      command.searched = WorkflowNumber(static_cast<uint32_t>(number) - 1);
      return std::optional(true);
    }
  }
  return std::optional(false);
}

/// Resumes the services that the current settings pause and the new `settings` do not pause; all
/// services if the current settings are unreadable. Returns whether all instances are processed; if
/// not, `command` holds where to continue.
Result<bool> resume_services_of(const CommandContext& context, NamespaceNumber ns,
                                const NamespaceSettings& settings, CreateNamespace& command) {
  BatchState& batch = context.batch;
  const bool was_unreadable = batch.catalog.has_unreadable_settings(ns);
  ServiceNames resumed = batch.catalog.settings(ns).paused;
  std::erase_if(resumed, [&](const std::string& name) { return settings.paused.contains(name); });
  if (resumed.empty() && !was_unreadable) return true;
  std::vector<NamespaceNumber> spaces = {ns};
  // The settings of the namespace `default` contain the global services, which all namespaces use.
  if (was_unreadable && command.name == kDefaultNamespace) spaces = batch.catalog.namespaces();
  const ServiceNames* const services = was_unreadable ? nullptr : &resumed;
  for (const NamespaceNumber one : spaces) {
    if (command.sweeping && one < *command.sweeping) continue;
    command.sweeping = one;
    if (!TRY(resume_services(context, one, services, command.sweep))) return false;
    command.sweep = {};
  }
  return true;
}

/// Checks that the secrets of the inbound webhooks in `settings` exist, as check_webhook_secrets().
Status check_inbound_secrets(const CommandContext& context, std::optional<NamespaceNumber> ns,
                             const NamespaceSettings& settings) {
  for (const auto& [name, webhook] : settings.inbound) {
    for (size_t i = 0; i < webhook.verify.secrets.size(); ++i) {
      const std::string& secret = webhook.verify.secrets[i];
      if (ns && has_secret(context.batch.tx, *ns, secret)) continue;
      return fail("settings.invalid",
                  fmt::format("hooks.{}.verify.secrets[{}]: the namespace has no secret \"{}\"; "
                              "create the namespace, then set the secret (`millrace secret set "
                              "{}`), then these settings",
                              name, i, secret, secret));
    }
  }
  return {};
}

/// Checks that the secrets of the webhooks in `settings` exist. Error `settings.invalid`: the
/// namespace does not have one of these secrets. `ns` is nullopt if the namespace does not exist
/// yet.
Status check_webhook_secrets(const CommandContext& context, std::optional<NamespaceNumber> ns,
                             const NamespaceSettings& settings) {
  for (size_t i = 0; i < settings.webhooks.size(); ++i) {
    const std::string& name = settings.webhooks[i].secret;
    if (name.empty() || (ns && has_secret(context.batch.tx, *ns, name))) continue;
    return fail("settings.invalid",
                fmt::format("webhooks[{}].secret: the namespace has no secret \"{}\"; create the "
                            "namespace, then set the secret (`millrace secret set {}`), then "
                            "these settings",
                            i, name, name));
  }
  return {};
}

/// The stored settings of the namespace; null if it has none, or if they are not JSON.
Result<Json> former_settings(const View& view, std::string_view name) {
  const auto record = TRY(read_namespace(view, name));
  if (!record || record->settings.empty()) return Json();
  return parse_own_json(record->settings).value_or(Json());
}

/// Stores the settings. If they resume a service, makes the waiting tasks of that service due.
/// `parsed` is the result of parse_settings() for `settings`.
Status set_settings(const CommandContext& context, NamespaceNumber ns, const Json& settings,
                    NamespaceSettings parsed) {
  BatchState& batch = context.batch;
  const std::set<std::string, std::less<>> before = batch.catalog.settings(ns).paused;
  const std::set<std::string, std::less<>> after = parsed.paused;
  const bool was_unreadable = batch.catalog.has_unreadable_settings(ns);
  TRY(batch.catalog.set_settings(batch.tx, ns, dump_json(settings), std::move(parsed)));
  if (was_unreadable) batch.tasks.resume_all();
  for (const std::string& service : before) {
    if (!after.contains(service)) batch.tasks.resume(ns, service);
  }
  // Calls that wait for a slot may get one now.
  if (was_unreadable || before != after) batch.reviewed_calls.push_back(ns);
  return {};
}

}  // namespace

Result<CommandProgress> run_command(const CommandContext& context, const PauseService& command) {
  BatchState& batch = context.batch;
  const NamespaceNumber ns = TRY(find_namespace(context, command.ns));
  PauseService rest = command;
  const std::optional<bool> is_named = TRY(names_service(context, ns, rest));
  if (!is_named) return rest;
  if (!*is_named) {
    return fail("function.not_found",
                fmt::format("namespace \"{}\" has no service \"{}\": neither its settings nor the "
                            "newest revision of a workflow names it",
                            command.ns, command.name));
  }
  const bool resumes = !command.paused && batch.catalog.settings(ns).paused.contains(command.name);
  const ServiceNames resumed = {command.name};
  if (resumes && !TRY(resume_services(context, ns, &resumed, rest.sweep))) return rest;
  Json settings = Json::object();
  if (const auto record = TRY(read_namespace(batch.tx, command.ns));
      record && !record->settings.empty()) {
    settings = TRY(parse_own_json(record->settings));
  }
  std::set<std::string, std::less<>> paused = batch.catalog.settings(ns).paused;
  const bool changed =
      command.paused ? paused.insert(command.name).second : paused.erase(command.name) > 0;
  settings["paused"] = paused;
  TRY(set_settings(context, ns, settings, TRY(parse_settings(settings))));
  return Json{{"name", command.name}, {"paused", command.paused}, {"changed", changed}};
}

Result<CommandProgress> run_command(const CommandContext& context, const CreateNamespace& command) {
  BatchState& batch = context.batch;
  std::optional<NamespaceSettings> settings;
  Json text;
  Json former;
  if (command.settings) {
    former = TRY(former_settings(batch.tx, command.name));
    text = *command.settings;
    TRY(restore_urls(text, former));
    settings = TRY(parse_settings(text));
    TRY(check_targets(*settings, batch.request_subjects));
  }
  const auto known = batch.catalog.find_namespace(command.name);
  if (settings) TRY(check_webhook_secrets(context, known, *settings));
  if (settings) TRY(check_inbound_secrets(context, known, *settings));
  const bool exists = known.has_value();
  if (!exists) TRY(batch.catalog.create_namespace(batch.tx, command.name, context.now));
  if (settings) {
    const NamespaceNumber ns = *batch.catalog.find_namespace(command.name);
    CreateNamespace rest = command;
    if (!TRY(resume_services_of(context, ns, *settings, rest))) return rest;
    TRY(set_settings(context, ns, text, *std::move(settings)));
  }
  Json answer{{"name", command.name}, {"created", !exists}};
  if (command.settings) {
    const NamespaceNumber ns = *batch.catalog.find_namespace(command.name);
    Json warnings = settings_warnings(*command.settings, [&](std::string_view id) {
      return batch.catalog.find_workflow(ns, id) != nullptr;
    });
    if (!warnings.empty()) answer["warnings"] = std::move(warnings);
    Json removed = removed_settings(former, text);
    if (!removed.empty()) answer["removed"] = std::move(removed);
  }
  return answer;
}

Result<CommandProgress> run_command(const CommandContext& context, const DeleteNamespace& command) {
  BatchState& batch = context.batch;
  if (command.leftovers) return TRY(finish_deletion(context, command));
  const NamespaceNumber ns = TRY(find_namespace(context, command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" cannot be deleted");
  }
  TRY(refuse_source_streams(context, ns, command.name));
  if (!command.cancel) {
    TRY(refuse_live(
        count_live(context, ns, std::nullopt),
        {"namespace.not_empty", fmt::format("namespace \"{}\" has live instances", command.name)}));
  }
  DeleteNamespace rest = command;
  const bool drops = command.drop_compensations;
  if (!TRY(cancel_live(context, ns, std::nullopt, drops, rest.sweep))) {
    TRY(refuse_compensating(context, ns, std::nullopt, rest.sweep,
                            {"namespace.compensating",
                             fmt::format("namespace \"{}\" is not deleted yet", command.name)}));
    return rest;
  }
  // From here on nothing of the namespace runs. The purge erases its rows, some in each batch.
  for (const WorkflowNumber number : batch.catalog.workflows_of(ns)) {
    TRY(batch.waiting.set_start(command.name, number, {}));
    batch.waiting.disarm_schedule(number);
  }
  context.purges.begin(ns, command.name);
  erase_rate_use(batch.tx, ns);
  TRY(erase_answers(batch.tx, ns));
  TRY(erase_replays(context, ns));
  TRY(erase_sources(context, ns, command.name));
  batch.catalog.remove_namespace(batch.tx, ns);
  return deletion_answer(rest.sweep, drops);
}

}  // namespace millrace
