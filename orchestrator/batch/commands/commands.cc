#include "orchestrator/batch/commands/commands.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/bytes.h"
#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/doubtful_head.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// How many instances one batch steps, about, where a command concerns many.
constexpr size_t kSteppedAtOnce = 250;

/// And how many variables or secrets it erases of those that go with their owner.
constexpr size_t kErasedAtOnce = 1'000;

/// The number that `text` is; error `leftovers.none` where none like it was given.
Result<uint32_t> given_number(const View& view, Counter counter, std::string_view text) {
  const uint64_t last = TRY(read_counter(view, counter));
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= 1 && number <= last) return number;
  return fail("leftovers.none",
              fmt::format("\"{}\" is not a number that was given (1 to {}); `millrace verify` "
                          "shows the numbers of what is left over",
                          text, last));
}

}  // namespace

Result<Commands::Progress> Commands::carry_out(TimePoint now, const Command& command) {
  return std::visit([&](const auto& what) -> Result<Progress> { return run(now, what); }, command);
}

Result<NamespaceNumber> Commands::space_of(std::string_view name) const {
  const auto space = draft_.catalog.find_namespace(name);
  if (!space) {
    return fail("namespace.not_found",
                fmt::format("there is no namespace \"{}\"; make it with `millrace namespace create "
                            "{}`",
                            name, name));
  }
  return *space;
}

Result<const WorkflowEntry*> Commands::workflow_of(std::string_view space,
                                                   std::string_view id) const {
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(TRY(space_of(space)), id);
  if (entry == nullptr) {
    return fail("workflow.not_found",
                fmt::format("there is no workflow \"{}\" in namespace \"{}\"", id, space));
  }
  return entry;
}

