#include "orchestrator/batch/purges.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// Of a purge of that kind.
NamespaceNumber space_of(const Purge& purge) {
  return NamespaceNumber(static_cast<uint32_t>(purge.number));
}

}  // namespace

Status Purges::load() {
  jobs_.clear();
  std::vector<Purge> purges;
  TRY(each_purge(
      draft_.tx, [&](Purge purge) { purges.push_back(std::move(purge)); },
      draft_.damages.noting()));
  for (Purge& purge : purges) {
    Status sound = check(purge);
    if (!sound && !is_damaged_row(sound.error())) return sound;
    if (sound) {
      jobs_.push_back({.purge = std::move(purge)});
    } else {
      draft_.damages.note(sound.error());
    }
  }
  return hold_lost();
}

/// Whether it is of something that was deleted: what is alive is erased by no row that says so.
Status Purges::check(const Purge& purge) const {
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_purge(purge, what));
  };
  switch (purge.kind) {
    case Purge::Kind::kNamespace:
      return check_namespace(purge);
    case Purge::Kind::kHistory: {
      const auto owner = owner_of_history(draft_.tx, purge.number);
      if (!owner && !is_damaged_row(owner.error())) return tl::unexpected(owner.error());
      if (owner && !*owner) return {};
      return damaged("the instance whose history it would erase is there");
    }
    case Purge::Kind::kGroups:
      return {};  // Groups::close looks at each event
  }
  return {};
}

/// A namespace is deleted when no instance of its workflows lives. Where one does, the row of the
/// namespace is lost, and it was not deleted.
Status Purges::check_namespace(const Purge& purge) const {
  const auto damaged = [&](std::string_view what) {
    return tl::unexpected(damaged_purge(purge, what));
  };
  const auto number = static_cast<uint32_t>(purge.number);
  const NamespaceNumber space{number};
  if (number != purge.number || number == 0) return damaged("it is not the number of a namespace");
  if (draft_.catalog.has_namespace(space)) {
    return damaged(fmt::format("namespace \"{}\" has that number and was not deleted",
                               draft_.catalog.name_of(space)));
  }
  std::set<WorkflowNumber> workflows;
  TRY(each_workflow(draft_.tx, space, [&](std::string_view, const WorkflowRecord& record) {
    workflows.insert(record.number);
  }));
  std::optional<InstanceId> living;
  TRY(each_living(
      draft_.tx, space, std::nullopt,
      [&](const Instance& head) {
        if (workflows.contains(head.revision.workflow)) living = head.id;
        return !living;
      },
      [](const Error&) {}));  // a deletion leaves those, and erases them
  if (!living) return {};
  return damaged(
      fmt::format("instance {} of namespace number {} lives, so the namespace was not "
                  "deleted",
                  to_string(*living), number));
}

/// Everything in a namespace came from a workflow of it, so workflows and definitions tell whether
/// anything belongs to a namespace that is not there and is not being erased: its row is lost. What
/// belongs to it stays as it is.
Status Purges::hold_lost() const {
  const auto is_lost = [&](NamespaceNumber space) {
    return !draft_.catalog.has_namespace(space) && !is_erasing(space);
  };
  std::set<NamespaceNumber> lost;
  TRY(each_workflow(draft_.tx, [&](NamespaceNumber space, std::string_view, const WorkflowRecord&) {
    if (is_lost(space)) lost.insert(space);
  }));
  TRY(each_retired(
      draft_.tx,
      [&](WorkflowNumber, NamespaceNumber space) {
        if (is_lost(space)) lost.insert(space);
      },
      draft_.damages.noting()));
  for (const NamespaceNumber space : lost) {
    draft_.damages.hold(
        {std::string(kDamagedRow),
         fmt::format("table namespaces has no row of number {}, to which workflows belong: its row "
                     "is lost. All that is in the namespace is kept and does not go on; restore a "
                     "backup, or look with `millrace verify`",
                     static_cast<uint32_t>(space))});
  }
  for (const Table table : {Table::kLive, Table::kEnded}) {
    for (const NamespaceNumber space : TRY(namespaces_with_instances(draft_.tx, table))) {
      if (!is_lost(space) || !lost.insert(space).second) continue;
      const auto number = static_cast<uint32_t>(space);
      draft_.damages.note(
          {std::string(kDamagedRow),
           fmt::format("table namespaces has no row of number {}, to which instances belong; they "
                       "are kept and do not go on. If the namespace was deleted, by a release that "
                       "erased no rows, `millrace namespace delete {} --leftovers` erases them; "
                       "else its row is lost: restore a backup",
                       number, number)});
    }
  }
  return note_leftovers();
}

