#include "orchestrator/batch/purges.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "orchestrator/batch/archived_instances.h"
#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/value_piece_rows.h"

namespace millrace {
namespace {

/// The namespace that a purge of Kind::kNamespace erases.
NamespaceNumber ns_of(const Purge& purge) {
  return NamespaceNumber(static_cast<uint32_t>(purge.number));
}

}  // namespace

bool Purges::is_erasing(NamespaceNumber ns) const {
  return std::any_of(
      jobs_.lower_bound(Key{ns, kFirstPlace}), jobs_.upper_bound(Key{ns, kLastPlace}),
      [](const auto& one) { return one.second.purge.kind == Purge::Kind::kNamespace; });
}

/// To be called before the current batch changes, adds or removes the job with that key: keeps the
/// old job for undo().
void Purges::note_change(const Key& key) {
  auto* const before = before_.now();
  if (before == nullptr || before->contains(key)) return;
  const auto found = jobs_.find(key);
  before->emplace(key, found == jobs_.end() ? std::optional<Job>() : std::optional(found->second));
}

void Purges::undo() {
  for (auto& [key, job] : before_.take()) {
    if (job) {
      jobs_.insert_or_assign(key, *std::move(job));
    } else {
      jobs_.erase(key);
    }
  }
}

void Purges::add(NamespaceNumber ns, int64_t place, const Purge& purge) {
  write_purge(batch_.tx, purge);
  const Key key{ns, place};
  note_change(key);
  jobs_.emplace(key, Job{.purge = purge, .started_in = batch_.batches.now()});
}

void Purges::begin(NamespaceNumber ns, const std::string& name) {
  add(ns, --first_place_,
      {.kind = Purge::Kind::kNamespace,
       .number = static_cast<uint64_t>(ns),
       .record = {.ns = name}});
}

void Purges::begin_history(NamespaceNumber ns, uint64_t row) {
  add(ns, ++last_place_, {.kind = Purge::Kind::kHistory, .number = row, .record = {}});
}

/// The job that runs next: the first one that can run, of the first namespace after the one that
/// had the last turn.
Purges::Jobs::iterator Purges::next_job() {
  const auto runs = [this](const auto& one) { return can_run(one.second); };
  const auto behind = jobs_.upper_bound(Key{turn_, kLastPlace});
  const auto next = std::find_if(behind, jobs_.end(), runs);
  if (next != jobs_.end()) return next;
  const auto wrapped = std::find_if(jobs_.begin(), behind, runs);
  return wrapped == behind ? jobs_.end() : wrapped;
}

/// The first job of the namespace that can run.
Purges::Jobs::iterator Purges::next_job_of(NamespaceNumber ns) {
  const auto end = jobs_.upper_bound(Key{ns, kLastPlace});
  const auto next = std::find_if(jobs_.lower_bound(Key{ns, kFirstPlace}), end,
                                 [this](const auto& one) { return can_run(one.second); });
  return next == end ? jobs_.end() : next;
}

bool Purges::can_run(const Job& job) const {
  return job.started_in != batch_.batches.now() && !waits_for_archive(job);
}

Result<bool> Purges::go_on(const WorkBudget* unit) {
  auto next = next_job();
  if (next == jobs_.end()) return false;
  const NamespaceNumber ns = turn_ = next->first.ns;
  PurgeBudget budget{.unit = unit};
  const size_t most = budget.rows;
  for (; next != jobs_.end() && !budget.is_spent(); next = next_job_of(ns)) {
    budget.count(0);
    note_change(next->first);
    if (!TRY(run(ns, next->second, budget))) {
      let_others_run_first(next);
      break;
    }
    erase_purge(batch_.tx, next->second.purge);
    jobs_.erase(next);
  }
  batch_.outcome.counts.rows_purged += most - budget.rows;
  return next_job() != jobs_.end();
}

/// A purge of instances, and that of a namespace which has ended its tasks, lets the other purges
/// of its namespace run first, also those of the histories that it leaves, so that their number
/// does not grow.
void Purges::let_others_run_first(Jobs::iterator job) {
  const Purge::Kind kind = job->second.purge.kind;
  const bool is_of_namespace = kind == Purge::Kind::kNamespace && job->second.step >= Step::kEnded;
  if (kind != Purge::Kind::kInstances && !is_of_namespace) return;
  auto node = jobs_.extract(job);
  node.key().place = ++last_place_;
  note_change(node.key());
  jobs_.insert(std::move(node));
}

Status Purges::begin_groups(const WorkflowEntry& workflow, const std::string& ns) {
  const Purge purge{
      .kind = Purge::Kind::kGroups,
      .number = static_cast<uint64_t>(workflow.number),
      .record = {.ns = ns, .workflow = workflow.id, .up_to = TRY(batch_.last(Counter::kGrouped))}};
  // An unfinished purge of the same groups has the same row: this purge replaces it.
  const auto end = jobs_.upper_bound(Key{workflow.ns, kLastPlace});
  const auto known =
      std::find_if(jobs_.lower_bound(Key{workflow.ns, kFirstPlace}), end, [&](const auto& one) {
        return one.second.purge.kind == purge.kind && one.second.purge.number == purge.number;
      });
  if (known != end) {
    note_change(known->first);
    jobs_.erase(known);
  }
  add(workflow.ns, ++last_place_, purge);
  return {};
}

Status Purges::begin_instances(EndedFilter filter, const std::string& ns,
                               const std::string& workflow) {
  const uint64_t number = TRY(batch_.next(Counter::kHistory));
  const NamespaceNumber of = filter.ns;
  add(of, ++last_place_,
      {.kind = Purge::Kind::kInstances,
       .number = number,
       .record = {.ns = ns, .workflow = workflow, .ended = std::move(filter)}});
  return {};
}

Status Purges::begin_compensations() {
  for (const DroppedCompensations& dropped : std::exchange(batch_.dropped_compensations, {})) {
    const uint64_t number = TRY(batch_.next(Counter::kHistory));
    add(dropped.ns, ++last_place_,
        {.kind = Purge::Kind::kCompensations, .number = number, .record = {.dropped = dropped}});
  }
  return {};
}

void Purges::begin_pieces() {
  for (const Purge& purge : std::exchange(batch_.dropped_pieces, {})) {
    add(purge.record.staged->ns, ++last_place_, purge);
  }
}

/// Continues a purge; returns whether it is finished.
Result<bool> Purges::run(NamespaceNumber ns, Job& job, PurgeBudget& budget) {
  Purge& purge = job.purge;
  if (purge.kind == Purge::Kind::kGroups) {
    const WorkflowNumber workflow{static_cast<uint32_t>(purge.number)};
    const auto of = ns == NamespaceNumber(0) ? std::nullopt : std::optional(ns);
    return groups_.close(workflow, purge.record, of, job.at, budget);
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
  if (purge.kind == Purge::Kind::kCompensations)
    return erase_dropped(*purge.record.dropped, budget);
  if (purge.kind == Purge::Kind::kPieces) return erase_pieces(purge, budget);
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
  const auto left = [&](uint64_t row) { begin_history(ns, row); };
  const auto unknown = [&](WorkflowNumber workflow) { return is_unknown(job, workflow); };
  switch (job.step) {
    case Step::kTasks:
      if (!TRY(purge_tasks(tx, ns, job.at, budget, [&](const InstanceId& task) {
            drop_pieces(batch_, batch_.staged.take(task));
            batch_.tasks.end(tx, task);
            batch_.after_commit(StopTask{task});
          }))) {
        return false;
      }
      return purge_call_slots(tx, ns, budget);
    case Step::kWebhooks:
      return purge_webhooks(tx, ns, job.at, budget,
                            [&](uint64_t number, const WebhookRecord& record) {
                              batch_.webhook_outbox.drop({record.ns, record.at, number});
                            });
    case Step::kDelayed:
      return purge_delayed(tx, ns, job.at, budget,
                           [&](uint64_t number) { batch_.waiting.disarm_delayed(number); });
    case Step::kNames:
      if (job.workflows == nullptr) job.workflows = std::make_shared<std::set<WorkflowNumber>>();
      return see_workflows(tx, ns, job.at, budget,
                           [&](WorkflowNumber workflow) { job.workflows->insert(workflow); });
    case Step::kEnded:
      return purge_instances(tx, Table::kEnded, ns, job.at, budget, left, unknown);
    case Step::kLive:
      return purge_instances(tx, Table::kLive, ns, job.at, budget, left, unknown);
    case Step::kWorkflows:
      return purge_workflows(job, budget);
    case Step::kRetired:
      return purge_retired(tx, ns, job.at, budget);
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

/// Whether no row names the workflow: neither a row of `workflows` nor a row `retired/`.
Result<bool> Purges::is_unknown(Job& job, WorkflowNumber workflow) const {
  if (job.workflows != nullptr && job.workflows->contains(workflow)) return false;
  if (batch_.catalog.find_workflow(workflow) != nullptr) return false;
  if (is_retired(batch_.tx, workflow)) return false;
  // Only leftovers of earlier releases and damaged heads come here.
  if (job.all_workflows == nullptr) {
    job.all_workflows = std::make_shared<const std::set<WorkflowNumber>>(TRY(known_workflows()));
  }
  return !job.all_workflows->contains(workflow);
}

bool Purges::has_work() const {
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [this](const auto& one) { return !waits_for_archive(one.second); });
}

bool Purges::has_earlier() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [this](const auto& one) {
    return one.second.started_in != batch_.batches.now();
  });
}

bool Purges::waits_for_archive(const Job& job) const {
  return job.purge.kind == Purge::Kind::kInstances &&
         millrace::waits_for_archive(batch_, job.purge.record.ended->ns, DeletionReason::kRequest);
}

/// Deletes the instances that the filter selects, by workflow, status and id; returns whether none
/// is left. In a namespace with an archive, adds them to the queue of the archive instead, and is
/// finished when the last of them is deleted.
Result<bool> Purges::delete_instances(Job& job, PurgeBudget& budget) {
  const EndedFilter& filter = *job.purge.record.ended;
  // The instances of a deleted namespace are erased by its own purge.
  if (!batch_.catalog.has_namespace(filter.ns)) return true;
  if (waits_for_archive(job)) return false;
  if (const uint64_t page = batch_.archive.failed_page(filter.ns); page != job.failed_page) {
    job.next = {};  // the instances of the page are still there
    job.failed_page = page;
  }
  const auto left = [&](uint64_t row) { begin_history(filter.ns, row); };
  const bool is_all = TRY(
      each_selected(batch_, filter, job.purge.number, job.next, budget, [&](const Instance& head) {
        return archive_or_delete(batch_, head, DeletionReason::kRequest, budget, left);
      }));
  return is_all && !waits_for_archive(job);
}

/// Erases rows of compensations that the instance no longer has; returns whether none is left. The
/// instance may have noted others since, or may have been deleted. In this batch it may have
/// changed: then its row in the store is out of date, or is not written yet.
Result<bool> Purges::erase_dropped(const DroppedCompensations& dropped, PurgeBudget& budget) {
  // The instances of a deleted namespace are erased by its own purge.
  if (!batch_.catalog.has_namespace(dropped.ns)) return true;
  const auto head = read_head_anywhere(batch_.tx, dropped.ns, dropped.instance);
  if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
  if (!head) {
    // It is not known which ones the instance has. They are erased with it.
    batch_.damages.note(head.error());
    return true;
  }
  const uint32_t stored = *head ? (*head)->compensations : 0;
  const uint32_t kept = std::max(stored, instances_.compensations_of(dropped.instance));
  return purge_compensations(batch_.tx, dropped, kept, budget);
}

/// Erases pieces of values that no variable has; returns whether none is left.
Result<bool> Purges::erase_pieces(const Purge& purge, PurgeBudget& budget) {
  // The variables of a deleted namespace are erased by its own purge.
  if (!batch_.catalog.has_namespace(purge.record.staged->ns)) return true;
  return purge_pieces(batch_.tx, *purge.record.staged, purge.number, budget,
                      batch_.damages.noting());
}

/// Erases the workflows of the namespace, each with the events in its groups.
Result<bool> Purges::purge_workflows(Job& job, PurgeBudget& budget) {
  const NamespaceNumber ns = ns_of(job.purge);
  PurgeRecord groups{.ns = job.purge.record.ns, .up_to = std::numeric_limits<uint64_t>::max()};
  while (!budget.is_spent()) {
    budget.count(0);
    const auto next = TRY(next_workflow(batch_.tx, ns, job.erased));
    if (!next) return true;
    groups.workflow = next->id;
    if (!TRY(groups_.close(next->record.number, groups, next->ns, job.at, budget))) return false;
    job.at.clear();
    if (!TRY(purge_workflow(batch_.tx, next->record.number, budget))) return false;
    erase_workflow(batch_.tx, next->ns, next->id);
    budget.erase();
    job.erased = next->id;
  }
  return false;
}

}  // namespace millrace