Result<Json> Commands::run(TimePoint now, const ApplyWorkflow& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  std::shared_ptr<const Workflow> before;
  if (const WorkflowEntry* known = draft_.catalog.find_workflow(space, command.workflow->id)) {
    const auto newest = draft_.catalog.definition(draft_.tx, {known->number, known->latest});
    // One that is damaged is replaced by the next.
    if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
    if (newest) before = *newest;
  }
  const bool added =
      TRY(draft_.catalog.apply(draft_.tx, space, command.text, command.workflow, now));
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(space, command.workflow->id);
  if (added) {
    TRY(draft_.waiting.set_start(command.space, entry->number, command.workflow->start.events));
    if (before && before->start.kind == Start::Kind::kEventsAnd &&
        !same_groups(before->start, command.workflow->start)) {
      TRY(purges_.begin_groups(*entry, command.space));
      draft_.catalog.renew_groups(draft_.tx, entry->number);
    }
    schedules_.set(now, entry->number, before ? before->start.cron : std::nullopt,
                   command.workflow->start.cron);
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Result<Commands::Progress> Commands::run(TimePoint now, const DeleteWorkflow& command) {
  if (command.leftovers) return finish_deletion(command);
  const WorkflowEntry entry = *TRY(workflow_of(command.space, command.id));
  if (!command.cancel) {
    TRY(refuse_living(
        count_living(entry.space, entry.number),
        {"workflow.has_instances", fmt::format("workflow \"{}\" has living instances", entry.id)}));
  }
  DeleteWorkflow rest = command;
  if (!TRY(cancel_some(now, entry.space, entry.number, rest.sweep))) return rest;
  const VariableOwner owner{
      .scope = VariableScope::kWorkflow, .space = entry.space, .workflow = entry.number};
  if (TRY(erase_variables(draft_.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return rest;
  TRY(remove_workflow(entry, command.space));
  return Json{{"cancelled", rest.sweep.changed}};
}

/// Of which no instance lives any more.
Status Commands::remove_workflow(const WorkflowEntry& entry, const std::string& space) {
  TRY(draft_.waiting.set_start(space, entry.number, {}));
  TRY(purges_.begin_groups(entry, space));
  schedules_.remove(entry.number);
  write_retired(draft_.tx, entry.number, entry.space);
  draft_.catalog.remove_workflow(draft_.tx, entry.number);
  return {};
}

Result<Json> Commands::run(TimePoint now, const StartInstance& command) {
  const WorkflowEntry* const entry = TRY(workflow_of(command.space, command.workflow));
  const std::string& key = command.idempotency_key;
  const Fingerprint input = fingerprint({dump_json(command.input)});
  if (!key.empty()) {
    if (const auto known = TRY(read_idempotency(draft_.tx, entry->number, key))) {
      if (known->input != input) {
        return fail("start.conflict",
                    fmt::format("instance {} was started under this key with another input",
                                to_string(known->instance)));
      }
      return Json{{"id", to_string(known->instance)}, {"created", false}};
    }
  }
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, {entry->number, entry->latest}));
  TRY(instances_.refuse_singular(*entry, *workflow));
  const InstanceId id =
      TRY(instances_.start(now, *entry, *workflow,
                           {.data = command.input,
                            .how = Json{{"by", "call"}, {"revision", entry->latest}},
                            .idempotency_key = key,
                            .origin = {.own_policy = command.own_policy}}));
  if (!key.empty()) {
    write_idempotency(draft_.tx, entry->number, key, {.instance = id, .input = input});
  }
  return Json{{"id", to_string(id)}, {"created", true}};
}

Result<Json> Commands::run(TimePoint now, const TriggerSchedule& command) {
  const WorkflowEntry* const entry = TRY(workflow_of(command.space, command.workflow));
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, {entry->number, entry->latest}));
  if (workflow->start.kind != Start::Kind::kScheduled) {
    return fail("schedule.not_found",
                fmt::format("workflow \"{}\" has no schedule", command.workflow));
  }
  TRY(instances_.refuse_singular(*entry, *workflow));
  const InstanceId id = TRY(instances_.start(
      now, *entry, *workflow,
      {.data = Json::object(),
       .how = Json{{"by", "schedule"}, {"revision", entry->latest}, {"triggered", true}}}));
  return Json{{"id", to_string(id)}};
}

Result<Instance> Commands::instance_of(std::string_view space, const InstanceId& id) const {
  auto instance = TRY(read_instance(draft_.tx, TRY(space_of(space)), id));
  if (instance) return std::move(*instance);
  return fail("instance.not_found",
              fmt::format("there is no instance {} in namespace \"{}\"", to_string(id), space));
}

Result<Json> Commands::step_living(TimePoint now, std::string_view space, const InstanceId& id,
                                   const Stimulus& stimulus, const char* done) {
  Touched* const touched = TRY(instances_.touch_sound(now, TRY(space_of(space)), id));
  if (touched == nullptr || has_ended(touched->instance.status)) {
    const InstanceStatus status =
        touched != nullptr ? touched->instance.status : TRY(instance_of(space, id)).status;
    return fail("instance.ended",
                fmt::format("instance {} has ended already, its status is {}: it cannot be {}; "
                            "`restart` runs it again, `delete` removes it",
                            to_string(id), to_string(status), done));
  }
  const bool changed = TRY(instances_.step(now, *touched, stimulus));
  return Json{{"id", to_string(id)}, {done, changed}};
}

Result<Json> Commands::run(TimePoint now, const CancelInstance& command) {
  return step_living(
      now, command.space, command.instance,
      Cancel{.error = {"direktiv.cancels.api", "cancelled by a call"}, .at_once = command.now},
      "cancelled");
}

Result<Json> Commands::run(TimePoint now, const PauseInstance& command) {
  return step_living(now, command.space, command.instance, Pause{}, "paused");
}

Result<Json> Commands::run(TimePoint now, const ResumeInstance& command) {
  return step_living(now, command.space, command.instance, Resume{}, "resumed");
}

Result<Commands::Ended> Commands::ended_one(TimePoint now, std::string_view space,
                                            const InstanceId& id) {
  const Touched* const touched = TRY(instances_.touch_sound(now, TRY(space_of(space)), id));
  if (touched != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first, or wait "
                            "for its end",
                            to_string(id), to_string(touched->instance.status)));
  }
  Ended ended{.instance = TRY(instance_of(space, id))};
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(ended.instance.revision.workflow);
  if (entry == nullptr) {
    return fail("workflow.not_found",
                fmt::format("the workflow of instance {} was deleted", to_string(id)));
  }
  ended.entry = *entry;
  ended.workflow = TRY(draft_.catalog.definition(draft_.tx, ended.instance.revision));
  if (ended.instance.state >= ended.workflow->states.size()) {
    return tl::unexpected(
        damaged_instance(ended.instance.space, id, "it is in a state that its workflow lacks"));
  }
  return ended;
}

