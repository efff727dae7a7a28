// History trims: while an instance is written, the oldest rows of a history that has become longer
// than the settings of its namespace allow leave its chain (retention_settings.h). A purge erases
// them in later batches. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/definition/retention_settings.h"
#include "orchestrator/store/rows/history_rows.h"

namespace millrace {

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
  /// continues. A damaged row is noted, and the history stays as it is.
  Status trim(Instance& instance);

  /// Forgets all walks that are not finished.
  void clear() { walks_.clear(); }

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

  Result<bool> is_enough(const Instance& instance, const HistoryLimits& limits, Walk& walk);
  Status cut(Instance& instance, const Walk& walk);

  BatchState& batch_;
  uint64_t looked_in_ = 0;            ///< the last batch that looked at rows
  size_t rows_left_ = 0;              ///< rows that this batch may still look at
  std::map<InstanceId, Walk> walks_;  ///< walks that later batches continue
};

}  // namespace millrace