/// Definitions of a workflow that no row names.
Status Purges::note_leftovers() const {
  const std::set<WorkflowNumber> known = TRY(known_workflows());
  for (auto next = TRY(next_defined(draft_.tx, WorkflowNumber(0))); next;
       next = TRY(next_defined(draft_.tx, WorkflowNumber(static_cast<uint32_t>(*next) + 1)))) {
    if (known.contains(*next)) continue;
    const auto number = static_cast<uint32_t>(*next);
    draft_.damages.note(damaged_definition(
        {*next, 0},
        fmt::format("no row of a workflow has its number; its instances and definitions are kept. "
                    "If the workflow was deleted, by a release that noted no deletion, `millrace "
                    "workflow delete {} --leftovers` notes it; else its row is lost: restore a "
                    "backup",
                    number)));
    if (number == std::numeric_limits<uint32_t>::max()) break;
  }
  return draft_.tx.status();
}

Result<std::set<WorkflowNumber>> Purges::known_workflows() const {
  std::set<WorkflowNumber> known;
  TRY(each_workflow(draft_.tx, [&](NamespaceNumber, std::string_view,
                                   const WorkflowRecord& record) { known.insert(record.number); }));
  TRY(each_retired(
      draft_.tx, [&](WorkflowNumber workflow, NamespaceNumber) { known.insert(workflow); },
      draft_.damages.noting()));
  return known;
}

bool Purges::is_erasing(NamespaceNumber space) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) {
    return job.purge.kind == Purge::Kind::kNamespace &&
           job.purge.number == static_cast<uint32_t>(space);
  });
}

/// Notes what there is to do before the batch in hand changes it.
void Purges::note_change() {
  auto* const before = before_.now();
  if (before != nullptr && !*before) *before = jobs_;
}

void Purges::begin(NamespaceNumber space, const std::string& name) {
  const Purge purge{.kind = Purge::Kind::kNamespace,
                    .number = static_cast<uint64_t>(space),
                    .record = {.space = name}};
  write_purge(draft_.tx, purge);
  note_change();
  jobs_.push_front({.purge = purge, .begun_in = draft_.batches.now()});
}

void Purges::begin_history(uint64_t row) {
  const Purge purge{.kind = Purge::Kind::kHistory, .number = row, .record = {}};
  write_purge(draft_.tx, purge);
  note_change();
  jobs_.push_back({.purge = purge, .begun_in = draft_.batches.now()});
}

Status Purges::go_on() {
  PurgeBudget budget;
  const size_t most = budget.rows;
  const uint64_t batch = draft_.batches.now();
  note_change();
  while (!jobs_.empty() && jobs_.front().begun_in != batch && !budget.is_spent()) {
    if (!TRY(run(jobs_.front(), budget))) break;
    erase_purge(draft_.tx, jobs_.front().purge);
    jobs_.pop_front();
  }
  draft_.outcome.counts.rows_purged += most - budget.rows;
  return {};
}

Status Purges::begin_groups(const WorkflowEntry& workflow, const std::string& space) {
  const Purge purge{
      .kind = Purge::Kind::kGroups,
      .number = static_cast<uint64_t>(workflow.number),
      .record = {
          .space = space, .workflow = workflow.id, .up_to = TRY(draft_.last(Counter::kGrouped))}};
  write_purge(draft_.tx, purge);
  note_change();
  // One that is under way has the same row: it goes on as this one.
  std::erase_if(jobs_, [&](const Job& job) {
    return job.purge.kind == purge.kind && job.purge.number == purge.number;
  });
  jobs_.push_back({.purge = purge, .begun_in = draft_.batches.now()});
  return {};
}