Result<Json> Commands::revive(TimePoint now, Ended ended, const Stimulus& stimulus) {
  const InstanceId id = ended.instance.id;
  Touched* const touched =
      TRY(instances_.revive(ended.entry, *ended.workflow, std::move(ended.instance)));
  TRY(instances_.step(now, *touched, stimulus));
  return Json{{"id", to_string(id)}, {"run", touched->instance.run}};
}

Result<std::optional<LazyJson>> Commands::data_at(const Instance& instance,
                                                  std::string_view state) const {
  if (instance.failed_data && instance.failed_state == state) return instance.failed_data;
  std::optional<LazyJson> data;
  for (HistoryRecord& record : TRY(read_history(draft_.tx, instance))) {
    const bool is_entry = record.kind == HistoryKind::kEntered && record.state == state;
    if (is_entry) data = std::move(record.data);  // none: the last entry neither waited nor acted
  }
  return data;
}

Result<Json> Commands::run(TimePoint now, const RetryInstance& command) {
  Ended ended = TRY(ended_one(now, command.space, command.instance));
  const InstanceStatus status = ended.instance.status;
  if (status != InstanceStatus::kFailed && status != InstanceStatus::kTimedOut) {
    return fail("instance.not_failed",
                fmt::format("instance {} is {}: only one that has failed or timed out can be "
                            "retried; `restart` runs it anew",
                            to_string(command.instance), to_string(status)));
  }
  const auto deadline = execution_deadline(*ended.workflow, ended.instance);
  if (deadline && *deadline <= now && !command.extend) {
    return fail("instance.deadline_passed",
                fmt::format("the execution's deadline was {}; `retry` with ?extend=1 (--extend) "
                            "has it count anew, `restart` runs all of it anew",
                            format_rfc3339(*deadline)));
  }
  const StateIndex state = failed_state_of(*ended.workflow, ended.instance);
  auto data = TRY(data_at(ended.instance, ended.workflow->states[state]->common().id));
  const bool paused = ended.entry.paused;
  return revive(now, std::move(ended),
                Retry{.data = std::move(data), .extend = command.extend, .paused = paused});
}

Result<Json> Commands::run(TimePoint now, const RestartInstance& command) {
  Ended ended = TRY(ended_one(now, command.space, command.instance));
  const bool paused = ended.entry.paused;
  return revive(now, std::move(ended), Restart{.paused = paused});
}

Result<Json> Commands::run(TimePoint now, const RerunInstance& command) {
  Ended ended = TRY(ended_one(now, command.space, command.instance));
  const auto& states = ended.workflow->states;
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
    return state->common().id == command.state;
  });
  if (found == states.end()) {
    return fail("instance.no_state", fmt::format("workflow \"{}\" has no state \"{}\"",
                                                 ended.workflow->id, command.state));
  }
  auto data = TRY(data_at(ended.instance, command.state));
  if (!data) {
    return fail("instance.no_data",
                fmt::format("the history of instance {} does not have the data with which it came "
                            "into \"{}\" last: it has that of states that waited or acted",
                            to_string(command.instance), command.state));
  }
  const auto index = static_cast<StateIndex>(found - states.begin());
  const bool paused = ended.entry.paused;
  return revive(now, std::move(ended),
                Rerun{.state = index, .data = std::move(*data), .paused = paused});
}

