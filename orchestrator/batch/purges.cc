#include "orchestrator/batch/purges.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/batch/archived_instances.h"
#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The namespace that a purge of Kind::kNamespace erases.
NamespaceNumber ns_of(const Purge& purge) {
  return NamespaceNumber(static_cast<uint32_t>(purge.number));
}

}  // namespace

Status Purges::load() {
  jobs_.clear();
  std::vector<Purge> purges;
  TRY(each_purge(
      batch_.tx, [&](Purge purge) { purges.push_back(std::move(purge)); },
      batch_.damages.noting()));
  for (Purge& purge : purges) {
    Status checked = check(purge);
    if (!checked && !is_damaged_row(checked.error())) return checked;
    if (checked) {
      jobs_.push_back({.purge = std::move(purge)});
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

bool Purges::is_erasing(NamespaceNumber ns) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.purge.kind == Purge::Kind::kNamespace &&
           job.purge.number == static_cast<uint32_t>(ns);
  });
}

/// To be called before the current batch changes the list of purges: keeps the old list for undo().
void Purges::note_change() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = jobs_;
}

void Purges::begin(NamespaceNumber ns, const std::string& name) {
  const Purge purge{
      .kind = Purge::Kind::kNamespace, .number = static_cast<uint64_t>(ns), .record = {.ns = name}};
  write_purge(batch_.tx, purge);
  note_change();
  jobs_.push_front({.purge = purge, .started_in = batch_.batches.now()});
}

void Purges::begin_history(uint64_t row) {
  const Purge purge{.kind = Purge::Kind::kHistory, .number = row, .record = {}};
  write_purge(batch_.tx, purge);
  note_change();
  jobs_.push_back({.purge = purge, .started_in = batch_.batches.now()});
}

Status Purges::go_on() {
  PurgeBudget budget;
  const size_t most = budget.rows;
  const uint64_t batch = batch_.batches.now();
  note_change();
  while (!jobs_.empty() && jobs_.front().started_in != batch && !budget.is_spent()) {
    if (!TRY(run(jobs_.front(), budget))) {
      // A purge of instances lets the other purges run first, also those of the histories that it
      // leaves, so that their number does not grow.
      if (jobs_.front().purge.kind == Purge::Kind::kInstances) {
        std::rotate(jobs_.begin(), jobs_.begin() + 1, jobs_.end());
      }
      break;
    }
    erase_purge(batch_.tx, jobs_.front().purge);
    jobs_.pop_front();
  }
  batch_.outcome.counts.rows_purged += most - budget.rows;
  return {};
}

Status Purges::begin_groups(const WorkflowEntry& workflow, const std::string& ns) {
  const Purge purge{
      .kind = Purge::Kind::kGroups,
      .number = static_cast<uint64_t>(workflow.number),
      .record = {.ns = ns, .workflow = workflow.id, .up_to = TRY(batch_.last(Counter::kGrouped))}};
  write_purge(batch_.tx, purge);
  note_change();
  // An unfinished purge of the same groups has the same row: this purge replaces it.
  std::erase_if(jobs_, [&](const Job& job) {
    return job.purge.kind == purge.kind && job.purge.number == purge.number;
  });
  jobs_.push_back({.purge = purge, .started_in = batch_.batches.now()});
  return {};
}

Status Purges::begin_instances(EndedFilter filter, const std::string& ns,
                               const std::string& workflow) {
  const uint64_t number = TRY(batch_.next(Counter::kHistory));
  const Purge purge{.kind = Purge::Kind::kInstances,
                    .number = number,
                    .record = {.ns = ns, .workflow = workflow, .ended = std::move(filter)}};
  write_purge(batch_.tx, purge);
  note_change();
  jobs_.push_back({.purge = purge, .started_in = batch_.batches.now()});
  return {};
}

/// Continues a purge; returns whether it is finished.
Result<bool> Purges::run(Job& job, PurgeBudget& budget) {
  Purge& purge = job.purge;
  if (purge.kind == Purge::Kind::kGroups) {
    const WorkflowNumber workflow{static_cast<uint32_t>(purge.number)};
    return groups_.close(workflow, purge.record, TRY(namespace_of(workflow)), job.at, budget);
  }
  if (purge.kind == Purge::Kind::kHistory) {
    const uint64_t left = TRY(purge_history(batch_.tx, purge.number, budget));
    if (left == 0) return true;
    erase_purge(batch_.tx, purge);
    purge.number = left;
    write_purge(batch_.tx, purge);
    return false;
  }
  if (purge.kind == Purge::Kind::kInstances) return delete_instances(job, budget);
  while (TRY(run_step(job, budget))) {
    job.at.clear();
    job.step = Step(static_cast<uint8_t>(job.step) + 1);
    if (job.step != Step::kDone) continue;
    erase_archive(batch_.tx, ns_of(purge));
    spdlog::info("erased all rows of the deleted namespace \"{}\" (number {})", purge.record.ns,
                 purge.number);
    return true;
  }
  return false;
}

