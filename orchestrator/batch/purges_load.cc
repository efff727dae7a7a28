// How a process finds the unfinished purges of the process before it, and which of them it refuses.
#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/purges.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {

Status Purges::load() {
  jobs_.clear();
  before_.take();
  std::vector<Purge> purges;
  TRY(each_purge(
      batch_.tx, [&](Purge purge) { purges.push_back(std::move(purge)); },
      batch_.damages.noting()));
  for (Purge& purge : purges) {
    Status checked = check(purge);
    if (!checked && !is_damaged_row(checked.error())) return checked;
    if (checked) {
      const NamespaceNumber ns = TRY(namespace_of(purge));
      jobs_.emplace(Key{ns, ++last_place_}, Job{.purge = std::move(purge)});
    } else {
      batch_.damages.note(checked.error());
    }
  }
  return hold_lost();
}

/// Checks that the owner of the rows that the purge erases was deleted. A purge row whose owner
/// still exists is damaged.
Status Purges::check(const Purge& purge) const {
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_purge(purge, what));
  };
  switch (purge.kind) {
    case Purge::Kind::kNamespace:
      return check_namespace(purge);
    case Purge::Kind::kHistory: {
      const auto owner = owner_of_history(batch_.tx, purge.number);
      if (!owner && !is_damaged_row(owner.error())) return tl::unexpected(owner.error());
      if (owner && !*owner) return {};
      if (owner && TRY(is_trimmed_row(batch_.tx, **owner, purge.number))) return {};
      return damaged("it would erase history that an existing instance keeps");
    }
    case Purge::Kind::kGroups:
      return {};  // Groups::close checks each event
    case Purge::Kind::kInstances:
      return check_instances(purge);
    case Purge::Kind::kCompensations:
      return {};  // erase_dropped() erases none that an instance has
    case Purge::Kind::kPieces:
      return {};  // purge_pieces() erases none that a variable has
  }
  return {};
}

/// A namespace is deleted only when no instance of its workflows is live. If one is live, the
/// namespace was not deleted, and its row in the table namespaces is lost.
Status Purges::check_namespace(const Purge& purge) const {
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_purge(purge, what));
  };
  const auto number = static_cast<uint32_t>(purge.number);
  const NamespaceNumber ns{number};
  if (number != purge.number || number == 0) return damaged("it is not the number of a namespace");
  if (batch_.catalog.has_namespace(ns)) {
    return damaged(fmt::format("namespace \"{}\" has that number and was not deleted",
                               batch_.catalog.name_of(ns)));
  }
  std::set<WorkflowNumber> workflows;
  TRY(each_workflow(batch_.tx, ns, [&](std::string_view, const WorkflowRecord& record) {
    workflows.insert(record.number);
  }));
  std::optional<InstanceId> live;
  TRY(each_live(
      batch_.tx, ns, std::nullopt,
      [&](const Instance& head) {
        if (workflows.contains(head.revision.workflow)) live = head.id;
        return !live;
      },
      [](const Error&) {}));  // heads that are damaged do not count: a deletion leaves them, and
                              // the purge erases them
  if (!live) return {};
  return damaged(
      fmt::format("instance {} of namespace number {} is live, so the namespace was not "
                  "deleted",
                  to_string(*live), number));
}

/// The names in the record must belong to the numbers in its filter, so that damage to a number
/// does not delete other instances.
Status Purges::check_instances(const Purge& purge) const {
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_purge(purge, what));
  };
  const EndedFilter& filter = *purge.record.ended;
  if (!batch_.catalog.has_namespace(filter.ns)) return {};  // the namespace was deleted since
  if (batch_.catalog.name_of(filter.ns) != purge.record.ns) {
    return damaged("it names a namespace that has another number");
  }
  const bool names_all = purge.record.workflow.empty();
  if (names_all != (filter.workflow == WorkflowNumber(0))) {
    return damaged("it has a workflow without a name, or a name without a workflow");
  }
  if (names_all) return {};
  if (const WorkflowEntry* const entry = batch_.catalog.find_workflow(filter.workflow)) {
    if (entry->ns == filter.ns && entry->id == purge.record.workflow) return {};
    return damaged("it names a workflow that has another number");
  }
  // The workflow was deleted since.
  if (TRY(namespace_of(filter.workflow)).value_or(filter.ns) == filter.ns) return {};
  return damaged("its workflow belonged to another namespace");
}