Result<std::optional<Instance>> Commands::removable(TimePoint now, NamespaceNumber space,
                                                    const DeleteInstance& command) {
  const auto is_removed = [&](const Error& error) {
    return command.damaged && (is_damaged_row(error) || error.code == "instance.not_found");
  };
  const Result<Touched*> living = instances_.touch_sound(now, space, command.instance);
  if (!living) {
    if (is_removed(living.error())) return std::nullopt;
    return tl::unexpected(living.error());
  }
  if (*living != nullptr) {
    return fail("instance.living",
                fmt::format("instance {} has not ended, its status is {}; cancel it first",
                            to_string(command.instance), to_string((*living)->instance.status)));
  }
  Result<Instance> ended = instance_of(command.space, command.instance);
  if (ended) {
    if (const Status owned = draft_.catalog.check_owner(*ended); !owned) {
      ended = tl::unexpected(owned.error());
    }
  }
  if (ended) return *std::move(ended);
  if (is_removed(ended.error())) return std::nullopt;
  return tl::unexpected(ended.error());
}

Status Commands::erase_history(uint64_t last, const InstanceId& id) {
  PurgeBudget budget;
  const uint64_t left = TRY(purge_history(draft_.tx, last, budget, id));
  if (left != 0) purges_.begin_history(left);
  return {};
}