/// Continues the current step of a purge; returns whether the step is finished.
Result<bool> Purges::run_step(Job& job, PurgeBudget& budget) {
  Transaction& tx = batch_.tx;
  const NamespaceNumber ns = ns_of(job.purge);
  const auto left = [this](uint64_t row) { begin_history(row); };
  std::optional<std::set<WorkflowNumber>> known;
  const auto is_unknown = [&](WorkflowNumber workflow) -> Result<bool> {
    if (!known) known = TRY(known_workflows());
    return !known->contains(workflow);
  };
  switch (job.step) {
    case Step::kTasks:
      return purge_tasks(tx, ns, job.at, budget, [&](const InstanceId& task) {
        batch_.tasks.end(tx, task);
        batch_.after_commit(StopTask{task});
      });
    case Step::kWebhooks:
      return purge_webhooks(tx, ns, job.at, budget,
                            [&](uint64_t number, const WebhookRecord& record) {
                              batch_.webhook_outbox.drop({record.ns, record.at, number});
                            });
    case Step::kDelayed:
      return purge_delayed(tx, ns, job.at, budget,
                           [&](uint64_t number) { batch_.waiting.disarm_delayed(number); });
    case Step::kEnded:
      return purge_instances(tx, Table::kEnded, ns, job.at, budget, left, is_unknown);
    case Step::kLive:
      return purge_instances(tx, Table::kLive, ns, job.at, budget, left, is_unknown);
    case Step::kWorkflows:
      return purge_workflows(job, budget);
    case Step::kRetired:
      return purge_retired(job, budget);
    case Step::kVariables:
      return purge_values(tx, Table::kVariables, ns, job.at, budget);
    case Step::kSecrets:
      return purge_values(tx, Table::kSecrets, ns, job.at, budget);
    case Step::kByStatus:
      return purge_values(tx, Table::kByStatus, ns, job.at, budget);
    case Step::kCounts:
      return purge_values(tx, Table::kCounts, ns, job.at, budget);
    case Step::kUsage:
      return purge_values(tx, Table::kUsage, ns, job.at, budget);
    case Step::kDone:
      break;
  }
  return true;
}

bool Purges::has_work() const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [this](const Job& job) { return !waits_for_archive(job); });
}

bool Purges::waits_for_archive(const Job& job) const {
  return job.purge.kind == Purge::Kind::kInstances &&
         millrace::waits_for_archive(batch_, job.purge.record.ended->ns);
}

/// Deletes the instances that the filter selects, by workflow, status and id; returns whether none
/// is left. In a namespace with an archive, adds them to the queue of the archive instead, and is
/// finished when the last of them is deleted.
Result<bool> Purges::delete_instances(Job& job, PurgeBudget& budget) {
  const EndedFilter& filter = *job.purge.record.ended;
  // The instances of a deleted namespace are erased by its own purge.
  if (!batch_.catalog.has_namespace(filter.ns)) return true;
  if (waits_for_archive(job)) return false;
  const auto left = [this](uint64_t row) { begin_history(row); };
  const bool is_all = TRY(
      each_selected(batch_, filter, job.purge.number, job.next, budget, [&](const Instance& head) {
        return archive_or_delete(batch_, head, DeletionReason::kRequest, budget, left);
      }));
  return is_all && batch_.archive.is_free();
}

Result<std::optional<NamespaceNumber>> Purges::namespace_of(WorkflowNumber workflow) const {
  if (const auto* const entry = batch_.catalog.find_workflow(workflow)) return entry->ns;
  std::optional<NamespaceNumber> found;
  TRY(each_retired(batch_.tx, [&](WorkflowNumber retired, NamespaceNumber ns) {
    if (retired == workflow) found = ns;
  }));
  return found;
}

/// Erases the workflows of the namespace, each with the events in its groups.
Result<bool> Purges::purge_workflows(Job& job, PurgeBudget& budget) {
  const NamespaceNumber ns = ns_of(job.purge);
  PurgeRecord groups{.ns = job.purge.record.ns, .up_to = std::numeric_limits<uint64_t>::max()};
  while (!budget.is_spent()) {
    const auto next = TRY(first_workflow(batch_.tx, ns));
    if (!next) return true;
    groups.workflow = next->id;
    if (!TRY(groups_.close(next->record.number, groups, next->ns, job.at, budget))) return false;
    job.at.clear();
    if (!TRY(purge_workflow(batch_.tx, next->record.number, budget))) return false;
    erase_workflow(batch_.tx, next->ns, next->id);
    budget.erase();
  }
  return false;
}

/// Erases the workflows that were deleted before their namespace.
Result<bool> Purges::purge_retired(const Job& job, PurgeBudget& budget) {
  const NamespaceNumber ns = ns_of(job.purge);
  std::vector<WorkflowNumber> retired;
  TRY(each_retired(batch_.tx, [&](WorkflowNumber workflow, NamespaceNumber of) {
    if (of == ns) retired.push_back(workflow);
  }));
  for (const WorkflowNumber workflow : retired) {
    if (!TRY(purge_workflow(batch_.tx, workflow, budget))) return false;
    erase_retired(batch_.tx, workflow);
    budget.erase();
    if (budget.is_spent()) return false;
  }
  return true;
}

}  // namespace millrace
