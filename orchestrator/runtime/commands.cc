#include "orchestrator/runtime/commands.h"

#include <limits>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "orchestrator/store/secrets.h"
#include "orchestrator/store/variables.h"

namespace millrace {
namespace {

/// How many instances one batch cancels of those that go with their workflow.
constexpr size_t kCancelledAtOnce = 250;

/// And how many variables or secrets it erases of those that go with their owner.
constexpr size_t kErasedAtOnce = 1'000;

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
    before = TRY(draft_.catalog.definition(draft_.tx, {known->number, known->latest}));
  }
  const bool added =
      TRY(draft_.catalog.apply(draft_.tx, space, command.text, command.workflow, now));
  const WorkflowEntry* const entry = draft_.catalog.find_workflow(space, command.workflow->id);
  if (added) {
    draft_.waiting.set_start(command.space, entry->number, command.workflow->start.events);
    if (before && before->start.kind == Start::Kind::kEventsAnd &&
        !same_groups(before->start, command.workflow->start)) {
      TRY(groups_.close_all(*entry, command.space));
    }
    schedules_.set(now, entry->number, before ? before->start.cron : std::nullopt,
                   command.workflow->start.cron);
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Result<Commands::Progress> Commands::run(TimePoint now, const DeleteWorkflow& command) {
  const WorkflowEntry entry = *TRY(workflow_of(command.space, command.id));
  if (!command.cancel) {
    TRY(refuse_living(
        entry.space, entry.number,
        {"workflow.has_instances", fmt::format("workflow \"{}\" has living instances", entry.id)}));
  }
  DeleteWorkflow rest = command;
  const size_t cancelled = TRY(cancel_some(now, entry.space, entry.number));
  rest.cancelled += cancelled;
  if (cancelled == kCancelledAtOnce) return rest;
  const VariableOwner owner{
      .scope = VariableScope::kWorkflow, .space = entry.space, .workflow = entry.number};
  if (TRY(erase_variables(draft_.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return rest;
  TRY(remove_workflow(entry, command.space));
  return Json{{"cancelled", rest.cancelled}};
}

/// Of which no instance lives any more.
Status Commands::remove_workflow(const WorkflowEntry& entry, const std::string& space) {
  draft_.waiting.set_start(space, entry.number, {});
  TRY(groups_.close_all(entry, space));
  schedules_.remove(entry.number);
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
                            .idempotency_key = key}));
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

Result<Json> Commands::run(TimePoint now, const CancelInstance& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  Touched* const touched = TRY(instances_.touch(space, command.instance));
  bool changed = false;
  if (touched != nullptr) {
    changed = TRY(
        instances_.step(now, *touched, Cancel{{"direktiv.cancels.api", "cancelled by a call"}}));
  }
  if (changed) return Json{{"id", to_string(command.instance)}, {"cancelled", true}};
  const InstanceStatus status = touched != nullptr
                                    ? touched->instance.status
                                    : TRY(instance_of(command.space, command.instance)).status;
  if (status == InstanceStatus::kCancelled) {
    return Json{{"id", to_string(command.instance)}, {"cancelled", false}};
  }
  return fail("instance.ended", fmt::format("instance {} has ended already: {}",
                                            to_string(command.instance), to_string(status)));
}

Result<Commands::Progress> Commands::run(TimePoint, const DeleteInstance& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  if (TRY(instances_.touch(space, command.instance)) != nullptr) {
    return fail("instance.living", fmt::format("instance {} has not ended; cancel it first",
                                               to_string(command.instance)));
  }
  const Instance instance = TRY(instance_of(command.space, command.instance));
  const VariableOwner owner = millrace::owner_of(instance, VariableScope::kInstance);
  if (TRY(erase_variables(draft_.tx, owner, kErasedAtOnce)) == kErasedAtOnce) return command;
  TRY(erase_instance(draft_.tx, instance));
  return Json{{"id", to_string(command.instance)}, {"deleted", true}};
}

Result<Json> Commands::run(TimePoint now, const CreateNamespace& command) {
  const bool exists = draft_.catalog.find_namespace(command.name).has_value();
  if (!exists) TRY(draft_.catalog.create_namespace(draft_.tx, command.name, now));
  return Json{{"name", command.name}, {"created", !exists}};
}

Result<Commands::Progress> Commands::run(TimePoint now, const DeleteNamespace& command) {
  const NamespaceNumber space = TRY(space_of(command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" stays");
  }
  if (!command.cancel) {
    TRY(refuse_living(space, std::nullopt,
                      {"namespace.not_empty",
                       fmt::format("namespace \"{}\" has living instances", command.name)}));
  }
  DeleteNamespace rest = command;
  const size_t cancelled = TRY(cancel_some(now, space, std::nullopt));
  rest.cancelled += cancelled;
  if (cancelled == kCancelledAtOnce) return rest;
  if (TRY(erase_all_variables(draft_.tx, space, kErasedAtOnce)) == kErasedAtOnce) return rest;
  if (TRY(erase_secrets(draft_.tx, space, kErasedAtOnce)) == kErasedAtOnce) return rest;
  std::vector<WorkflowEntry> entries;
  for (const auto& [number, entry] : draft_.catalog.workflows()) {
    if (entry.space == space) entries.push_back(entry);
  }
  for (const WorkflowEntry& entry : entries) TRY(remove_workflow(entry, command.name));
  TRY(forget_delayed(space));
  draft_.catalog.remove_namespace(draft_.tx, command.name);
  return Json{{"cancelled", rest.cancelled}};
}

Result<VariableOwner> Commands::owner_of(const VariablePlace& place) {
  VariableOwner owner{.scope = VariableScope::kNamespace, .space = TRY(space_of(place.space))};
  if (place.instance) {
    owner.scope = VariableScope::kInstance;
    owner.instance = *place.instance;
    const Touched* const living = TRY(instances_.touch(owner.space, *place.instance));
    if (living == nullptr) TRY(instance_of(place.space, *place.instance));
  } else if (!place.workflow.empty()) {
    owner.scope = VariableScope::kWorkflow;
    owner.workflow = TRY(workflow_of(place.space, place.workflow))->number;
  }
  return owner;
}

Result<Json> Commands::run(TimePoint, const PutVariable& command) {
  const VariableName name{TRY(owner_of(command.place)), command.key};
  write_variable(draft_.tx, name, command.value);
  return Json{{"key", command.key},
              {"size", command.value.bytes.size()},
              {"contentType", command.value.content_type}};
}

Result<Json> Commands::run(TimePoint, const DeleteVariable& command) {
  const VariableName name{TRY(owner_of(command.place)), command.key};
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
  erase_secret(draft_.tx, space, command.name);
  return Json{{"name", command.name}, {"deleted", true}};
}

/// Events that were to be published later into a namespace that is deleted would go nowhere.
Status Commands::forget_delayed(NamespaceNumber space) {
  std::vector<uint64_t> numbers;
  TRY(each_delayed(draft_.tx, [&](uint64_t number, const DelayedRecord& record) {
    if (record.space == space) numbers.push_back(number);
  }));
  for (const uint64_t number : numbers) {
    erase_delayed(draft_.tx, number);
    draft_.waiting.disarm_delayed(number);
  }
  return {};
}

Status Commands::refuse_living(NamespaceNumber space, std::optional<WorkflowNumber> workflow,
                               const Error& refusal) const {
  const auto living = TRY(instances_.living(space, workflow, std::numeric_limits<size_t>::max()));
  if (living.empty()) return {};
  return fail(refusal.code, fmt::format("{}: {}; cancel them with it: ?cancel=1, --cancel",
                                        refusal.message, living.size()));
}

/// Cancels as many of the living instances of a workflow, or of the whole namespace, as one batch
/// should. Returns how many; fewer than kCancelledAtOnce: these were all.
Result<size_t> Commands::cancel_some(TimePoint now, NamespaceNumber space,
                                     std::optional<WorkflowNumber> workflow) {
  const auto living = TRY(instances_.living(space, workflow, kCancelledAtOnce));
  for (const InstanceId& id : living) {
    Touched* const touched = TRY(instances_.touch(space, id));
    CHECK(touched != nullptr);
    TRY(instances_.step(now, *touched,
                        Cancel{{"direktiv.cancels.api", "cancelled with its workflow"}}));
  }
  return living.size();
}

}  // namespace millrace