Result<Commands::Progress> Commands::run(TimePoint now, const DeleteInstance& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  const InstanceId& id = command.instance;
  const std::optional<Instance> ended = TRY(removable(now, space, command));
  const VariableOwner owner{.scope = VariableScope::kInstance, .space = space, .instance = id};
  if (TRY(erase_variables(draft_.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return command;
  if (ended) {
    erase_instance(draft_.tx, *ended);
    TRY(erase_history(ended->last_history, id));
  } else {
    const auto removed = TRY(instances_.remove_damaged(space, id));
    if (removed.rows == 0) TRY(instance_of(command.space, id));  // there is none of that id
    TRY(erase_history(removed.last_history, id));
  }
  return Json{{"id", to_string(id)}, {"deleted", true}};
}

Result<Commands::Progress> Commands::run(TimePoint now, const PauseWorkflow& command) {
  const WorkflowEntry entry = *TRY(workflow_of(command.space, command.id));
  const bool begins = !command.sweep.last;
  if (begins && entry.paused != command.paused) {
    draft_.catalog.pause_workflow(draft_.tx, entry.number, command.paused);
  }
  PauseWorkflow rest = command;
  // Where somebody wanted the opposite since it began, the last word counts.
  const bool paused = begins ? command.paused : entry.paused;
  if (paused == command.paused) {
    const auto is_one = [&](const Instance& head) {
      return head.revision.workflow == entry.number && head.paused != paused && !head.cancelling;
    };
    const Stimulus stimulus = paused ? Stimulus(Pause{}) : Stimulus(Resume{});
    if (!TRY(step_some(now, entry.space, stimulus, is_one, rest.sweep))) return rest;
  }
  return Json{{"id", entry.id}, {"paused", paused}, {"changed", rest.sweep.changed}};
}

Result<bool> Commands::names_service(NamespaceNumber space, std::string_view service) {
  const NamespaceSettings& settings = draft_.catalog.settings(space);
  if (settings.services.contains(service) || settings.paused.contains(service)) return true;
  for (const auto& [number, entry] : draft_.catalog.workflows()) {
    if (entry.space != space) continue;
    const auto workflow = draft_.catalog.definition(draft_.tx, {number, entry.latest});
    if (!workflow && is_damaged_row(workflow.error())) continue;
    for (const auto& state : TRY(workflow)->states) {
      const std::vector<std::string> named = state->services();
      if (std::find(named.begin(), named.end(), service) != named.end()) return true;
    }
  }
  return false;
}

Result<bool> Commands::renew_held(TimePoint now, NamespaceNumber space,
                                  const ServiceNames* services, Sweep& sweep) {
  const auto calls_one = [&](const Instance& head) {
    if (head.calls.empty() || head.cancelling) return false;
    const auto workflow = draft_.catalog.definition(draft_.tx, head.revision);
    if (!workflow || head.state >= (*workflow)->states.size()) return false;  // it is damaged
    const std::vector<std::string> named = (*workflow)->states[head.state]->services();
    return std::any_of(named.begin(), named.end(), [&](const std::string& name) {
      return services == nullptr || services->contains(name);
    });
  };
  const auto some = TRY(instances_.living(space, sweep.last, kSteppedAtOnce, calls_one));
  for (const InstanceId& id : some.ids) {
    Touched* const touched = TRY(instances_.touch(now, space, id));
    if (touched == nullptr) continue;  // it is damaged, and must not keep a service from going on
    TRY(instances_.step(now, *touched, ServicesResumed{services}));
  }
  sweep.last = some.last;
  return !some.last;
}

Result<bool> Commands::renew_held(TimePoint now, NamespaceNumber space,
                                  const NamespaceSettings& settings, CreateNamespace& command) {
  const bool was_unreadable = draft_.catalog.has_unreadable_settings(space);
  ServiceNames resumed = draft_.catalog.settings(space).paused;
  std::erase_if(resumed, [&](const std::string& name) { return settings.paused.contains(name); });
  if (resumed.empty() && !was_unreadable) return true;
  std::vector<NamespaceNumber> spaces = {space};
  // Global services of all namespaces are in the settings of this one.
  if (was_unreadable && command.name == kDefaultNamespace) spaces = draft_.catalog.namespaces();
  const ServiceNames* const services = was_unreadable ? nullptr : &resumed;
  for (const NamespaceNumber one : spaces) {
    if (command.sweeping && one < *command.sweeping) continue;
    command.sweeping = one;
    if (!TRY(renew_held(now, one, services, command.sweep))) return false;
    command.sweep = {};
  }
  return true;
}

Result<Commands::Progress> Commands::run(TimePoint now, const PauseService& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  if (!TRY(names_service(space, command.name))) {
    return fail("function.not_found",
                fmt::format("namespace \"{}\" has no service \"{}\": neither its settings nor the "
                            "newest revision of a workflow names it",
                            command.space, command.name));
  }
  PauseService rest = command;
  const bool resumes =
      !command.paused && draft_.catalog.settings(space).paused.contains(command.name);
  const ServiceNames resumed = {command.name};
  if (resumes && !TRY(renew_held(now, space, &resumed, rest.sweep))) return rest;
  Json settings = Json::object();
  if (const auto record = TRY(read_namespace(draft_.tx, command.space));
      record && !record->settings.empty()) {
    settings = TRY(parse_own_json(record->settings));
  }
  std::set<std::string, std::less<>> paused = draft_.catalog.settings(space).paused;
  const bool changed =
      command.paused ? paused.insert(command.name).second : paused.erase(command.name) > 0;
  settings["paused"] = paused;
  TRY(set_settings(space, settings, TRY(parse_settings(settings))));
  return Json{{"name", command.name}, {"paused", command.paused}, {"changed", changed}};
}

Status Commands::check_webhook_secrets(std::optional<NamespaceNumber> space,
                                       const NamespaceSettings& settings) const {
  for (size_t i = 0; i < settings.webhooks.size(); ++i) {
    const std::string& name = settings.webhooks[i].secret;
    if (name.empty() || (space && has_secret(draft_.tx, *space, name))) continue;
    return fail("settings.invalid",
                fmt::format("webhooks[{}].secret: the namespace has no secret \"{}\"; create the "
                            "namespace, then set the secret (`millrace secret set {}`), then "
                            "these settings",
                            i, name, name));
  }
  return {};
}

Status Commands::set_settings(NamespaceNumber space, const Json& settings,
                              NamespaceSettings parsed) {
  const std::set<std::string, std::less<>> before = draft_.catalog.settings(space).paused;
  const std::set<std::string, std::less<>> after = parsed.paused;
  const bool was_unreadable = draft_.catalog.has_unreadable_settings(space);
  TRY(draft_.catalog.set_settings(draft_.tx, space, dump_json(settings), std::move(parsed)));
  if (was_unreadable) draft_.tasks.resume_all();
  for (const std::string& service : before) {
    if (!after.contains(service)) draft_.tasks.resume(space, service);
  }
  return {};
}

Result<Commands::Progress> Commands::run(TimePoint now, const CreateNamespace& command) {
  std::optional<NamespaceSettings> settings;
  if (command.settings) settings = TRY(parse_settings(*command.settings));
  const auto known = draft_.catalog.find_namespace(command.name);
  if (settings) TRY(check_webhook_secrets(known, *settings));
  const bool exists = known.has_value();
  if (!exists) TRY(draft_.catalog.create_namespace(draft_.tx, command.name, now));
  if (settings) {
    const NamespaceNumber space = *draft_.catalog.find_namespace(command.name);
    CreateNamespace rest = command;
    if (!TRY(renew_held(now, space, *settings, rest))) return rest;
    TRY(set_settings(space, *command.settings, *std::move(settings)));
  }
  Json answer{{"name", command.name}, {"created", !exists}};
  if (command.settings) {
    Json warnings = settings_warnings(*command.settings);
    if (!warnings.empty()) answer["warnings"] = std::move(warnings);
  }
  return answer;
}

Result<Commands::Progress> Commands::run(TimePoint now, const DeleteNamespace& command) {
  if (command.leftovers) return TRY(finish_deletion(command));
  const NamespaceNumber space = TRY(space_of(command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" stays");
  }
  if (!command.cancel) {
    TRY(refuse_living(count_living(space, std::nullopt),
                      {"namespace.not_empty",
                       fmt::format("namespace \"{}\" has living instances", command.name)}));
  }
  DeleteNamespace rest = command;
  if (!TRY(cancel_some(now, space, std::nullopt, rest.sweep))) return rest;
  // Nothing of it works on from here. The rows go with the purge, a little in each batch.
  for (const auto& [number, entry] : draft_.catalog.workflows()) {
    if (entry.space != space) continue;
    TRY(draft_.waiting.set_start(command.name, number, {}));
    draft_.waiting.disarm_schedule(number);
  }
  purges_.begin(space, command.name);
  draft_.catalog.remove_namespace(draft_.tx, space);
  return Json{{"cancelled", rest.sweep.changed}};
}

Result<Json> Commands::finish_deletion(const DeleteNamespace& command) {
  const auto space =
      NamespaceNumber(TRY(given_number(draft_.tx, Counter::kNamespace, command.name)));
  if (draft_.catalog.has_namespace(space)) {
    return fail("leftovers.none",
                fmt::format("namespace \"{}\" has the number {}: it was not deleted; delete it by "
                            "its name, without --leftovers",
                            draft_.catalog.name_of(space), command.name));
  }
  if (!purges_.is_erasing(space)) {
    if (const auto sign = TRY(sign_of_use(draft_.tx, space))) {
      return fail(
          "leftovers.in_use",
          fmt::format("namespace number {} has {}, which no deletion leaves: the row of the "
                      "namespace is lost; restore a backup",
                      command.name, *sign));
    }
    purges_.begin(space, "");
  }
  return Json{{"number", static_cast<uint32_t>(space)}, {"erasing", true}};
}

Result<Commands::Progress> Commands::finish_deletion(const DeleteWorkflow& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  const auto number = WorkflowNumber(TRY(given_number(draft_.tx, Counter::kWorkflow, command.id)));
  std::string known;
  TRY(each_workflow(draft_.tx,
                    [&](NamespaceNumber of, std::string_view id, const WorkflowRecord& record) {
                      if (record.number != number) return;
                      known = fmt::format("workflow \"{}\" of namespace \"{}\" has the number {}",
                                          id, draft_.catalog.name_of(of), command.id);
                    }));
  if (!known.empty()) {
    return fail("leftovers.none",
                known + ": it was not deleted; delete it by its id, without --leftovers");
  }
  if (is_retired(draft_.tx, number) || TRY(next_defined(draft_.tx, number)) != number) {
    return fail("leftovers.none",
                fmt::format("nothing is left to do about workflow number {}", command.id));
  }
  const auto lost = [&](std::string_view what) {
    return fail(
        "leftovers.in_use",
        fmt::format("{}, which no deletion leaves: the row of the workflow is lost; restore "
                    "a backup",
                    what));
  };
  if (draft_.living.any(number)) {
    return lost(fmt::format("workflow number {} has living instances", command.id));
  }
  for (const NamespaceNumber one : TRY(namespaces_with_instances(draft_.tx, Table::kLive))) {
    if (draft_.catalog.has_namespace(one)) continue;
    return lost(
        fmt::format("namespace number {} has no row and living instances, which may be of "
                    "workflow number {}",
                    static_cast<uint32_t>(one), command.id));
  }
  DeleteWorkflow rest = command;
  PurgeBudget budget;
  if (const auto of = TRY(find_ended_of(draft_.tx, number, rest.at, budget))) {
    if (!draft_.catalog.has_namespace(*of)) {
      return fail(
          "leftovers.in_use",
          fmt::format("instances of namespace number {0}, which does not exist, ended by "
                      "workflow number {1}; if the namespace was deleted, erase them first: "
                      "millrace namespace delete {0} --leftovers",
                      static_cast<uint32_t>(*of), command.id));
    }
    if (*of != space) {
      return fail(
          "leftovers.in_use",
          fmt::format("workflow number {} was of namespace \"{}\"; name that one (-n {})",
                      command.id, draft_.catalog.name_of(*of), draft_.catalog.name_of(*of)));
    }
    write_retired(draft_.tx, number, space);  // its instances that ended are shown by it
    return Json{{"number", static_cast<uint32_t>(number)}, {"kept", true}};
  }
  if (!rest.at.empty()) return rest;
  if (!TRY(purge_workflow(draft_.tx, number, budget))) return rest;
  return Json{{"number", static_cast<uint32_t>(number)}, {"kept", false}};
}

Result<VariableOwner> Commands::owner_of(TimePoint now, const VariablePlace& place) {
  VariableOwner owner{.scope = VariableScope::kNamespace, .space = TRY(space_of(place.space))};
  if (place.instance) {
    owner.scope = VariableScope::kInstance;
    owner.instance = *place.instance;
    const Touched* const living = TRY(instances_.touch(now, owner.space, *place.instance));
    if (living == nullptr) TRY(instance_of(place.space, *place.instance));
  } else if (!place.workflow.empty()) {
    owner.scope = VariableScope::kWorkflow;
    owner.workflow = TRY(workflow_of(place.space, place.workflow))->number;
  }
  return owner;
}

Result<Json> Commands::run(TimePoint now, const PutVariable& command) {
  const VariableName name{TRY(owner_of(now, command.place)), command.key};
  write_variable(draft_.tx, name, command.value);
  return Json{{"key", command.key},
              {"size", command.value.bytes.size()},
              {"contentType", command.value.content_type}};
}

Result<Json> Commands::run(TimePoint now, const DeleteVariable& command) {
  const VariableName name{TRY(owner_of(now, command.place)), command.key};
  if (!TRY(read_variable(draft_.tx, name))) return tl::unexpected(no_variable(command.key));
  erase_variable(draft_.tx, name);
  return Json{{"key", command.key}, {"deleted", true}};
}

Result<Json> Commands::run(TimePoint, const PutSecret& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  const bool created = !has_secret(draft_.tx, space, command.name);
  write_secret(draft_.tx, space, command.name, command.value);
  return Json{{"name", command.name}, {"created", created}};
}

Result<Json> Commands::run(TimePoint, const DeleteSecret& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  if (!has_secret(draft_.tx, space, command.name)) {
    return fail("secret.not_found", fmt::format("there is no secret \"{}\" in namespace \"{}\"",
                                                command.name, command.space));
  }
  for (const WebhookSetting& webhook : draft_.catalog.settings(space).webhooks) {
    if (webhook.secret != command.name) continue;
    return fail(
        "secret.in_use",
        fmt::format("the webhook to {} sends the secret \"{}\" as its token; remove it from "
                    "the settings of namespace \"{}\" first",
                    webhook.url, command.name, command.space));
  }
  erase_secret(draft_.tx, space, command.name);
  return Json{{"name", command.name}, {"deleted", true}};
}

size_t Commands::count_living(NamespaceNumber space, std::optional<WorkflowNumber> workflow) const {
  if (workflow) return draft_.living.count(*workflow);
  size_t count = 0;
  for (const auto& [number, entry] : draft_.catalog.workflows()) {
    if (entry.space == space) count += draft_.living.count(number);
  }
  return count;
}

Status Commands::refuse_living(size_t living, const Error& refusal) const {
  if (living == 0) return {};
  return fail(refusal.code, fmt::format("{}: {}; cancel them with it: ?cancel=1, --cancel",
                                        refusal.message, living));
}

/// Cancels as many of the living instances of a workflow, or of the whole namespace, as one batch
/// should. Returns whether none lives any more.
Result<bool> Commands::cancel_some(TimePoint now, NamespaceNumber space,
                                   std::optional<WorkflowNumber> workflow, Sweep& sweep) {
  // Those whose head was damaged at the start are not counted. A namespace has a purge for them.
  const bool may_be_damaged = workflow && draft_.damages.count() > 0;
  if (count_living(space, workflow) == 0 && !may_be_damaged) return true;
  const auto is_one = [&](const Instance& head) {
    return !workflow || head.revision.workflow == *workflow;
  };
  const Cancel cancel{{"direktiv.cancels.api", "cancelled with its workflow"}};
  const bool were_all = TRY(step_some(now, space, cancel, is_one, sweep));
  return count_living(space, workflow) == 0 && (were_all || !may_be_damaged);
}

/// Steps as many of those living for which `is_one` holds as one batch should, behind those that
/// earlier ones came to. Returns whether these were all.
Result<bool> Commands::step_some(TimePoint now, NamespaceNumber space, const Stimulus& stimulus,
                                 const std::function<bool(const Instance& head)>& is_one,
                                 Sweep& sweep) {
  const auto some = TRY(instances_.living(space, sweep.last, kSteppedAtOnce, is_one));
  for (const InstanceId& id : some.ids) {
    const Result<Touched*> sound = instances_.touch_sound(now, space, id);
    if (!sound && is_damaged_row(sound.error())) {
      draft_.damages.note(sound.error());
      // One that is to be cancelled goes with what it belongs to.
      if (std::holds_alternative<Cancel>(stimulus)) {
        TRY(erase_history(TRY(instances_.remove_damaged(space, id)).last_history, id));
      }
      continue;
    }
    Touched* const touched = TRY(sound);
    if (touched == nullptr) continue;
    TRY(instances_.step(now, *touched, stimulus));
  }
  std::optional<InstanceId> last = some.last;
  size_t removed = 0;
  if (std::holds_alternative<Cancel>(stimulus) && draft_.damages.count() > 0) {
    std::vector<InstanceId> doubtful;
    TRY(each_doubtful_head(draft_.tx, space, sweep.last,
                           [&](const InstanceId& id, const Instance& head) {
                             if (some.last && *some.last < id) return false;
                             if (is_one(head)) doubtful.push_back(id);
                             return doubtful.size() < kSteppedAtOnce;
                           }));
    for (const InstanceId& id : doubtful) {
      TRY(erase_history(TRY(instances_.remove_damaged(space, id)).last_history, id));
    }
    removed = doubtful.size();
    if (removed == kSteppedAtOnce) last = doubtful.back();
  }
  sweep.changed += some.ids.size() + removed;
  sweep.last = last;
  return !last;
}

}  // namespace millrace
