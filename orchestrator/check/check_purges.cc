// Checks of the rows of deletions in the table meta: purges, and deleted workflows whose
// definitions stay.
#include <optional>
#include <string>
#include <utility>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {
namespace {

/// Whether the record has a value in a field that purges of this kind do not have.
bool has_unused_field(Purge::Kind kind, const PurgeRecord& record) {
  const bool has_ns = kind != Purge::Kind::kHistory && kind != Purge::Kind::kCompensations &&
                      kind != Purge::Kind::kPieces;
  const bool has_workflow = kind == Purge::Kind::kGroups || kind == Purge::Kind::kInstances;
  return (!has_ns && !record.ns.empty()) || (!has_workflow && !record.workflow.empty()) ||
         (kind != Purge::Kind::kGroups && record.up_to != 0);
}

}  // namespace

/// Checks a row `purge/`. The counters have been read already, because their keys come before the
/// keys `purge/`.
void Checker::check_purge(const Place& place, std::string_view value) {
  Reader reader(place.key.substr(kPurgeKey.size()));
  const auto kind = Purge::Kind(reader.u8());
  const uint64_t number = reader.u64();
  const bool is_namespace = kind == Purge::Kind::kNamespace;
  // The numbers of kHistory, kInstances, kCompensations and kPieces are those of history rows.
  const bool is_of_history = !is_namespace && kind != Purge::Kind::kGroups;
  const bool is_short = number <= UINT32_MAX;  // fits a namespace or workflow number
  if (!reader.done() || number == 0 || kind > Purge::kLastKind || (!is_of_history && !is_short)) {
    add(StoreFault::kRowKey, place, "the key is not a kind of purge and a number");
    return;
  }
  const Counter counter = is_namespace    ? Counter::kNamespace
                          : is_of_history ? Counter::kHistory
                                          : Counter::kWorkflow;
  note_given(counter, number, place);
  const auto record = decode(place, value, decode_purge);
  if (record && !is_record_of(kind, *record)) {
    add(StoreFault::kRowRecord, place, "the record is that of another kind of purge");
    return;
  }
  if (record && has_unused_field(kind, *record)) {
    add(StoreFault::kRowValue, place,
        "the row has a value in a field that a purge of this kind does not have");
  }
  if (is_namespace) {
    purged_.insert(NamespaceNumber(static_cast<uint32_t>(number)));
  } else if (kind == Purge::Kind::kGroups && record) {
    note_given(Counter::kGrouped, record->up_to, place);
    closing_[WorkflowNumber(static_cast<uint32_t>(number))] = record->up_to;
  }
  if (!record) return;
  if (kind != Purge::Kind::kHistory && !record->ns.empty() && !is_identifier(record->ns)) {
    add(StoreFault::kRowValue, place, "the name of the namespace in the row is not valid");
  }
  if (kind == Purge::Kind::kGroups) {
    group_purges_.emplace(WorkflowNumber(static_cast<uint32_t>(number)), *record);
  }
  if (kind == Purge::Kind::kInstances) instance_purges_.emplace(number, *record);
  if (record->dropped || record->staged) check_purge_of_rows(place, number, *record);
  if (kind != Purge::Kind::kHistory) return;
  for (uint64_t next = number; next != 0;) {
    const std::string key = rows::key_of(next);
    const auto bytes = view_.get(Table::kHistory, key);
    if (!bytes) {
      if (next == number) {
        add(StoreFault::kPurgeTarget, place, fmt::format("history row {} does not exist", number));
      }
      return;
    }
    chained_.insert(next);
    if (!erased_.insert(next)) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("another purge erases history row {}, too", next));
      return;
    }
    const auto row = rows::decode(view_, Table::kHistory, key, *bytes, decode_history);
    if (!row || row->previous >= next) return;  // the check of the history rows reports this
    next = row->previous;
  }
}

/// Checks a purge of compensations, or of pieces of values. Such rows are then no findings.
void Checker::check_purge_of_rows(const Place& place, uint64_t number, const PurgeRecord& record) {
  NamespaceNumber ns{};
  if (record.dropped) {
    note_minor(kMinorOfDroppedCompensations, "purges of compensations");
    ns = record.dropped->ns;
    dropped_.emplace(ns, record.dropped->instance);
  } else {
    note_minor(kMinorOfValuePieces, "purges of pieces of values");
    ns = record.staged->ns;
    note_given(Counter::kWorkflow, static_cast<uint32_t>(record.staged->workflow), place);
    staged_.insert(number);
  }
  note_given(Counter::kNamespace, static_cast<uint32_t>(ns), place);
  if (ns == NamespaceNumber(0)) add(StoreFault::kRowValue, place, "the row names no namespace");
  if (!view_.get(Table::kHistory, rows::key_of(number))) return;
  add(StoreFault::kPurgeTarget, place,
      fmt::format("history row {} exists, but a purge of {} has a number of its own", number,
                  record.dropped ? "compensations" : "pieces of values"));
}

/// The namespace and the id of a workflow, which may have been deleted; nullopt: they are not
/// known.
std::optional<std::pair<NamespaceNumber, std::string>> Checker::identity_of(WorkflowNumber number) {
  const auto row = workflows_.find(number);
  if (row != workflows_.end()) return std::pair(row->second.ns, row->second.id);
  const auto retired = retired_.find(number);
  if (retired == retired_.end()) return std::nullopt;
  const auto first = definition({number, 1});
  if (first == nullptr) return std::nullopt;
  return std::pair(retired->second, first->id);
}

/// Checks that the row of a purge names the workflow that has its number.
void Checker::check_purge_of(const Place& place, const PurgeRecord& record,
                             const std::pair<NamespaceNumber, std::string>& workflow) {
  const auto& [ns, id] = workflow;
  if (record.workflow == id && record.ns == name_of(ns)) return;
  add(StoreFault::kPurgeTarget, place,
      fmt::format("the row names workflow {} in {}, but its number belongs to {} in {}",
                  record.workflow, record.ns, id, name_of(ns)));
}

/// Checks that each purge of groups names its workflow correctly, and that a revision has replaced
/// the groups of that workflow. A purge without names makes no dead letters.
void Checker::check_group_purges() {
  for (const auto& [number, record] : group_purges_) {
    const auto known = identity_of(number);
    if (!known) continue;  // the namespace of the workflow was deleted
    Writer key;
    key.raw(kPurgeKey);
    key.u8(static_cast<uint8_t>(Purge::Kind::kGroups));
    key.u64(static_cast<uint32_t>(number));
    const Place place{Table::kMeta, key.view()};
    const auto row = workflows_.find(number);
    if (row == workflows_.end() && (record.ns.empty() || !spaces_.contains(known->first))) continue;
    const uint64_t findings = report_.count();
    check_purge_of(place, record, *known);
    if (row == workflows_.end() || report_.count() > findings) continue;
    if (row->second.groups_from == 0) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("workflow {} still has its first groups, so no groups were closed",
                      row->second.id));
    }
  }
}

/// Checks that no history row has the number of a purge of instances, and that each such purge
/// names its namespace and its workflow correctly.
void Checker::check_instance_purges() {
  for (const auto& [number, record] : instance_purges_) {
    const EndedFilter& filter = *record.ended;
    Writer key;
    key.raw(kPurgeKey);
    key.u8(static_cast<uint8_t>(Purge::Kind::kInstances));
    key.u64(number);
    const Place place{Table::kMeta, key.view()};
    note_given(Counter::kNamespace, static_cast<uint32_t>(filter.ns), place);
    note_given(Counter::kWorkflow, static_cast<uint32_t>(filter.workflow), place);
    if (view_.get(Table::kHistory, rows::key_of(number))) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("history row {} exists, but a purge of instances has a number of its own",
                      number));
    }
    if (filter.ns == NamespaceNumber(0)) {
      add(StoreFault::kRowValue, place, "the row names no namespace");
    }
    if (!spaces_.contains(filter.ns)) continue;  // the namespace was deleted
    if (record.ns != name_of(filter.ns)) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("the row names the namespace {}, but its number belongs to {}", record.ns,
                      name_of(filter.ns)));
    }
    if (record.workflow.empty() != (filter.workflow == WorkflowNumber(0))) {
      add(StoreFault::kPurgeTarget, place,
          "the row has a workflow without a name, or a name without a workflow");
    }
    if (filter.workflow == WorkflowNumber(0)) continue;  // all workflows
    if (!workflows_.contains(filter.workflow) && !retired_.contains(filter.workflow)) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("the row names workflow {}, but no workflow has the number {}",
                      record.workflow, static_cast<uint32_t>(filter.workflow)));
      continue;
    }
    const auto known = identity_of(filter.workflow);
    const bool fits = !known || (known->first == filter.ns && known->second == record.workflow);
    if (!fits) check_purge_of(place, record, *known);
  }
}

void Checker::check_retired(const Place& place, std::string_view value) {
  Reader key(place.key.substr(kRetiredKey.size()));
  const auto workflow = WorkflowNumber(key.u32());
  if (!key.done() || static_cast<uint32_t>(workflow) == 0) {
    add(StoreFault::kRowKey, place, "the key is not the number of a workflow");
    return;
  }
  note_given(Counter::kWorkflow, static_cast<uint32_t>(workflow), place);
  Reader reader(value);
  const auto ns = NamespaceNumber(reader.u32());
  if (!reader.done()) {
    add(StoreFault::kRowRecord, place,
        fmt::format("the row has {} bytes, expected a namespace number of 4 bytes", value.size()));
    return;
  }
  retired_.emplace(workflow, ns);
  homes_.emplace(workflow, ns);
  if (purged_.contains(ns)) purged_workflows_.insert(workflow);  // rows `purge/` were read before
}

void Checker::check_retired_workflows() {
  for (const auto& [number, ns] : retired_) {
    const std::string key = std::string(kRetiredKey).append(rows::workflow_prefix(number));
    const Place place{Table::kMeta, key};
    check_namespace(ns, place);
    if (!workflows_.contains(number)) continue;
    add(StoreFault::kNumberTwice, place,
        fmt::format("workflow {} has the number of a deleted workflow", workflows_.at(number).id));
  }
}

}  // namespace millrace
