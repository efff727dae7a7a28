// Checks of the catalog: namespaces, workflows, the revisions of their definitions, and schedules.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {
namespace {

/// Of a workflow with more revisions, the check does not compare each of them.
constexpr uint32_t kMostComparedRevisions = 16;

}  // namespace

// Namespaces, workflows, revisions.

void Checker::check_namespaces() {
  each_row(Table::kNamespaces, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kNamespaces, key};
    if (!is_identifier(key)) add(StoreFault::kRowKey, place, "the key is not a name");
    const auto record = decode(place, value, decode_namespace);
    if (!record) return;
    const auto number = static_cast<uint32_t>(record->number);
    if (number == 0) add(StoreFault::kRowValue, place, "the number of the namespace is 0");
    if (record->partition != 0) {
      add(StoreFault::kRowValue, place,
          fmt::format("the namespace is in partition {}, but the only partition is 0",
                      record->partition));
    }
    note_given(Counter::kNamespace, number, place);
    if (purged_.contains(record->number)) {
      add(StoreFault::kRowValue, place, fmt::format("a purge erases namespace {}", number));
    }
    const bool is_first = spaces_.emplace(record->number, key).second;
    if (!is_first) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("the namespace has the number {}, which namespace {} also has", number,
                      name_of(record->number)));
    }
    // When millrace starts for the first time, it creates `default` before the store has an engine
    // time.
    if (key != "default") {
      check_time(record->created_at, place, "the creation of the namespace");
      created_.emplace(record->number, record->created_at);
    }
    if (record->settings.empty()) return;
    if (!check_json(record->settings, place, "the text of the settings")) return;
    const Status read =
        options_.check_settings ? options_.check_settings(record->settings) : Status();
    if (!read) add(StoreFault::kNamespaceSettings, place, read.error().message);
  });
  if (is_over() || counters_[index_of(Counter::kNamespace)] == 0) return;
  if (!view_.get(Table::kNamespaces, "default")) {
    add(StoreFault::kNamespaceMissing, {Table::kNamespaces, "default"},
        "the namespace `default` does not exist");
  }
}

void Checker::check_workflows() {
  each_row(Table::kWorkflows, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kWorkflows, key};
    Reader reader(key);
    const auto ns = NamespaceNumber(reader.u32());
    const std::string id(reader.rest());
    if (!reader.ok() || !is_identifier(id)) {
      add(StoreFault::kRowKey, place, "the key is not a namespace and the id of a workflow");
      return;
    }
    const auto record = decode(place, value, decode_workflow);
    if (!record) return;
    const auto number = static_cast<uint32_t>(record->number);
    if (number == 0 || record->latest == 0 || record->groups_from > record->latest) {
      add(StoreFault::kRowValue, place,
          fmt::format("the number of the workflow is {}, its newest revision {}, the first "
                      "revision with its groups {}",
                      number, record->latest, record->groups_from));
    }
    note_given(Counter::kWorkflow, number, place);
    if (purged_.contains(ns)) {  // the purge may have erased its definitions
      purged_workflows_.insert(record->number);
      return;
    }
    check_namespace(ns, place);
    const WorkflowRow row{
        .ns = ns, .id = id, .latest = record->latest, .groups_from = record->groups_from};
    const auto [known, is_first] = workflows_.emplace(record->number, row);
    homes_.emplace(record->number, ns);
    if (!is_first) {
      add(StoreFault::kNumberTwice, place,
          fmt::format("the workflow has the number {}, which workflow {} in {} also has", number,
                      known->second.id, name_of(known->second.ns)));
    }
  });
}

