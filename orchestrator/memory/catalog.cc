#include "orchestrator/memory/catalog.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
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
    // The next run begins in the start state. If the revision of that run waits for other types,
    // their events count from its begin on.
    for (const Exit& exit : state.common().exits) {
      go_to(exit.continue_as_new ? workflow.start.state : exit.transition);
    }
    for (const Catch& entry : state.common().catches) {
      go_to(entry.continue_as_new ? workflow.start.state : entry.transition);
    }
  }
  return {types.begin(), types.end()};
}

/// The types for which some state waits.
AwaitedTypes types_of_all_states(const Workflow& workflow) {
  std::set<std::string> types;
  for (const auto& state : workflow.states) {
    for (std::string& type : state->awaited_types()) types.insert(std::move(type));
  }
  return {types.begin(), types.end()};
}

/// Of how many revisions known_types() collects the types at most, and how many types: about the
/// work of a millisecond.
constexpr size_t kRevisionsAtOnce = 512;
constexpr size_t kTypesAtOnce = 2'048;

/// How many types of all revisions are in memory at most: about 20 MB.
constexpr size_t kTypesInMemory = 250'000;

}  // namespace

void Catalog::note_change(std::optional<WorkflowNumber> workflow) {
  Changes* const changes = changes_.now();
  if (changes == nullptr) return;
  changes->any = true;
  if (workflow) changes->workflows.insert(*workflow);
}

Result<std::set<WorkflowNumber>> Catalog::undo(const View& view) {
  const Changes changes = changes_.take();
  if (!changes.any) return std::set<WorkflowNumber>();
  TRY(load(view));
  // Numbers of uncommitted revisions and workflows are assigned again, so forget their definitions.
  for (const WorkflowNumber workflow : changes.workflows) {
    const WorkflowEntry* const entry = find_workflow(workflow);
    const uint32_t latest = entry != nullptr ? entry->latest : 0;
    definitions_.forget_newer(workflow, latest);
    const auto is_newer = [&](const Revision& revision) {
      return revision.workflow == workflow && revision.number > latest;
    };
    std::erase_if(awaited_, [&](const auto& one) { return is_newer(one.first.first); });
    std::erase_if(known_types_, [&](const auto& one) { return is_newer(one.first); });
  }
  return changes.workflows;
}

Status Catalog::load(const View& view) {
  changes_.take();
  spaces_.clear();
  ns_names_.clear();
  workflows_.clear();
  by_id_.clear();
  settings_.clear();
  unreadable_.clear();
  retaining_.clear();
  Status unique;
  TRY(each_namespace(view, [&](std::string_view name, const NamespaceRecord& record) {
    spaces_.emplace(name, record.number);
    if (!ns_names_.emplace(record.number, name).second && unique) {
      unique = tl::unexpected(
          damaged_row(Table::kNamespaces, name,
                      fmt::format("it has number {}, which namespace \"{}\" also has",
                                  static_cast<uint32_t>(record.number), name_of(record.number))));
    }
    const Result<NamespaceSettings> settings = read_settings(record.settings);
    if (!settings) {
      spdlog::error(
          "the stored settings of namespace \"{}\" cannot be read: {}; its service calls "
          "and webhooks wait until the settings are set again",
          name, settings.error().message);
      unreadable_.insert(record.number);
    } else if (!record.settings.empty()) {
      settings_.emplace(record.number, *settings);
      if (settings->retention.needs_passes()) retaining_.insert(record.number);
    }
  }));
  TRY(unique);
  // The numbers include those of workflows whose namespace is being erased: a purge erases such
  // workflows by their numbers.
  std::map<WorkflowNumber, std::string> numbers;
  TRY(each_workflow(
      view, [&](NamespaceNumber ns, std::string_view id, const WorkflowRecord& record) {
        const auto [known, is_new] = numbers.emplace(record.number, id);
        if (!is_new) {
          unique = tl::unexpected(
              damaged_workflow(ns, id,
                               fmt::format("it has number {}, which workflow \"{}\" also has",
                                           static_cast<uint32_t>(record.number), known->second)));
          return;
        }
        if (!has_namespace(ns)) return;
        workflows_.emplace(record.number,
                           WorkflowEntry{record.number, ns, std::string(id), record.latest,
                                         record.paused, record.groups_from});
        by_id_.emplace(std::pair(ns, std::string(id)), record.number);
      }));
  return unique;
}

std::optional<NamespaceNumber> Catalog::find_namespace(std::string_view name) const {
  const auto found = spaces_.find(name);
  if (found == spaces_.end()) return std::nullopt;
  return found->second;
}

const std::string& Catalog::name_of(NamespaceNumber ns) const {
  static const std::string deleted = "(deleted)";
  const auto found = ns_names_.find(ns);
  return found == ns_names_.end() ? deleted : found->second;
}