/// Goes on with a job; returns whether it is done.
Result<bool> Purges::run(Job& job, PurgeBudget& budget) {
  Purge& purge = job.purge;
  if (purge.kind == Purge::Kind::kGroups) {
    const WorkflowNumber workflow{static_cast<uint32_t>(purge.number)};
    return groups_.close(workflow, purge.record, TRY(namespace_of(workflow)), job.at, budget);
  }
  if (purge.kind == Purge::Kind::kHistory) {
    const uint64_t left = TRY(purge_history(draft_.tx, purge.number, budget));
    if (left == 0) return true;
    erase_purge(draft_.tx, purge);
    purge.number = left;
    write_purge(draft_.tx, purge);
    return false;
  }
  while (TRY(run_step(job, budget))) {
    job.at.clear();
    job.step = Step(static_cast<uint8_t>(job.step) + 1);
    if (job.step != Step::kDone) continue;
    spdlog::info("all rows of the deleted namespace \"{}\" (number {}) are erased",
                 purge.record.space, purge.number);
    return true;
  }
  return false;
}

/// Goes on with the job's step; returns whether that is done.
Result<bool> Purges::run_step(Job& job, PurgeBudget& budget) {
  Transaction& tx = draft_.tx;
  const NamespaceNumber space = space_of(job.purge);
  const auto left = [this](uint64_t row) { begin_history(row); };
  std::optional<std::set<WorkflowNumber>> known;
  const auto is_unknown = [&](WorkflowNumber workflow) -> Result<bool> {
    if (!known) known = TRY(known_workflows());
    return !known->contains(workflow);
  };
  switch (job.step) {
    case Step::kTasks:
      return purge_tasks(tx, space, job.at, budget, [&](const InstanceId& task) {
        draft_.tasks.end(tx, task);
        draft_.after_commit(StopTask{task});
      });
    case Step::kHooks:
      return purge_hooks(tx, space, job.at, budget, [&](uint64_t number, const HookRecord& record) {
        draft_.hooks.drop(number, record.at);
      });
    case Step::kDelayed:
      return purge_delayed(tx, space, job.at, budget,
                           [&](uint64_t number) { draft_.waiting.disarm_delayed(number); });
    case Step::kEnded:
      return purge_instances(tx, Table::kEnded, space, job.at, budget, left, is_unknown);
    case Step::kLive:
      return purge_instances(tx, Table::kLive, space, job.at, budget, left, is_unknown);
    case Step::kWorkflows:
      return purge_workflows(job, budget);
    case Step::kRetired:
      return purge_retired(job, budget);
    case Step::kVariables:
      return purge_values(tx, Table::kVariables, space, job.at, budget);
    case Step::kSecrets:
      return purge_values(tx, Table::kSecrets, space, job.at, budget);
    case Step::kDone:
      break;
  }
  return true;
}

Result<std::optional<NamespaceNumber>> Purges::namespace_of(WorkflowNumber workflow) const {
  if (const auto* const entry = draft_.catalog.find_workflow(workflow)) return entry->space;
  std::optional<NamespaceNumber> found;
  TRY(each_retired(draft_.tx, [&](WorkflowNumber retired, NamespaceNumber space) {
    if (retired == workflow) found = space;
  }));
  return found;
}

/// The workflows that it had, each with the events that waited in its groups.
Result<bool> Purges::purge_workflows(Job& job, PurgeBudget& budget) {
  const NamespaceNumber space = space_of(job.purge);
  PurgeRecord groups{.space = job.purge.record.space,
                     .up_to = std::numeric_limits<uint64_t>::max()};
  while (!budget.is_spent()) {
    const auto next = TRY(first_workflow(draft_.tx, space));
    if (!next) return true;
    groups.workflow = next->id;
    if (!TRY(groups_.close(next->record.number, groups, next->space, job.at, budget))) return false;
    job.at.clear();
    if (!TRY(purge_workflow(draft_.tx, next->record.number, budget))) return false;
    erase_workflow(draft_.tx, next->space, next->id);
    budget.erase();
  }
  return false;
}

/// The workflows that were deleted before it.
Result<bool> Purges::purge_retired(const Job& job, PurgeBudget& budget) {
  const NamespaceNumber space = space_of(job.purge);
  std::vector<WorkflowNumber> retired;
  TRY(each_retired(draft_.tx, [&](WorkflowNumber workflow, NamespaceNumber of) {
    if (of == space) retired.push_back(workflow);
  }));
  for (const WorkflowNumber workflow : retired) {
    if (!TRY(purge_workflow(draft_.tx, workflow, budget))) return false;
    erase_retired(draft_.tx, workflow);
    budget.erase();
    if (budget.is_spent()) return false;
  }
  return true;
}

}  // namespace millrace
