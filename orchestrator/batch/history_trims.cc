#include "orchestrator/batch/history_trims.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"

namespace millrace {
namespace {

/// How many history rows one batch looks at. A look reads the beginning of the row only (of a
/// sealed row the whole row), so this takes about a millisecond.
constexpr size_t kLinksInABatch = 1'000;

/// How many unfinished walks are kept. An instance that is not written again never finishes its
/// walk.
constexpr size_t kMostWalks = 1'000;

/// How many instances of a namespace are noted by their ids.
constexpr size_t kMostLeft = 1'000;

bool is_above(uint64_t count, const std::optional<uint64_t>& limit) {
  return limit && count / 2 >= *limit && count > 2 * *limit;
}

bool is_reached(uint64_t count, const std::optional<uint64_t>& limit) {
  return limit && count >= *limit;
}

std::optional<uint64_t> rest_of(const std::optional<uint64_t>& limit, uint64_t counted) {
  if (!limit) return std::nullopt;
  return *limit > counted ? *limit - counted : 0;
}

}  // namespace

bool is_too_long(const Instance& instance, const HistoryLimits& limits) {
  return is_above(instance.history_count - instance.history_trimmed, limits.records) ||
         is_above(instance.history_bytes, limits.bytes);
}

Status HistoryTrims::trim(Instance& instance) {
  const HistoryLimits& limits =
      batch_.catalog.history_limits(instance.ns, instance.revision.workflow);
  if (!is_too_long(instance, limits)) return {};
  begin_looking();
  if (batch_.trims_histories && rows_left_ > 0) {
    Walk walk;
    const Result<bool> done = continue_walk(instance, limits, Cut::kBetweenRows, walk);
    if (!done) TRY(batch_.damages.pass_over(Status(tl::unexpected(done.error()))));
  }
  if (is_too_long(instance, limits)) note_left(instance);
  return {};
}

Result<bool> HistoryTrims::trim_stored(Instance& head, PurgeBudget& budget) {
  const HistoryLimits& limits = batch_.catalog.history_limits(head.ns, head.revision.workflow);
  if (!is_too_long(head, limits)) return true;
  begin_looking();
  if (rows_left_ == 0) return false;
  Walk walk;
  const Result<bool> done = continue_walk(head, limits, Cut::kWithinRow, walk);
  budget.count(walk.bytes);
  if (done) return *done;
  TRY(batch_.damages.pass_over(Status(tl::unexpected(done.error()))));
  return true;
}

std::optional<std::vector<InstanceId>> HistoryTrims::take_left(NamespaceNumber ns) {
  const auto found = left_.find(ns);
  if (found == left_.end()) return std::vector<InstanceId>();
  const std::set<InstanceId> left = std::move(found->second);
  left_.erase(found);
  if (left.size() > kMostLeft) return std::nullopt;
  return std::vector<InstanceId>(left.begin(), left.end());
}

/// To be called before rows are looked at: each batch may look at a number of rows.
void HistoryTrims::begin_looking() {
  if (std::exchange(looked_in_, batch_.batches.now()) != batch_.batches.now()) {
    rows_left_ = kLinksInABatch;
  }
}

void HistoryTrims::note_left(const Instance& instance) {
  std::set<InstanceId>& left = left_[instance.ns];
  if (left.size() <= kMostLeft) left.insert(instance.id);
}

/// Begins or continues the walk of the instance, and trims the history when the walk is finished.
/// Returns false if the batch may look at no more rows; then a later call continues. `walk` is set
/// to how far the walk is.
Result<bool> HistoryTrims::continue_walk(Instance& instance, const HistoryLimits& limits, Cut kind,
                                         Walk& walk) {
  walk = {.next = instance.last_history,
          .all_records = instance.history_count,
          .all_bytes = instance.history_bytes};
  if (const auto left = walks_.find(instance.id); left != walks_.end()) {
    walk = left->second;
    walks_.erase(left);
  }
  if (TRY(is_finished(instance, limits, walk))) {
    TRY(cut(instance, limits, kind, walk));
    return true;
  }
  if (walks_.size() >= kMostWalks) walks_.clear();
  walks_.emplace(instance.id, walk);
  return false;
}

/// Continues the walk. Returns true if its rows reach a limit, or if the chain has no earlier row;
/// false if the batch may look at no more rows.
Result<bool> HistoryTrims::is_finished(const Instance& instance, const HistoryLimits& limits,
                                       Walk& walk) {
  while (walk.next != 0 && !is_reached(walk.records, limits.records) &&
         !is_reached(walk.bytes, limits.bytes)) {
    if (rows_left_ == 0) return false;
    --rows_left_;
    const auto link = TRY(read_history_link(batch_.tx, walk.next));
    if (!link || link->instance != instance.id || link->previous >= walk.next) {
      return tl::unexpected(
          damaged_instance(instance.ns, instance.id,
                           fmt::format("its history breaks off at history row {}", walk.next)));
    }
    walk.oldest = std::exchange(walk.next, link->previous);
    walk.oldest_bytes = link->bytes;
    walk.records += link->records;
    walk.bytes += link->bytes;
  }
  return true;
}

/// Makes the oldest row of the walk the first of the chain, and leaves the rows behind it to a
/// purge. With Cut::kWithinRow, the oldest records of that row go as well if the history would
/// still be too long.
Status HistoryTrims::cut(Instance& instance, const HistoryLimits& limits, Cut kind,
                         const Walk& walk) {
  if (walk.records > walk.all_records - instance.history_trimmed || walk.bytes > walk.all_bytes) {
    return tl::unexpected(
        damaged_instance(instance.ns, instance.id, "its history is longer than its head says"));
  }
  Instance after{.ns = instance.ns,
                 .history_count = instance.history_count,
                 .history_trimmed = walk.all_records - walk.records,
                 .history_bytes = instance.history_bytes - (walk.all_bytes - walk.bytes)};
  std::optional<FirstRow> first;
  if (kind == Cut::kWithinRow && is_too_long(after, limits)) {
    first = TRY(cut_row(instance, limits, walk));
  }
  if (!first && walk.next != 0) {
    first = FirstRow{.bytes = TRY(begin_history_at(batch_.tx, walk.oldest))};
  }
  if (!first) return {};  // nothing can go
  const uint64_t trimmed = after.history_trimmed + first->dropped;
  batch_.outcome.counts.retention[instance.ns].trimmed += trimmed - instance.history_trimmed;
  instance.history_trimmed = trimmed;
  instance.history_bytes = after.history_bytes - walk.oldest_bytes + first->bytes;
  if (walk.next != 0) batch_.trimmed_rows.emplace_back(instance.ns, walk.next);
  return {};
}

/// Makes the oldest row of the walk the first of the chain, with as many of its newest records as
/// the limits need. Returns nullopt if they need all records; then nothing is changed.
Result<std::optional<HistoryTrims::FirstRow>> HistoryTrims::cut_row(Instance& instance,
                                                                    const HistoryLimits& limits,
                                                                    const Walk& walk) {
  HistoryRow row = TRY(read_history_row(batch_.tx, walk.oldest));
  const uint64_t newer_records = walk.records - row.records.size();
  const uint64_t newer_bytes = walk.bytes - walk.oldest_bytes;
  const uint64_t drop = droppable_records(row, rest_of(limits.records, newer_records),
                                          rest_of(limits.bytes, newer_bytes));
  if (drop == 0) return std::optional<FirstRow>();
  const bool is_final = has_ended(instance.status) && walk.oldest == instance.last_history;
  if (is_final && !has_data_from(row, drop)) TRY(store_final_data(batch_.tx, instance));
  const uint64_t bytes = begin_history_within(batch_.tx, walk.oldest, std::move(row), drop);
  return std::optional(FirstRow{.bytes = bytes, .dropped = drop});
}

}  // namespace millrace