void Checker::check_definitions() {
  WorkflowNumber of{};               // the workflow of the current revisions
  uint32_t last = 0;                 // the latest revision of that workflow so far
  std::optional<TimePoint> created;  // when that revision was created; nullopt: it does not decode
  std::map<NamespaceNumber, TimePoint> first;  // when the first definition was created
  std::set<WorkflowNumber> without;
  for (const auto& [number, row] : workflows_) without.insert(number);
  for (const auto& [number, ns] : retired_) {
    if (!purged_.contains(ns)) without.insert(number);
  }
  const auto missing = [&](WorkflowNumber number, uint32_t revision) {
    Writer key;
    key.u32(static_cast<uint32_t>(number));
    key.u32(revision);
    add(StoreFault::kDefinitionMissing, {Table::kDefinitions, key.view()},
        fmt::format("revision {} of workflow {} does not exist", revision,
                    static_cast<uint32_t>(number)));
  };
  const auto end = [&] {
    const auto workflow = workflows_.find(of);
    if (workflow != workflows_.end() && last < workflow->second.latest) missing(of, last + 1);
  };
  each_row(Table::kDefinitions, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDefinitions, key};
    Reader reader(key);
    const Revision revision{WorkflowNumber(reader.u32()), reader.u32()};
    if (!reader.done() || revision.number == 0 || static_cast<uint32_t>(revision.workflow) == 0) {
      add(StoreFault::kRowKey, place, "the key is not a workflow number and a revision number");
      return;
    }
    if (purged_workflows_.contains(revision.workflow)) return;
    if (revision.workflow != of) {
      end();
      of = revision.workflow;
      last = 0;
      created.reset();
      without.erase(of);
      note_given(Counter::kWorkflow, static_cast<uint32_t>(of), place);
    }
    if (revision.number != last + 1) missing(of, last + 1);
    if (last == 0 && !workflows_.contains(of) && !retired_.contains(of)) {
      add(StoreFault::kWorkflowMissing, place,
          "the workflow of the definition does not exist, and meta has no row `retired/` for that "
          "workflow");
    }
    last = revision.number;
    const auto before = std::exchange(created, std::nullopt);
    // The definitions of a deleted workflow stay for its ended instances.
    const auto workflow = workflows_.find(of);
    if (workflow != workflows_.end() && revision.number > workflow->second.latest) {
      add(StoreFault::kDefinitionUnknown, place,
          fmt::format("the newest revision of the workflow is {}", workflow->second.latest));
    }
    const auto record = decode(place, value, decode_definition);
    if (!record) return;
    check_time(record->created_at, place, "the creation of the revision");
    created = record->created_at;
    const bool is_in_time = before && (!time_ || *before <= *time_);
    if (is_in_time && *created < *before) {
      add(StoreFault::kRowValue, place,
          fmt::format("the revision was created at {} ms, before the preceding revision, which was "
                      "created at {} ms",
                      to_millis(*created), to_millis(*before)));
    }
    if (workflow != workflows_.end()) {
      TimePoint& earliest = first.emplace(workflow->second.ns, *created).first->second;
      earliest = std::min(earliest, *created);
    }
    if (!options_.load) return;
    const auto loaded = options_.load(record->text);
    if (!loaded) {
      add(StoreFault::kDefinitionUnloadable, place, loaded.error().message);
    } else if (workflow != workflows_.end() && (*loaded)->id != workflow->second.id) {
      add(StoreFault::kDefinitionUnloadable, place,
          fmt::format("the id in the definition is {}, but the id of the workflow is {}",
                      (*loaded)->id, workflow->second.id));
    }
  });
  if (is_over()) return;
  end();
  for (const WorkflowNumber number : without) missing(number, 1);
  check_first_definitions(first);
}

/// Checks the first revision that has the groups of a workflow. Only a revision that replaced
/// groups sets it, so the preceding revision is started by several events. 0: no revision has
/// replaced groups, or an earlier release did not store which one.
void Checker::check_group_revisions() {
  for (const auto& [number, row] : workflows_) {
    if (row.groups_from == 0 || row.groups_from > row.latest) continue;  // see check_workflows()
    if (row.groups_from > 1) {
      const auto before = definition({number, row.groups_from - 1});
      if (before == nullptr || before->start.kind == Start::Kind::kEventsAnd) continue;
    }
    const std::string key = rows::ns_prefix(row.ns).append(row.id);
    add(StoreFault::kRowValue, {Table::kWorkflows, key},
        fmt::format("the first revision with the groups of the workflow is {}, but no revision "
                    "before it has groups that it replaced",
                    row.groups_from));
  }
}

/// Checks that no namespace was created after the first definition of its workflows. A time after
/// the store's time has a finding already.
void Checker::check_first_definitions(const std::map<NamespaceNumber, TimePoint>& first) {
  for (const auto& [ns, created] : created_) {
    const auto found = first.find(ns);
    if (found == first.end() || found->second >= created || (time_ && created > *time_)) continue;
    add(StoreFault::kRowValue, {Table::kNamespaces, spaces_.at(ns)},
        fmt::format("the namespace was created at {} ms, but a definition of one of its workflows "
                    "at {} ms",
                    to_millis(created), to_millis(found->second)));
  }
}