std::vector<WorkflowNumber> Catalog::workflows_of(NamespaceNumber ns) const {
  std::vector<WorkflowNumber> numbers;
  for (auto one = by_id_.lower_bound(std::pair(ns, std::string()));
       one != by_id_.end() && one->first.first == ns; ++one) {
    numbers.push_back(one->second);
  }
  return numbers;
}

const WorkflowEntry* Catalog::find_workflow(NamespaceNumber ns, std::string_view id) const {
  const auto found = by_id_.find(std::pair(ns, std::string(id)));
  return found == by_id_.end() ? nullptr : find_workflow(found->second);
}

const WorkflowEntry* Catalog::find_workflow(WorkflowNumber number) const {
  const auto found = workflows_.find(number);
  return found == workflows_.end() ? nullptr : &found->second;
}

Status Catalog::check_owner(const Instance& head) const {
  const WorkflowEntry* const entry = find_workflow(head.revision.workflow);
  if (entry == nullptr || entry->ns == head.ns) return {};
  return tl::unexpected(damaged_instance(
      head.ns, head.id,
      fmt::format("its workflow has number {}, which is \"{}\" in namespace \"{}\"",
                  static_cast<uint32_t>(entry->number), entry->id, name_of(entry->ns))));
}

Result<std::shared_ptr<const Workflow>> Catalog::definition(const View& view, Revision revision) {
  auto workflow = TRY(definitions_.find_or_load(view, revision));
  // A definition from the cache is checked, too: a query may have loaded it, and a query does not
  // check which workflow the definition belongs to.
  const WorkflowEntry* const entry = find_workflow(revision.workflow);
  if (entry != nullptr && entry->id != workflow->id) {
    return tl::unexpected(damaged_definition(
        revision,
        fmt::format("it defines \"{}\" but belongs to workflow \"{}\"", workflow->id, entry->id)));
  }
  return workflow;
}

Result<std::shared_ptr<const AwaitedTypes>> Catalog::awaited(const View& view, Revision revision,
                                                             StateIndex state) {
  if (const auto found = awaited_.find({revision, state}); found != awaited_.end()) {
    return found->second;
  }
  const auto workflow = TRY(definition(view, revision));
  if (state >= workflow->states.size()) {
    return tl::unexpected(damaged_definition(
        revision, fmt::format("it has {} states, and an instance is in state {} (counted from 0)",
                              workflow->states.size(), state)));
  }
  auto types = std::make_shared<const AwaitedTypes>(awaited_types(*workflow, state));
  bound_types(types->size() + 1);
  if (!known_types_.contains(revision)) {
    AwaitedTypes of_all = types_of_all_states(*workflow);
    bound_types(of_all.size());
    known_types_.emplace(revision, std::move(of_all));
  }
  return awaited_[{revision, state}] = std::move(types);
}

/// To be called before so many types are added: forgets all others if they would be too many
/// together. awaited() computes them again.
void Catalog::bound_types(size_t added) {
  types_in_memory_ += added;
  if (types_in_memory_ <= kTypesInMemory) return;
  awaited_.clear();
  known_types_.clear();
  types_in_memory_ = added;
}

std::optional<std::set<std::string>> Catalog::known_types(
    const std::set<Revision>& revisions) const {
  if (revisions.size() > kRevisionsAtOnce) return std::nullopt;
  std::set<std::string> types;
  size_t seen = 0;
  for (const Revision& revision : revisions) {
    const auto known = known_types_.find(revision);
    if (known == known_types_.end()) return std::nullopt;
    seen += known->second.size();
    if (seen > kTypesAtOnce) return std::nullopt;
    types.insert(known->second.begin(), known->second.end());
  }
  return types;
}

Status Catalog::create_namespace(Transaction& tx, const std::string& name, TimePoint now) {
  note_change();
  const uint64_t number = TRY(next_number(tx, Counter::kNamespace));
  write_counter(tx, Counter::kNamespace, number);
  const auto ns = NamespaceNumber(number);
  write_namespace(tx, name, {.number = ns, .created_at = now});
  spaces_.emplace(name, ns);
  ns_names_.emplace(ns, name);
  return {};
}

Status Catalog::set_settings(Transaction& tx, NamespaceNumber ns, std::string text,
                             NamespaceSettings settings) {
  note_change();
  const std::string& name = name_of(ns);
  auto record = TRY(read_namespace(tx, name));
  if (!record) return fail("store.corrupt", fmt::format("namespace \"{}\" has no row", name));
  record->settings = std::move(text);
  write_namespace(tx, name, *record);
  if (settings.retention.needs_passes()) {
    retaining_.insert(ns);
  } else {
    retaining_.erase(ns);
  }
  settings_[ns] = std::move(settings);
  unreadable_.erase(ns);
  return {};
}

const NamespaceSettings& Catalog::settings(NamespaceNumber ns) const {
  static const NamespaceSettings none;
  const auto found = settings_.find(ns);
  return found == settings_.end() ? none : found->second;
}

