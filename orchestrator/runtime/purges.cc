#include "orchestrator/runtime/purges.h"

#include <limits>
#include <set>
#include <vector>

#include <spdlog/spdlog.h>

#include "orchestrator/store/tables.h"

namespace millrace {

Status Purges::load() {
  jobs_.clear();
  TRY(each_purge(draft_.tx, [&](Purge purge) { jobs_.push_back({.purge = std::move(purge)}); }));
  if (TRY(has_orphans())) {
    spdlog::warn("the store has rows of namespaces that were deleted; they are erased");
    jobs_.push_back({});
  }
  return {};
}

/// Whatever was in a namespace came from a workflow of it, and its definitions are erased last: so
/// they tell whether anything is left, without a look at every row of the store.
Result<bool> Purges::has_orphans() const {
  std::set<NamespaceNumber> purged;
  for (const Job& job : jobs_) {
    if (job.purge && job.purge->kind == Purge::Kind::kNamespace) {
      purged.insert(NamespaceNumber(job.purge->number));
    }
  }
  std::set<WorkflowNumber> known;
  bool found = false;
  TRY(each_workflow(draft_.tx,
                    [&](NamespaceNumber space, std::string_view, const WorkflowRecord& record) {
                      known.insert(record.number);
                      found |= !draft_.catalog.has_namespace(space) && !purged.contains(space);
                    }));
  auto next = TRY(next_defined(draft_.tx, WorkflowNumber(0)));
  while (!found && next) {
    found = !known.contains(*next) && !is_retired(draft_.tx, *next);
    next = TRY(next_defined(draft_.tx, WorkflowNumber(static_cast<uint32_t>(*next) + 1)));
  }
  TRY(draft_.tx.status());
  return found;
}

void Purges::begin(NamespaceNumber space, const std::string& name) {
  const Purge purge{.kind = Purge::Kind::kNamespace,
                    .number = static_cast<uint64_t>(space),
                    .record = {.space = name}};
  write_purge(draft_.tx, purge);
  jobs_.push_front({.purge = purge});
}

void Purges::begin_history(uint64_t row) {
  const Purge purge{.kind = Purge::Kind::kHistory, .number = row, .record = {}};
  write_purge(draft_.tx, purge);
  jobs_.push_back({.purge = purge});
}

Status Purges::go_on() {
  PurgeBudget budget;
  const size_t most = budget.rows;
  while (!jobs_.empty() && !jobs_.front().is_new && !budget.is_spent()) {
    if (!TRY(run(jobs_.front(), budget))) break;
    if (const auto& purge = jobs_.front().purge) erase_purge(draft_.tx, *purge);
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
  // One that is under way has the same row: it goes on as this one.
  std::erase_if(jobs_, [&](const Job& job) {
    return job.purge && job.purge->kind == purge.kind && job.purge->number == purge.number;
  });
  jobs_.push_back({.purge = purge});
  return {};
}

/// Goes on with a job; returns whether it is done.
Result<bool> Purges::run(Job& job, PurgeBudget& budget) {
  if (job.purge && job.purge->kind == Purge::Kind::kGroups) {
    const WorkflowNumber workflow{static_cast<uint32_t>(job.purge->number)};
    return groups_.close(workflow, job.purge->record, TRY(namespace_of(workflow)), job.at, budget);
  }
  if (job.purge && job.purge->kind == Purge::Kind::kHistory) {
    const uint64_t left = TRY(purge_history(draft_.tx, job.purge->number, budget));
    if (left == 0) return true;
    erase_purge(draft_.tx, *job.purge);
    job.purge->number = left;
    write_purge(draft_.tx, *job.purge);
    return false;
  }
  while (TRY(run_step(job, budget))) {
    job.at.clear();
    job.step = Step(static_cast<uint8_t>(job.step) + 1);
    if (job.step != Step::kDone) continue;
    if (job.purge) {
      spdlog::info("all that was in the deleted namespace \"{}\" is erased",
                   job.purge->record.space);
    }
    return true;
  }
  return false;
}

PurgeScope Purges::scope_of(const Job& job) const {
  if (job.purge) return {.only = NamespaceNumber(job.purge->number), .is_gone = {}};
  return {.only = std::nullopt, .is_gone = [this](NamespaceNumber space) {
            return !draft_.catalog.has_namespace(space);
          }};
}

bool Purges::is_known(WorkflowNumber workflow) const {
  return draft_.catalog.find_workflow(workflow) != nullptr || is_retired(draft_.tx, workflow);
}

/// Goes on with the job's step; returns whether that is done.
Result<bool> Purges::run_step(Job& job, PurgeBudget& budget) {
  Transaction& tx = draft_.tx;
  const PurgeScope scope = scope_of(job);
  const auto left = [this](uint64_t row) { begin_history(row); };
  switch (job.step) {
    case Step::kTasks:
      return purge_tasks(tx, scope, job.at, budget, [&](const InstanceId& task) {
        draft_.tasks.end(tx, task);
        draft_.outcome.stopped_tasks.push_back(task);
      });
    case Step::kHooks:
      return purge_hooks(tx, scope, job.at, budget, [&](uint64_t number, const HookRecord& record) {
        draft_.hooks.drop(number, record.at);
      });
    case Step::kDelayed:
      return purge_delayed(tx, scope, job.at, budget,
                           [&](uint64_t number) { draft_.waiting.disarm_delayed(number); });
    case Step::kEnded: {
      if (job.purge) {
        return purge_instances(tx, Table::kEnded, scope, job.at, budget, left, nullptr);
      }
      // Those of a workflow that an earlier release deleted while its namespace stayed.
      const auto kept = [&](const Instance& head) {
        const WorkflowNumber workflow = head.revision.workflow;
        if (!is_known(workflow)) write_retired(tx, workflow, head.space);
      };
      return purge_instances(tx, Table::kEnded, scope, job.at, budget, left, kept);
    }
    case Step::kLive:
      return purge_instances(tx, Table::kLive, scope, job.at, budget, left, nullptr);
    case Step::kWorkflows:
      return purge_workflows(job, budget);
    case Step::kRetired:
      return purge_retired(job, budget);
    case Step::kVariables:
      return purge_values(tx, Table::kVariables, scope, job.at, budget);
    case Step::kSecrets:
      return purge_values(tx, Table::kSecrets, scope, job.at, budget);
    case Step::kDefinitions:
      return job.purge ? true : purge_definitions(budget);
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
  const PurgeScope scope = scope_of(job);
  PurgeRecord groups{.space = job.purge ? job.purge->record.space : std::string(),
                     .up_to = std::numeric_limits<uint64_t>::max()};
  while (!budget.is_spent()) {
    const auto next = TRY(first_workflow(draft_.tx, scope));
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
  const PurgeScope scope = scope_of(job);
  std::vector<WorkflowNumber> retired;
  TRY(each_retired(draft_.tx, [&](WorkflowNumber workflow, NamespaceNumber space) {
    if (scope.has(space)) retired.push_back(workflow);
  }));
  for (const WorkflowNumber workflow : retired) {
    if (!TRY(purge_workflow(draft_.tx, workflow, budget))) return false;
    erase_retired(draft_.tx, workflow);
    budget.erase();
    if (budget.is_spent()) return false;
  }
  return true;
}

/// Those of workflows of which there is nothing else.
Result<bool> Purges::purge_definitions(PurgeBudget& budget) {
  const PurgeRecord groups{.up_to = std::numeric_limits<uint64_t>::max()};
  auto next = TRY(next_defined(draft_.tx, WorkflowNumber(0)));
  while (next) {
    if (!is_known(*next)) {
      std::string at;
      if (!TRY(groups_.close(*next, groups, std::nullopt, at, budget))) return false;
      if (!TRY(purge_workflow(draft_.tx, *next, budget))) return false;
    }
    next = TRY(next_defined(draft_.tx, WorkflowNumber(static_cast<uint32_t>(*next) + 1)));
  }
  TRY(draft_.tx.status());
  return true;
}

}  // namespace millrace
