// RollingChunks: the chunks of a snapshot of a cluster. Each chunk is read from a view of its own,
// so no view is kept while a chunk is sent, and commits continue meanwhile. The rows of all chunks
// are therefore of different commits; together with the commits of the log from from() to to() they
// are the rows of the store at to(), because a commit of the log has absolute keys and values. For
// one thread at a time, any thread; no other thread waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class RollingChunks {
 public:
  /// `environment` must outlive the RollingChunks. `most_bytes`: see read_chunk().
  explicit RollingChunks(const Environment& environment, size_t most_bytes = kBackupChunkBytes)
      : environment_(environment), most_bytes_(most_bytes) {}

  /// The next chunk, without the rows of the folder (log_row.h); nullopt: there are no more. The
  /// chunks end although rows are added ahead of them. A table ends with the row that was its last
  /// one in the first view, because later rows are in the log. If the chunks have twice the rows
  /// that the store had, and 1000 more, all further chunks are read from one view. Errors:
  /// `store.joining`, the store lacks rows; those of the store. After an error, take another
  /// snapshot.
  Result<std::optional<std::string>> next();

  /// The position of the store in the view of the first chunk; all zero: it has none.
  const LogPosition& from() const { return from_; }
  /// The position of the store in the view that was read last: after the end, where the commits
  /// of the log have given all rows.
  const LogPosition& to() const { return to_; }
  /// The rows of the chunks so far.
  const RowCounts& rows() const { return rows_; }

 private:
  Status begin(const View& view);
  RowChoice choose(std::string_view absolute_key) const;

  const Environment& environment_;
  const size_t most_bytes_;
  std::map<Table, std::string> ends_;  ///< the key of the last row of each table, in the first view
  std::string last_key_;               ///< the absolute key of the last row of the last chunk
  LogPosition from_;
  LogPosition to_;
  RowCounts rows_;
  uint64_t most_rows_ = 0;        ///< of the chunks that have a view of their own each
  std::optional<Snapshot> view_;  ///< that of all further chunks
  bool has_started_ = false;
  bool has_ended_ = false;
};

}  // namespace millrace
