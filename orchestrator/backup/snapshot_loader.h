// SnapshotLoader: loads a snapshot of a cluster (rolling_chunks.h) into the empty store of a node.
// The rows of the chunks are of different commits, so afterwards a LogFollower applies the commits
// of the log up to the end of the snapshot. Until then the store has the row "loading" (log_row.h).
// If the process ends before, the store is cleared (store_files.h) and loading begins again. For
// one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/backup/loader.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class SnapshotLoader {
 public:
  /// Begins with a commit that marks the store as one that lacks rows. `from`, `to`:
  /// the positions of the snapshot (RollingChunks); both are base_position() if the snapshot is the
  /// base of the log. `environment` outlives the SnapshotLoader and has no Transaction. Errors:
  /// `store.not_empty`, the store has a row; `snapshot.damaged`, no store can have had these
  /// positions; those of a commit.
  static Result<std::unique_ptr<SnapshotLoader>> begin(Environment& environment,
                                                       const LogPosition& from,
                                                       const LogPosition& to);

  /// Writes the rows of the next chunk. Errors: `snapshot.damaged`, and those of a commit. After an
  /// error the store must be cleared.
  Status add(std::string_view chunk);

  /// Ends after the last chunk. `rows`: the rows of the snapshot, in each table. Next the
  /// SnapshotLoader is destroyed, and LogFollower::open_loading() opens the store. If all rows are
  /// of one commit, the store has all rows of the snapshot then. Errors: those of add().
  Status finish(const RowCounts& rows);

  /// The rows that add() has written.
  const RowCounts& rows() const { return loader_.rows(); }

 private:
  SnapshotLoader(Environment& environment, const LogPosition& from, const LogPosition& to)
      : tx_(environment), loader_(tx_, Limit::kPassed), is_of_one_commit_(from == to) {}

  Status mark(const LogPosition& from, const LogPosition& to);

  Transaction tx_;
  BackupLoader loader_;
  const bool is_of_one_commit_;
  uint64_t chunks_ = 0;
};

}  // namespace millrace