const HistoryLimits& Catalog::history_limits(NamespaceNumber ns, WorkflowNumber workflow) const {
  const RetentionSettings& retention = settings(ns).retention;
  const WorkflowEntry* const entry =
      retention.workflows.empty() ? nullptr : find_workflow(workflow);
  return entry != nullptr ? retention.history_of(entry->id) : retention.history;
}

std::vector<NamespaceNumber> Catalog::namespaces() const {
  std::vector<NamespaceNumber> found;
  found.reserve(ns_names_.size());
  for (const auto& [number, name] : ns_names_) found.push_back(number);
  return found;
}

NamespaceNumber Catalog::ns_of(NamespaceNumber ns, const NamedService& service) const {
  return service.global ? find_namespace(kDefaultNamespace).value_or(ns) : ns;
}

const ServiceSetting* Catalog::find_service(NamespaceNumber ns, const NamedService& service) const {
  const auto& services = settings(ns_of(ns, service)).services;
  const auto found = services.find(service.name);
  return found == services.end() ? nullptr : &found->second;
}

bool Catalog::is_held(NamespaceNumber ns, const NamedService& service) const {
  return settings(ns).paused.contains(service.name) || has_unreadable_settings(ns) ||
         has_unreadable_settings(ns_of(ns, service));
}

void Catalog::remove_namespace(Transaction& tx, NamespaceNumber ns) {
  const auto found = ns_names_.find(ns);
  if (found == ns_names_.end()) return;
  erase_namespace(tx, found->second);
  note_change();
  for (const WorkflowNumber number : workflows_of(ns)) {
    note_change(number);
    forget_types(number);
    workflows_.erase(number);
  }
  const auto first = by_id_.lower_bound(std::pair(ns, std::string()));
  by_id_.erase(first, std::find_if(first, by_id_.end(),
                                   [&](const auto& one) { return one.first.first != ns; }));
  settings_.erase(ns);
  unreadable_.erase(ns);
  retaining_.erase(ns);
  spaces_.erase(found->second);
  ns_names_.erase(found);
}

Result<bool> Catalog::apply(Transaction& tx, NamespaceNumber ns, const std::string& text,
                            std::shared_ptr<const Workflow> workflow, TimePoint now) {
  const WorkflowEntry* const known = find_workflow(ns, workflow->id);
  WorkflowEntry entry;
  if (known != nullptr) {
    entry = *known;
    const auto newest = read_definition(tx, {entry.number, entry.latest});
    // A damaged newest revision is replaced by the new one.
    if (!newest && !is_damaged_row(newest.error())) return tl::unexpected(newest.error());
    if (newest && *newest && (*newest)->text == text) return false;
  } else {
    const uint64_t number = TRY(next_number(tx, Counter::kWorkflow));
    write_counter(tx, Counter::kWorkflow, number);
    entry = {.number = WorkflowNumber(number), .ns = ns, .id = workflow->id};
  }
  note_change(entry.number);
  const Revision revision{entry.number, ++entry.latest};
  write_definition(tx, revision, {.created_at = now, .text = text});
  write(tx, entry);
  definitions_.add(revision, std::move(workflow), text);
  by_id_[std::pair(ns, entry.id)] = entry.number;
  workflows_[entry.number] = std::move(entry);
  return true;
}

void Catalog::write(Transaction& tx, const WorkflowEntry& entry) {
  write_workflow(tx, entry.ns, entry.id,
                 {.number = entry.number,
                  .latest = entry.latest,
                  .paused = entry.paused,
                  .groups_from = entry.groups_from});
}

void Catalog::renew_groups(Transaction& tx, WorkflowNumber number) {
  const auto found = workflows_.find(number);
  CHECK(found != workflows_.end());
  note_change(number);
  found->second.groups_from = found->second.latest;
  write(tx, found->second);
}

void Catalog::pause_workflow(Transaction& tx, WorkflowNumber number, bool paused) {
  const auto found = workflows_.find(number);
  CHECK(found != workflows_.end());
  note_change(number);
  WorkflowEntry& entry = found->second;
  entry.paused = paused;
  write(tx, entry);
}

void Catalog::remove_workflow(Transaction& tx, WorkflowNumber number) {
  const auto found = workflows_.find(number);
  CHECK(found != workflows_.end());
  note_change(number);
  erase_workflow(tx, found->second.ns, found->second.id);
  by_id_.erase(std::pair(found->second.ns, found->second.id));
  forget_types(number);
  workflows_.erase(found);
}

/// Forgets what awaited() knows of all revisions of the workflow. If the batch is lost, awaited()
/// computes it again.
void Catalog::forget_types(WorkflowNumber number) {
  const Revision first{number, 0};
  const Revision behind{WorkflowNumber(static_cast<uint32_t>(number) + 1), 0};
  awaited_.erase(awaited_.lower_bound({first, 0}), awaited_.lower_bound({behind, 0}));
  known_types_.erase(known_types_.lower_bound(first), known_types_.lower_bound(behind));
}

}  // namespace millrace
