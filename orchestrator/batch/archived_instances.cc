#include "orchestrator/batch/archived_instances.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "orchestrator/batch/ended_instances.h"
#include "orchestrator/store/rows/archive_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// From this size on, the archive continues in a new file.
constexpr uint64_t kFileBytes = uint64_t{256} << 20;

/// So many variables of an instance are erased in the same portion as the instance, whatever the
/// budget and the unit of work are; this takes some milliseconds. If they were erased in an earlier
/// batch, and the process ended then, the instance would get another line, without them.
constexpr size_t kVariablesAtOnce = 1'000;

bool is_archived(const BatchState& batch, NamespaceNumber ns) {
  return batch.catalog.settings(ns).retention.archive;
}

/// Counts the variables of the instance in `budget`, because its line has them. So a page has fewer
/// instances if they have many or large variables.
Status count_variables(const BatchState& batch, const Instance& head, PurgeBudget& budget) {
  return each_variable_size(batch.tx, owner_of(head, VariableScope::kInstance), [&](size_t bytes) {
    budget.count(bytes);
    return !budget.is_spent();
  });
}

/// Deletes an instance as delete_ended() does, but returns false only if it had more than
/// kVariablesAtOnce variables. Precondition: `budget.rows` is not 0.
Result<bool> delete_with_variables(BatchState& batch, const Instance& head, DeletionReason reason,
                                   PurgeBudget& budget,
                                   const std::function<void(uint64_t row)>& left) {
  const size_t erased =
      TRY(erase_variables(batch.tx, owner_of(head, VariableScope::kInstance), kVariablesAtOnce));
  // The rest of the budget must be enough for the instance itself, and its unit of work must not
  // end before.
  budget.erase(std::min(erased, budget.rows - 1));
  budget.looked_at = std::max(budget.looked_at, size_t{1});
  budget.bytes = std::max(budget.bytes, size_t{1});
  const WorkBudget* const unit = std::exchange(budget.unit, nullptr);
  const bool is_deleted = TRY(delete_ended(batch, head, reason, budget, left));
  budget.unit = unit;
  return is_deleted;
}

/// To be called after a change of the page: if the page has ended, a pass of the retention that
/// waits for it has steps again.
void let_retention_go_on(BatchState& batch) {
  if (batch.archive.is_free() && batch.retention.is_running) batch.retention.has_steps = true;
}

/// Drops the page at the end of a batch.
void drop_page(BatchState& batch) {
  batch.archive.drop();
  let_retention_go_on(batch);
}

}  // namespace

bool waits_for_archive(const BatchState& batch, NamespaceNumber ns, DeletionReason reason) {
  const ArchiveQueue& queue = batch.archive;
  // The page of the namespace comes first, also if the setting was changed since: it may fail.
  if (!queue.is_free() && queue.ns() == ns) return true;
  const bool is_for_others = reason == DeletionReason::kRequest && queue.is_reserved();
  return (!queue.is_free() || queue.is_failing(ns) || is_for_others) && is_archived(batch, ns);
}

Result<bool> archive_or_delete(BatchState& batch, const Instance& head, DeletionReason reason,
                               PurgeBudget& budget, const std::function<void(uint64_t row)>& left) {
  if (!is_archived(batch, head.ns)) return delete_ended(batch, head, reason, budget, left);
  TRY(count_variables(batch, head, budget));
  batch.archive.add(head, reason);
  if (batch.archive.is_full()) budget.looked_at = 0;
  return true;
}

Status send_archive_page(BatchState& batch) {
  ArchiveQueue& queue = batch.archive;
  const NamespaceNumber ns = queue.ns();
  if (!batch.catalog.has_namespace(ns)) {
    drop_page(batch);  // the namespace was deleted since
    return {};
  }
  const auto stored = read_archive(batch.tx, ns);
  if (!stored && is_damaged_row(stored.error())) {
    // It is not known which lines count, so nothing is archived and nothing is deleted.
    batch.damages.note(stored.error());
    drop_page(batch);
    return {};
  }
  const std::optional<ArchivePosition> before = TRY(stored);
  ArchivePosition at = before.value_or(ArchivePosition());
  if (queue.needs_new_file() || at.length >= kFileBytes) at = {.file = at.file + 1};
  ArchivePage page = queue.take_page(at.file);
  page.name = batch.catalog.name_of(ns);
  page.at = at;
  page.is_new_file = at != before;
  // The row is committed before the file exists, so that a file without committed lines is known.
  if (page.is_new_file) write_archive(batch.tx, ns, at);
  batch.after_commit(std::move(page));
  return {};
}

void apply_archived(BatchState& batch, const ArchivedPage& page, TimePoint now) {
  const NamespaceNumber ns = batch.archive.ns();
  std::map<NamespaceNumber, std::optional<ArchiveFailure>>& ends = batch.outcome.counts.archives;
  switch (batch.archive.apply(page, now)) {
    case PageEnd::kNothing:
      break;
    case PageEnd::kWritten:
      ends[ns] = std::nullopt;
      break;
    case PageEnd::kFailed:
      ends[ns] = ArchiveFailure{.at = now, .error = page.lengths.error()};
      break;
  }
  let_retention_go_on(batch);
}

Status delete_archived(BatchState& batch, const std::function<void(uint64_t row)>& left,
                       const WorkBudget* unit) {
  ArchiveQueue& queue = batch.archive;
  if (queue.next() == nullptr) return {};
  const NamespaceNumber ns = queue.ns();
  if (!batch.catalog.has_namespace(ns)) {
    drop_page(batch);  // the purge of the namespace erases its instances
    return {};
  }
  PurgeBudget budget{.unit = unit};
  std::optional<ArchivePosition> position;
  while (const ArchiveItem* const item = queue.next()) {
    if (budget.is_spent()) break;
    if (item->length) {
      const auto head = TRY(read_deletable(batch, ns, item->id, item->status, budget));
      if (head && head->last_history == item->last_history) {
        // The line counts from the first erased row on.
        position = {.file = queue.file(), .length = *item->length};
        if (!TRY(delete_with_variables(batch, *head, item->reason, budget, left))) break;
        ++batch.outcome.counts.instances_archived;
        if (item->reason == DeletionReason::kRetention) {
          ++batch.outcome.counts.retention[ns].archived;
        }
      }
    }
    queue.pop();
  }
  if (position) write_archive(batch.tx, ns, *position);
  let_retention_go_on(batch);
  return {};
}

}  // namespace millrace
