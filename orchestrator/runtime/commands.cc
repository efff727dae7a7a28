#include "orchestrator/runtime/commands.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"

namespace millrace {

Result<Json> Commands::carry_out(TimePoint now, const Command& command) {
  return std::visit([&](const auto& what) { return run(now, what); }, command);
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
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Result<Json> Commands::run(TimePoint now, const DeleteWorkflow& command) {
  const WorkflowEntry entry = *TRY(workflow_of(command.space, command.id));
  const size_t cancelled = TRY(cancel_living(
      now, entry.space, entry.number, command.cancel,
      {"workflow.has_instances", fmt::format("workflow \"{}\" has living instances", entry.id)}));
  draft_.waiting.set_start(command.space, entry.number, {});
  TRY(groups_.close_all(entry, command.space));
  draft_.catalog.remove_workflow(draft_.tx, entry.number);
  return Json{{"cancelled", cancelled}};
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
  const InstanceId id = TRY(
      instances_.start(now, *entry, *workflow,
                       {.data = command.input, .how = {{"by", "call"}}, .idempotency_key = key}));
  if (!key.empty()) {
    write_idempotency(draft_.tx, entry->number, key, {.instance = id, .input = input});
  }
  return Json{{"id", to_string(id)}, {"created", true}};
}

Result<Json> Commands::run(TimePoint now, const CreateNamespace& command) {
  const bool exists = draft_.catalog.find_namespace(command.name).has_value();
  if (!exists) TRY(draft_.catalog.create_namespace(draft_.tx, command.name, now));
  return Json{{"name", command.name}, {"created", !exists}};
}

Result<Json> Commands::run(TimePoint now, const DeleteNamespace& command) {
  const NamespaceNumber space = TRY(space_of(command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" stays");
  }
  const size_t cancelled = TRY(cancel_living(
      now, space, std::nullopt, command.cancel,
      {"namespace.not_empty", fmt::format("namespace \"{}\" has living instances", command.name)}));
  std::vector<WorkflowEntry> entries;
  for (const auto& [number, entry] : draft_.catalog.workflows()) {
    if (entry.space == space) entries.push_back(entry);
  }
  for (const WorkflowEntry& entry : entries) {
    draft_.waiting.set_start(command.name, entry.number, {});
    TRY(groups_.close_all(entry, command.name));
    draft_.catalog.remove_workflow(draft_.tx, entry.number);
  }
  TRY(forget_delayed(space));
  draft_.catalog.remove_namespace(draft_.tx, command.name);
  return Json{{"cancelled", cancelled}};
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

/// Cancels the living instances of a workflow, or of the whole namespace; refuses if there are some
/// and they may not be.
Result<size_t> Commands::cancel_living(TimePoint now, NamespaceNumber space,
                                       std::optional<WorkflowNumber> workflow, bool may_cancel,
                                       const Error& refusal) {
  const std::vector<InstanceId> living = TRY(instances_.living(space, workflow));
  if (!living.empty() && !may_cancel) {
    return fail(refusal.code, fmt::format("{}: {}; cancel them with it: ?cancel=1, --cancel",
                                          refusal.message, living.size()));
  }
  for (const InstanceId& id : living) {
    Touched* const touched = TRY(instances_.touch(space, id));
    CHECK(touched != nullptr);
    TRY(instances_.step(now, *touched,
                        Cancel{{"direktiv.cancels.api", "cancelled with its workflow"}}));
  }
  return living.size();
}

}  // namespace millrace
