// Overlay: the committed rows that LMDB does not have yet. A commit goes to the journal and into a
// memtable. When the memtable is large enough it is frozen, a new one replaces it, and the
// checkpoint thread writes the frozen one to LMDB in key order, in short transactions. Rows that
// are deleted soon never reach LMDB. Readers use Layers, from any thread; all other functions
// belong to the Transaction's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/checkpoint_rate.h"
#include "orchestrator/store/disk/journal.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/disk/memtable.h"
#include "orchestrator/store/disk/write_set.h"

namespace millrace {

/// The store as it was after one commit. The uppermost layer that has a row wins: `active`, then
/// `frozen`, then LMDB. LMDB may already have some rows of `frozen`.
struct Layers {
  explicit Layers(const LmdbFile& file) : lmdb(file) {}

  uint64_t commit = 0;
  std::shared_ptr<const Memtable> active;
  std::shared_ptr<const Memtable> frozen;  ///< null: no memtable is frozen
  LmdbReader lmdb;
};

struct OverlayOptions {
  uint64_t checkpoint_bytes = 0;  ///< see EnvironmentOptions
  uint64_t soft_limit_bytes = 0;
  uint64_t reserve_bytes = 0;
  bool waits_for_checkpoints = false;                          ///< see EnvironmentOptions
  std::function<std::chrono::nanoseconds()> checkpoint_clock;  ///< see EnvironmentOptions
  std::function<void(const Error&)> on_failure;
};

/// How often, and how long, commits had to wait for a checkpoint since the store was opened.
struct CommitWaits {
  uint64_t commits = 0;  ///< with one that waits now
  std::chrono::nanoseconds time{};
};

class Overlay {
 public:
  /// Reads the journal in `folder` and starts the checkpoint thread. `file` must outlive the
  /// Overlay. Errors: those of Journal::open(), and those of reading `file`.
  static Result<std::unique_ptr<Overlay>> open(const std::filesystem::path& folder, LmdbFile& file,
                                               const OverlayOptions& options);

  /// Reads the journal in `folder` for a read-only store: starts no thread and writes nothing.
  /// Errors: those of Journal::read(), and those of reading `file`.
  static Result<std::unique_ptr<Overlay>> open_to_read(const std::filesystem::path& folder,
                                                       LmdbFile& file,
                                                       const OverlayOptions& options);

  /// Ends the checkpoint thread. The next open finishes an unfinished checkpoint.
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /// Sets `layers` to the last commit. False: layers.lmdb.status() has the error. Any thread.
  bool take(Layers& layers) const;

  /// Appends each further commit to `log` before it goes to the journal: see Environment::lead().
  void lead(CommitLog& log) { log_ = &log; }
  bool is_led() const { return log_ != nullptr; }

  /// Commits a write-set: see Transaction::commit(). On success, takes the long values out of
  /// `writes` (kLongValue).
  Status commit(WriteSet& writes, Limit limit);

  /// Brings all committed rows into LMDB: see Environment::checkpoint().
  Status checkpoint();

  /// Makes a checkpoint, and frees the disk space of the journals: see
  /// Environment::shrink_journals().
  Status shrink_journals();

  /// The size of the store: see Environment::used_bytes().
  uint64_t used_bytes() const;

  /// The size of LMDB's file after the last checkpoint. Any thread.
  LmdbFile::Size file_size() const;

  /// The number of rows in memory that are not part of a completed checkpoint. Any thread.
  uint64_t waiting_rows() const;
  /// The memory that these rows use, in bytes, with all their versions. Any thread.
  uint64_t waiting_bytes() const;

  /// Whether commits write more than the checkpoint: see Environment::is_behind(). On the
  /// Transaction's thread.
  bool is_behind() const;

  /// See Environment::commit_waits(). Any thread.
  CommitWaits commit_waits() const;

  /// How fast checkpoints are: see Environment::checkpoint_rate(). Any thread.
  std::optional<uint64_t> checkpoint_rate() const { return rate_.get(); }

 private:
  /// An estimate of the space that rows need in LMDB.
  struct Load {
    uint64_t rows = 0;
    int64_t bytes = 0;  ///< the sum of LmdbFile::room_for() for the rows that are not deleted
  };
  struct Level {
    std::shared_ptr<Memtable> table = std::make_shared<Memtable>();
    uint64_t last = 0;             ///< the last commit that `table` has
    uint64_t committed_bytes = 0;  ///< of the keys and values that the commits wrote
    Load load;
  };

  Overlay(std::filesystem::path folder, LmdbFile& file, const OverlayOptions& options);

  /// A Replay that adds the journal's commits to the memtables. `checkpointed` is the last commit
  /// that LMDB has.
  Journal::Replay replaying(const std::optional<uint64_t>& checkpointed);
  void add(uint64_t commit, std::string_view key, std::optional<std::string_view> value);
  void take(uint64_t commit, std::string_view key, std::string&& value);
  void note(uint64_t commit, size_t key, std::optional<size_t> value,
            const Memtable::Version* before);
  Status replay(uint64_t commit, std::string_view write_set);
  void freeze();

  Status append(const WriteSet& writes, Limit limit);
  Status append_to_log(std::string_view write_set, Limit limit);
  Load load_of(const WriteSet& writes) const;
  Status keep_room(const WriteSet& writes);
  Status find_room(Load load);
  Load waiting() const;
  bool has_failed() const;
  Status make_way(Limit limit);
  Status switch_memtable();
  Status drain();
  void wait_for_checkpoint();

  void run();
  Status apply_timed(const Level& level);
  Status apply(const Level& level);
  Status apply(const Level& level, std::string& from, uint64_t most_bytes);

  const std::filesystem::path folder_;
  const OverlayOptions options_;
  LmdbFile& file_;
  std::unique_ptr<Journal> journal_;
  CommitLog* log_ = nullptr;  ///< null: the store belongs to no cluster, or only follows its log
  std::string log_row_;       ///< the value of the row "log" of the last commit that `log_` has
  Status log_state_;  ///< the first error of a commit that `log_` may have; no commit follows
  uint64_t allocated_to_ = 0;         ///< disk space for LMDB's file is allocated up to this byte
  std::atomic<uint64_t> commit_ = 0;  ///< the last commit
  std::atomic<uint64_t> active_rows_ = 0;   ///< active_.load.rows, for any thread
  std::atomic<uint64_t> active_bytes_ = 0;  ///< active_.table->bytes(), for any thread

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Level active_;  ///< replaced under mutex_; rows are added without a lock
  std::optional<Level> frozen_;
  uint64_t applied_rows_ = 0;     ///< rows of `frozen_` that are in LMDB
  std::optional<Error> failure_;  ///< the checkpoint's error; clearing it resumes the checkpoint
  LmdbFile::Size size_;           ///< the size of LMDB after the last checkpoint
  CommitWaits waits_;
  CheckpointRate rate_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace
