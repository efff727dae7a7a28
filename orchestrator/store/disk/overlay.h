// Overlay: what is committed and not yet in LMDB. A commit goes to the journal and into a memtable;
// when that has grown it is frozen, another takes its place, and the checkpoint thread brings the
// frozen one into LMDB, in key order and by short transactions. Rows that lived shortly never get
// there. Whoever reads takes Layers. Of all else: the Transaction's thread only.
#pragma once

#include <atomic>
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
#include "orchestrator/store/disk/journal.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/disk/memtable.h"
#include "orchestrator/store/disk/write_set.h"

namespace millrace {

/// The store as it was after one commit. What an upper layer says of a row holds, above LMDB as
/// well, which may have a part of `frozen` already.
struct Layers {
  explicit Layers(const LmdbFile& file) : lmdb(file) {}

  uint64_t commit = 0;
  std::shared_ptr<const Memtable> active;
  std::shared_ptr<const Memtable> frozen;  ///< null: there is none
  LmdbReader lmdb;
};

struct OverlayOptions {
  uint64_t checkpoint_bytes = 0;  ///< EnvironmentOptions
  uint64_t soft_limit_bytes = 0;
  uint64_t reserve_bytes = 0;
  bool waits_for_checkpoints = false;  ///< EnvironmentOptions
  std::function<void(const Error&)> on_failure;
};

class Overlay {
 public:
  /// Reads the journal in `folder`. Errors: Journal::open's, and those of reading `file`, which
  /// must outlive this.
  static Result<std::unique_ptr<Overlay>> open(const std::filesystem::path& folder, LmdbFile& file,
                                               const OverlayOptions& options);

  /// The same without a thread and without any write: for reading only.
  static Result<std::unique_ptr<Overlay>> open_to_read(const std::filesystem::path& folder,
                                                       LmdbFile& file,
                                                       const OverlayOptions& options);

  /// Ends the thread, which may leave work for the next open.
  ~Overlay();
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /// Moves `layers` to the last commit. False: layers.lmdb.status() says why not. Any thread.
  bool take(Layers& layers) const;

  /// Transaction::commit.
  Status commit(const WriteSet& writes, Limit limit);

  /// Environment::checkpoint.
  Status checkpoint();

  /// Environment::used_bytes.
  uint64_t used_bytes() const;

 private:
  /// What must be able to find room in LMDB.
  struct Load {
    uint64_t rows = 0;
    int64_t bytes = 0;  ///< LmdbFile::room_for those that are not deleted
  };
  struct Level {
    std::shared_ptr<Memtable> table = std::make_shared<Memtable>();
    uint64_t last = 0;  ///< commit
    Load load;
  };

  Overlay(std::filesystem::path folder, LmdbFile& file, const OverlayOptions& options);

  /// Takes the journal's commits into memory as it shows them; `checkpointed` is LMDB's.
  Journal::Replay replaying(const std::optional<uint64_t>& checkpointed);
  void add(uint64_t commit, std::string_view key, std::optional<std::string_view> value);
  Status replay(uint64_t commit, std::string_view write_set);
  void freeze();

  Status keep_room(const WriteSet& writes);
  Status find_room(Load load);
  Load waiting() const;
  bool has_failed() const;
  Status make_way(Limit limit);
  Status turn();
  Status drain();
  void wait_for_checkpoint();

  void run();
  Status apply(const Level& level);
  Status apply(const Level& level, std::string& from, uint64_t most_bytes);

  const std::filesystem::path folder_;
  const OverlayOptions options_;
  LmdbFile& file_;
  std::unique_ptr<Journal> journal_;
  uint64_t allocated_to_ = 0;         ///< so far the disk has room for LMDB's file
  std::atomic<uint64_t> commit_ = 0;  ///< the last one

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Level active_;  ///< exchanged under the mutex; added to without it
  std::optional<Level> frozen_;
  uint64_t applied_rows_ = 0;     ///< of the frozen one's
  std::optional<Error> failure_;  ///< of the checkpoint, which goes on when it is cleared
  LmdbFile::Size size_;           ///< as the last checkpoint left it
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace
