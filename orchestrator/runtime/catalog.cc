#include "orchestrator/runtime/catalog.h"

#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "states/state.h"

namespace millrace {
namespace {

AwaitedTypes awaited_types(const Workflow& workflow, StateIndex from) {
  std::set<std::string> types;
  std::vector<bool> seen(workflow.states.size());
  std::vector<StateIndex> left;
  const auto go_to = [&](std::optional<StateIndex> next) {
    if (!next || seen[*next]) return;
    seen[*next] = true;
    left.push_back(*next);
  };
  go_to(from);
  go_to(workflow.timeouts.on_failure);
  if (workflow.retries) go_to(workflow.start.state);
  while (!left.empty()) {
    const State& state = *workflow.states[left.back()];
    left.pop_back();
    for (std::string& type : state.awaited_types()) types.insert(std::move(type));
    for (const Exit& exit : state.common().exits) go_to(exit.transition);
    for (const Catch& entry : state.common().catches) go_to(entry.transition);
  }
  return {types.begin(), types.end()};
}

}  // namespace

Status Catalog::load(const View& view) {
  spaces_.clear();
  space_names_.clear();
  workflows_.clear();
  by_id_.clear();
  settings_.clear();
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    spaces_.emplace(name, record.number);
    space_names_.emplace(record.number, name);
    if (record.settings.empty()) return;
    const Result<Json> text = parse_own_json(record.settings);
    const Result<NamespaceSettings> settings = text ? parse_settings(*text) : fail("", "");
    if (settings) settings_.emplace(record.number, *settings);
  }));
  return each_workflow(
      view, [&](NamespaceNumber space, std::string_view id, const WorkflowRecord& record) {
        workflows_[record.number] = {record.number, space, std::string(id), record.latest,
                                     record.paused};
        by_id_.emplace(std::pair(space, std::string(id)), record.number);
      });
}

std::optional<NamespaceNumber> Catalog::find_namespace(std::string_view name) const {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return std::nullopt;
  return found->second;
}

const std::string& Catalog::name_of(NamespaceNumber space) const {
  const auto found = space_names_.find(space);
  CHECK(found != space_names_.end(), "no namespace has the number {}",
        static_cast<uint32_t>(space));
  return found->second;
}

const WorkflowEntry* Catalog::find_workflow(NamespaceNumber space, std::string_view id) const {
  const auto found = by_id_.find(std::pair(space, std::string(id)));
  return found == by_id_.end() ? nullptr : find_workflow(found->second);
}

const WorkflowEntry* Catalog::find_workflow(WorkflowNumber number) const {
  const auto found = workflows_.find(number);
  return found == workflows_.end() ? nullptr : &found->second;
}

Result<std::shared_ptr<const Workflow>> Catalog::definition(const View& view, Revision revision) {
  auto& cached = definitions_[revision];
  if (cached) return cached;
  const auto record = TRY(read_definition(view, revision));
  if (!record) {
    return fail("store.corrupt",
                fmt::format("revision {} of workflow {} is not in the store", revision.number,
                            static_cast<uint32_t>(revision.workflow)));
  }
  auto workflow = loader_(record->text);
  if (!workflow) {
    return fail("store.corrupt",
                fmt::format("revision {} of workflow {} does not load: {}", revision.number,
                            static_cast<uint32_t>(revision.workflow), workflow.error().message));
  }
  cached = std::move(*workflow);
  return cached;
}

Result<std::shared_ptr<const AwaitedTypes>> Catalog::awaited(const View& view, Revision revision,
                                                             StateIndex state) {
  auto& cached = awaited_[{revision, state}];
  if (!cached) {
    const auto workflow = TRY(definition(view, revision));
    cached = std::make_shared<const AwaitedTypes>(awaited_types(*workflow, state));
  }
  return cached;
}

Status Catalog::create_namespace(Transaction& tx, const std::string& name, TimePoint now) {
  const uint64_t number = TRY(read_counter(tx, Counter::kNamespace)) + 1;
  write_counter(tx, Counter::kNamespace, number);
  const auto space = NamespaceNumber(number);
  write_namespace(tx, name, {.number = space, .created_at = now});
  spaces_.emplace(name, space);
  space_names_.emplace(space, name);
  return {};
}

Status Catalog::set_settings(Transaction& tx, NamespaceNumber space, std::string text,
                             NamespaceSettings settings) {
  const std::string& name = name_of(space);
  auto record = TRY(read_namespace(tx, name));
  CHECK(record.has_value(), "namespace {} has no row", name);
  record->settings = std::move(text);
  write_namespace(tx, name, *record);
  settings_[space] = std::move(settings);
  return {};
}

const NamespaceSettings& Catalog::settings(NamespaceNumber space) const {
  static const NamespaceSettings none;
  const auto found = settings_.find(space);
  return found == settings_.end() ? none : found->second;
}

NamespaceNumber Catalog::space_of(NamespaceNumber space, const NamedService& service) const {
  return service.global ? find_namespace(kDefaultNamespace).value_or(space) : space;
}

const ServiceSetting* Catalog::find_service(NamespaceNumber space,
                                            const NamedService& service) const {
  const auto& services = settings(space_of(space, service)).services;
  const auto found = services.find(service.name);
  return found == services.end() ? nullptr : &found->second;
}

void Catalog::remove_namespace(Transaction& tx, const std::string& name) {
  erase_namespace(tx, name);
  spaces_.erase(name);  // its number keeps its name: instances that ended in it still tell it
}

Result<bool> Catalog::apply(Transaction& tx, NamespaceNumber space, const std::string& text,
                            std::shared_ptr<const Workflow> workflow, TimePoint now) {
  const WorkflowEntry* const known = find_workflow(space, workflow->id);
  WorkflowEntry entry;
  if (known != nullptr) {
    entry = *known;
    const auto newest = TRY(read_definition(tx, {entry.number, entry.latest}));
    if (newest && newest->text == text) return false;
  } else {
    const uint64_t number = TRY(read_counter(tx, Counter::kWorkflow)) + 1;
    write_counter(tx, Counter::kWorkflow, number);
    entry = {.number = WorkflowNumber(number), .space = space, .id = workflow->id};
  }
  const Revision revision{entry.number, ++entry.latest};
  write_definition(tx, revision, {.created_at = now, .text = text});
  write_workflow(tx, space, entry.id,
                 {.number = entry.number, .latest = entry.latest, .paused = entry.paused});
  definitions_[revision] = std::move(workflow);
  by_id_[std::pair(space, entry.id)] = entry.number;
  workflows_[entry.number] = std::move(entry);
  return true;
}

void Catalog::pause_workflow(Transaction& tx, WorkflowNumber number, bool paused) {
  const auto found = workflows_.find(number);
  CHECK(found != workflows_.end());
  WorkflowEntry& entry = found->second;
  entry.paused = paused;
  write_workflow(tx, entry.space, entry.id,
                 {.number = entry.number, .latest = entry.latest, .paused = entry.paused});
}

void Catalog::remove_workflow(Transaction& tx, WorkflowNumber number) {
  const auto found = workflows_.find(number);
  CHECK(found != workflows_.end());
  erase_workflow(tx, found->second.space, found->second.id);
  by_id_.erase(std::pair(found->second.space, found->second.id));
  workflows_.erase(found);
}

}  // namespace millrace
