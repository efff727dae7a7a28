// LogFollower: the only writer of the store of a standby. It applies commits of the log of a
// cluster to the store, many as one commit of the store, so a standby syncs once for many.
// Afterwards the store has the same rows, byte for byte, as that of the active had after the last
// of these commits. For use by one thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A commit that was read from the log.
struct LogCommit {
  LogPosition position;
  CommitName behind;           ///< the commit before it in the log; of the first one: no commit
  std::string_view write_set;  ///< as it was passed to CommitLog::append()
};

class LogFollower {
 public:
  /// Reads the position of the store. `environment` outlives the LogFollower, has no Transaction
  /// and is not led (CHECK). Errors: `store.cluster`, the store has rows but no position, so they
  /// are not those of the log; `store.corrupt`, the position is damaged; those of the store.
  static Result<std::unique_ptr<LogFollower>> open(Environment& environment);

  /// The position of the last commit that the store has; all zero: it has none.
  const LogPosition& position() const { return position_; }

  /// Applies the commits, in the order of the log. Those that the store has already are left out.
  /// The store holds all these writes in memory at once, so the caller bounds their bytes. After an
  /// error the store is as before. Errors: `log.diverged`, a commit does not follow the one before,
  /// or the store has another one in its place; `log.damaged`, a commit is not a valid write-set;
  /// those of Transaction::commit(Limit::kPassed).
  Status apply(std::span<const LogCommit> commits);

 private:
  explicit LogFollower(Environment& environment) : tx_(environment) {}

  Status read_position();
  Status write(const LogCommit& commit);

  Transaction tx_;
  LogPosition position_;
};

}  // namespace millrace
