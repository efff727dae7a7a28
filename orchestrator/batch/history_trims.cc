#include "orchestrator/batch/history_trims.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/head_rows.h"

namespace millrace {
namespace {

/// How many history rows one batch looks at. A look reads the beginning of the row only (of a
/// sealed row the whole row), so this takes some milliseconds.
constexpr size_t kLinksInABatch = 4'000;

/// How many unfinished walks are kept. An instance that is not written again never finishes its
/// walk.
constexpr size_t kMostWalks = 1'000;

bool is_too_long(const Instance& instance, const HistoryLimits& limits) {
  const uint64_t records = instance.history_count - instance.history_trimmed;
  return (limits.records && records / 2 >= *limits.records && records > 2 * *limits.records) ||
         (limits.bytes && instance.history_bytes / 2 >= *limits.bytes &&
          instance.history_bytes > 2 * *limits.bytes);
}

}  // namespace

Status HistoryTrims::trim(Instance& instance) {
  const HistoryLimits& limits = batch_.catalog.settings(instance.ns).retention.history;
  if (std::exchange(looked_in_, batch_.batches.now()) != batch_.batches.now()) {
    rows_left_ = kLinksInABatch;
  }
  if (!batch_.trims_histories || rows_left_ == 0 || !is_too_long(instance, limits)) return {};
  Walk walk{.next = instance.last_history,
            .all_records = instance.history_count,
            .all_bytes = instance.history_bytes};
  if (const auto left = walks_.find(instance.id); left != walks_.end()) {
    walk = left->second;
    walks_.erase(left);
  }
  const Result<bool> enough = is_enough(instance, limits, walk);
  if (!enough) return batch_.damages.pass_over(Status(tl::unexpected(enough.error())));
  if (*enough) return cut(instance, walk);
  if (walk.next == 0) return {};  // no row is left that could go
  if (walks_.size() >= kMostWalks) walks_.clear();
  walks_.emplace(instance.id, walk);
  return {};
}

/// Continues the walk. Returns true if the rows of the walk reach a limit and the chain has an
/// earlier row. Returns false if the batch may look at no more rows, or if the chain ends.
Result<bool> HistoryTrims::is_enough(const Instance& instance, const HistoryLimits& limits,
                                     Walk& walk) {
  const auto is_reached = [&] {
    return (limits.records && walk.records >= *limits.records) ||
           (limits.bytes && walk.bytes >= *limits.bytes);
  };
  while (walk.next != 0 && !is_reached()) {
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
  return walk.next != 0;
}

/// Makes the oldest row of the walk the first of the chain, and leaves the rows behind it to a
/// purge.
Status HistoryTrims::cut(Instance& instance, const Walk& walk) {
  if (walk.records > walk.all_records - instance.history_trimmed || walk.bytes > walk.all_bytes) {
    return batch_.damages.pass_over(Status(tl::unexpected(
        damaged_instance(instance.ns, instance.id, "its history is longer than its head says"))));
  }
  const uint64_t oldest_bytes = TRY(begin_history_at(batch_.tx, walk.oldest));
  const uint64_t trimmed = walk.all_records - walk.records;
  batch_.outcome.counts.retention[instance.ns].trimmed += trimmed - instance.history_trimmed;
  instance.history_trimmed = trimmed;
  instance.history_bytes -= walk.all_bytes - walk.bytes;
  instance.history_bytes = instance.history_bytes - walk.oldest_bytes + oldest_bytes;
  batch_.trimmed_rows.push_back(walk.next);
  return {};
}

}  // namespace millrace
