// History trims: the oldest records of a history that has become longer than the settings allow for
// its workflow (retention_settings.h) leave it. While an instance is written, whole rows leave
// the chain of its history; a pass of the retention also trims instances that are not written, and
// within a row. A purge erases the rows in later batches. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// Whether the history of the instance has more than twice as many records or bytes as the limits.
bool is_too_long(const Instance& instance, const HistoryLimits& limits);

class HistoryTrims {
 public:
  static constexpr uint64_t kShortRecords = 2 * kLeastRecords;
  static constexpr uint64_t kShortBytes = 2 * kLeastHistoryBytes;

  explicit HistoryTrims(BatchState& batch) : batch_(batch) {}

  /// Trims the history of an instance if it has more than twice as many records or bytes as the
  /// settings keep. To be called after the history row of this batch is written, and before the
  /// head. A history with up to kShortRecords records and kShortBytes bytes is never trimmed.
  /// Changes `history_trimmed` and `history_bytes` of the instance; whole rows go, so at
  /// least the limit is kept. If the batch has looked at enough rows, a later write of the instance
  /// continues. A damaged row is noted, and the history stays as it is. An instance whose history
  /// is still too long is noted for take_left().
  Status trim(Instance& instance);

  /// Trims the history of an instance as trim() does, and within its oldest kept row, so that about
  /// the limit is kept. To be called for an instance that this batch does not write; the caller
  /// writes the head. If only an erased record has the data of an ended instance, writes a row with
  /// the data. Returns false if the batch has looked at enough rows: a later call continues. Counts
  /// the rows that were read in `budget`.
  Result<bool> trim_stored(Instance& head, PurgeBudget& budget);

  /// The instances of the namespace that trim() has noted since the last call; nullopt: too many,
  /// so any instance of the namespace may have a history that is too long.
  std::optional<std::vector<InstanceId>> take_left(NamespaceNumber ns);

  /// Forgets the walk of an instance whose history was replaced.
  void forget(const InstanceId& instance) { walks_.erase(instance); }

  /// Forgets all walks that are not finished, and all noted instances.
  void clear() {
    walks_.clear();
    left_.clear();
  }

 private:
  /// A walk along the chain of an instance, from its newest row to the oldest row that stays.
  struct Walk {
    uint64_t next = 0;    ///< the row to look at next
    uint64_t oldest = 0;  ///< the row that was looked at last
    uint64_t oldest_bytes = 0;
    uint64_t records = 0;      ///< in the rows that were looked at
    uint64_t bytes = 0;        ///< of the rows that were looked at
    uint64_t all_records = 0;  ///< Instance::history_count when the walk began
    uint64_t all_bytes = 0;    ///< Instance::history_bytes when the walk began
  };
  enum class Cut : uint8_t { kBetweenRows, kWithinRow };
  /// The oldest row that stays.
  struct FirstRow {
    uint64_t bytes = 0;    ///< its new size, not sealed
    uint64_t dropped = 0;  ///< number of its records that were erased
  };

  void begin_looking();
  void note_left(const Instance& instance);
  Result<bool> continue_walk(Instance& instance, const HistoryLimits& limits, Cut kind, Walk& walk);
  Result<bool> is_finished(const Instance& instance, const HistoryLimits& limits, Walk& walk);
  Status cut(Instance& instance, const HistoryLimits& limits, Cut kind, const Walk& walk);
  Result<std::optional<FirstRow>> cut_row(Instance& instance, const HistoryLimits& limits,
                                          const Walk& walk);

  BatchState& batch_;
  uint64_t looked_in_ = 0;            ///< the last batch that looked at rows
  size_t rows_left_ = 0;              ///< rows that this batch may still look at
  std::map<InstanceId, Walk> walks_;  ///< walks that later batches continue
  /// See take_left(); a set with more than kMostLeft instances stands for all.
  std::map<NamespaceNumber, std::set<InstanceId>> left_;
};

}  // namespace millrace
