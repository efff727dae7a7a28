// LogFollower: the only writer of the store of a standby. It applies commits of the log of a
// cluster to the store, many as one commit of the store, so a standby syncs once for many.
// Afterwards the store has the same rows, byte for byte, as that of the active had after the last
// of these commits. For use by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  /// are not those of the log; `store.joining`, a snapshot was being loaded into the store;
  /// `store.corrupt`, the position is damaged; those of the store.
  static Result<std::unique_ptr<LogFollower>> open(Environment& environment);

  /// As open(), but for a store that has all chunks of a snapshot (SnapshotLoader::finish()), of
  /// this process: after a restart it is not known whether the store has all of them.
  static Result<std::unique_ptr<LogFollower>> open_loading(Environment& environment);

  /// The position of the last commit that the store has; all zero: it has none; is_base(): it has
  /// the base of the log, and no commit.
  const LogPosition& position() const { return state_.position; }

  /// Whether the rows of the snapshot are of different commits, because the store has not reached
  /// the end of the snapshot yet. Such a store must not be read or led.
  bool is_loading() const { return state_.loading_to.has_value(); }

  /// The rows of the store as of its last commit. Only for the thread that calls apply().
  const View& rows() const { return tx_; }

  /// Applies the commits, in the order of the log. Those that the store has already are left out.
  /// The store holds all these writes in memory at once, so the caller bounds their bytes. After an
  /// error the store is as before. If the store reaches the end of the snapshot that it loads, it
  /// has all rows, by the same commit. Errors: `log.diverged`, a commit does not follow the one
  /// before, or the store has another one in its place, or the log does not have the end of the
  /// snapshot; `log.damaged`, a commit is not a valid write-set; those of
  /// Transaction::commit(Limit::kPassed).
  Status apply(std::span<const LogCommit> commits);

 private:
  explicit LogFollower(Environment& environment) : tx_(environment) {}

  enum class Loading : uint8_t { kRefused, kAccepted };
  struct State {
    LogPosition position;
    std::optional<LogPosition> loading_to;  ///< where the snapshot ends that the store loads
  };

  static Result<std::unique_ptr<LogFollower>> open(Environment& environment, Loading loading);
  Status read_position(Loading loading);
  Status apply_to(State& state, const LogCommit& commit);
  Status write(const LogCommit& commit);

  Transaction tx_;
  State state_;
};

}  // namespace millrace
