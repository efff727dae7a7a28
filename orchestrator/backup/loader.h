// BackupLoader: writes the chunks of a backup, or of a snapshot of a cluster, into an empty store,
// in bounded batches. For one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class BackupLoader {
 public:
  /// The bytes of keys and values after which add() commits. A batch has at least one chunk.
  static constexpr size_t kBatchBytes = size_t{4} << 20;

  /// `tx` must outlive the loader and must have no writes. `limit` is that of each commit.
  explicit BackupLoader(Transaction& tx, Limit limit = Limit::kKept) : tx_(tx), limit_(limit) {}

  /// Writes the rows of the next chunk. Errors: those of each_row_of_chunk(), and those of a
  /// commit. After an error the store has a part of the rows and must be discarded.
  Status add(std::string_view chunk);

  /// Commits the rows that are not committed yet, with what else the caller has written.
  Status finish();

  /// The rows that add() has written.
  const RowCounts& rows() const { return rows_; }

 private:
  Transaction& tx_;
  const Limit limit_;
  std::string last_key_;
  size_t batch_bytes_ = 0;
  RowCounts rows_;
};

}  // namespace millrace