/// Checks that no revision was created after the first start of its instances.
void Checker::check_first_starts() {
  for (const auto& [revision, started] : first_starts_) {
    const auto record = read_definition(view_, revision);
    if (!record || !*record) continue;  // check_definitions() reports it
    const TimePoint created = (*record)->created_at;
    if (created <= started || (time_ && created > *time_)) continue;
    Writer key;
    key.u32(static_cast<uint32_t>(revision.workflow));
    key.u32(revision.number);
    add(StoreFault::kRowValue, {Table::kDefinitions, key.view()},
        fmt::format("the revision was created at {} ms, but an instance of it started at {} ms",
                    to_millis(created), to_millis(started)));
  }
}

/// Checks that a workflow has no second live instance if each of its revisions is singular. The
/// revision of the instance is singular.
void Checker::check_singular(const Walked& one) {
  const WorkflowNumber workflow = one.head->revision.workflow;
  const auto [first, is_first] = singular_.emplace(workflow, one.id);
  if (is_first || !is_always_singular(workflow)) return;
  const std::string key = one.key(Part::kHead);
  add(StoreFault::kInstanceStatus, {one.table, key},
      fmt::format("the instance is live, and instance {} of the same workflow is live, too, but "
                  "each revision of the workflow is singular",
                  to_string(first->second)));
}

/// Whether each revision of the workflow is singular. False if that is not known: a definition does
/// not load, or the workflow was deleted or has too many revisions.
bool Checker::is_always_singular(WorkflowNumber workflow) {
  const auto known = always_singular_.find(workflow);
  if (known != always_singular_.end()) return known->second;
  const auto row = workflows_.find(workflow);
  bool is_singular = row != workflows_.end() && row->second.latest <= kMostComparedRevisions;
  for (uint32_t revision = 1; is_singular && revision <= row->second.latest; ++revision) {
    const auto loaded = definition({workflow, revision});
    is_singular = loaded != nullptr && loaded->singular;
  }
  return always_singular_[workflow] = is_singular;
}

// Schedules.

void Checker::check_schedules() {
  std::set<WorkflowNumber> without;
  for (const auto& [number, row] : workflows_) {
    const auto workflow = newest(number);
    if (workflow != nullptr && workflow->start.cron) without.insert(number);
  }
  each_row(Table::kSchedules, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSchedules, key};
    Reader reader(key);
    const auto number = WorkflowNumber(reader.u32());
    if (!reader.done()) {
      add(StoreFault::kRowKey, place, "the key is not the number of a workflow");
      return;
    }
    if (purged_workflows_.contains(number)) return;
    without.erase(number);
    note_given(Counter::kWorkflow, static_cast<uint32_t>(number), place);
    const auto workflow = newest(number);
    if (!workflows_.contains(number)) {
      add(StoreFault::kWorkflowMissing, place, "the workflow of the schedule does not exist");
    } else if (workflow != nullptr && !workflow->start.cron) {
      add(StoreFault::kScheduleUnknown, place, "the newest revision has no schedule");
    }
    const auto record = decode(place, value, decode_schedule);
    if (!record) return;
    check_time(record->from, place, "the time from which the schedule counts ticks");
    if (record->last) check_time(*record->last, place, "the latest tick of the schedule");
    const bool has_cron = workflow != nullptr && workflow->start.cron;
    if (has_cron && !record->last) check_schedule_start(number, record->from, place);
    const bool is_in_time = record->last && (!time_ || *record->last <= *time_);
    if (is_in_time && *record->last > record->from) {
      add(StoreFault::kRowValue, place,
          "the latest tick of the schedule is later than the time from which the next tick is "
          "counted");
    }
    if (record->first && (!record->last || *record->first > *record->last)) {
      add(StoreFault::kRowValue, place,
          "the first tick of the schedule is later than the latest tick, or there is no latest "
          "tick");
    }
  });
  if (is_over()) return;
  for (const WorkflowNumber number : without) {
    add(StoreFault::kScheduleMissing, {Table::kSchedules, rows::workflow_prefix(number)},
        fmt::format("workflow {} has a schedule, but no row", workflows_.at(number).id));
  }
}

/// Checks the time from which a schedule without a tick counts its first tick: the revision with
/// this schedule was created then. A time after the store's time has a finding already.
void Checker::check_schedule_start(WorkflowNumber number, TimePoint from, const Place& place) {
  const uint32_t latest = workflows_.at(number).latest;
  if (latest > kMostComparedRevisions || (time_ && from > *time_)) return;
  for (uint32_t revision = 1; revision <= latest; ++revision) {
    const auto record = read_definition(view_, {number, revision});
    if (!record || !*record || (*record)->created_at == from) return;
  }
  add(StoreFault::kRowValue, place,
      fmt::format("the schedule has had no tick and counts from {} ms, but no revision of its "
                  "workflow was created then",
                  to_millis(from)));
}

}  // namespace millrace