/// Makes millrace not ready if the row of a namespace is lost. All rows of a namespace came from
/// one of its workflows, so the workflows and definitions show whether a namespace that neither
/// exists nor is being erased still has rows. The rows of such a namespace stay as they are.
Status Purges::hold_lost() const {
  const auto is_lost = [&](NamespaceNumber ns) {
    return !batch_.catalog.has_namespace(ns) && !is_erasing(ns);
  };
  std::set<NamespaceNumber> lost;
  TRY(each_workflow(batch_.tx, [&](NamespaceNumber ns, std::string_view, const WorkflowRecord&) {
    if (is_lost(ns)) lost.insert(ns);
  }));
  TRY(each_retired(
      batch_.tx,
      [&](WorkflowNumber, NamespaceNumber ns) {
        if (is_lost(ns)) lost.insert(ns);
      },
      batch_.damages.noting()));
  for (const NamespaceNumber ns : lost) {
    batch_.damages.hold(
        {std::string(kDamagedRow),
         fmt::format(
             "table namespaces has no row of number {}, and workflows belong to that "
             "namespace: its row is lost. Its data is preserved and its instances do not run; "
             "restore a backup, or inspect the store with `millrace verify`",
             static_cast<uint32_t>(ns))});
  }
  for (const Table table : {Table::kLive, Table::kEnded}) {
    for (const NamespaceNumber ns : TRY(namespaces_with_instances(batch_.tx, table))) {
      if (!is_lost(ns) || !lost.insert(ns).second) continue;
      const auto number = static_cast<uint32_t>(ns);
      batch_.damages.note(
          {std::string(kDamagedRow),
           fmt::format(
               "table namespaces has no row of number {}, and instances belong to that "
               "namespace; they are preserved and do not run. If the namespace was deleted, "
               "by a release that erased no rows, `millrace namespace delete {} --leftovers` "
               "erases them; otherwise its row is lost: restore a backup",
               number, number)});
    }
  }
  return note_leftovers();
}

/// Notes definitions as damage if neither a row of `workflows` nor a row `retired/` names their
/// workflow.
Status Purges::note_leftovers() const {
  const std::set<WorkflowNumber> known = TRY(known_workflows());
  for (auto next = TRY(next_defined(batch_.tx, WorkflowNumber(0))); next;
       next = TRY(next_defined(batch_.tx, WorkflowNumber(static_cast<uint32_t>(*next) + 1)))) {
    if (known.contains(*next)) continue;
    const auto number = static_cast<uint32_t>(*next);
    batch_.damages.note(damaged_definition(
        {*next, 0},
        fmt::format(
            "no row of a workflow has this number; its instances and definitions are "
            "preserved. If the workflow was deleted, by a release that did not record it, "
            "`millrace workflow delete {} --leftovers` records it; otherwise its row is lost: "
            "restore a backup",
            number)));
    if (number == std::numeric_limits<uint32_t>::max()) break;
  }
  return batch_.tx.status();
}

Result<std::set<WorkflowNumber>> Purges::known_workflows() const {
  std::set<WorkflowNumber> known;
  TRY(each_workflow(batch_.tx, [&](NamespaceNumber, std::string_view,
                                   const WorkflowRecord& record) { known.insert(record.number); }));
  TRY(each_retired(
      batch_.tx, [&](WorkflowNumber workflow, NamespaceNumber) { known.insert(workflow); },
      batch_.damages.noting()));
  return known;
}

/// The namespace whose share of the purges the purge uses; 0: not known.
Result<NamespaceNumber> Purges::namespace_of(const Purge& purge) const {
  switch (purge.kind) {
    case Purge::Kind::kNamespace:
      return NamespaceNumber(static_cast<uint32_t>(purge.number));
    case Purge::Kind::kHistory: {
      const auto link = read_history_link(batch_.tx, purge.number);
      if (!link && !is_damaged_row(link.error())) return tl::unexpected(link.error());
      return link && *link ? (*link)->ns : NamespaceNumber(0);
    }
    case Purge::Kind::kGroups: {
      const auto workflow = WorkflowNumber(static_cast<uint32_t>(purge.number));
      return TRY(namespace_of(workflow)).value_or(NamespaceNumber(0));
    }
    case Purge::Kind::kInstances:
      return purge.record.ended->ns;
    case Purge::Kind::kCompensations:
      return purge.record.dropped->ns;
    case Purge::Kind::kPieces:
      return purge.record.staged->ns;
  }
  return NamespaceNumber(0);
}

Result<std::optional<NamespaceNumber>> Purges::namespace_of(WorkflowNumber workflow) const {
  if (const auto* const entry = batch_.catalog.find_workflow(workflow)) return entry->ns;
  std::optional<NamespaceNumber> found;
  TRY(each_retired(batch_.tx, [&](WorkflowNumber retired, NamespaceNumber ns) {
    if (retired == workflow) found = ns;
  }));
  return found;
}

}  // namespace millrace
