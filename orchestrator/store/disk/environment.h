// Environment: the open data folder: the journal and the LMDB file of the store (overlay.h), the
// key of its seal, and a lock that keeps a second process (or a second open in this one, which LMDB
// forbids) out. Reading and writing is done through transaction.h. Safe from any thread once open,
// but for what is said to belong to the Transaction's; Transactions and Snapshots on it must be
// gone before it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "base/defaults.h"
#include "base/result.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/disk/overlay.h"
#include "orchestrator/store/disk/seal.h"
#include "orchestrator/store/disk/table.h"
#include "os/descriptor.h"

namespace millrace {

struct EnvironmentOptions {
  /// What used_bytes() may come to before commits are refused with `store.full`.
  uint64_t soft_limit_bytes = std::numeric_limits<uint64_t>::max();

  /// Address space to reserve; it is what the file can never outgrow while open. Where the system
  /// gives less (ulimit -v), a quarter is tried, and so on down to 1 GiB.
  uint64_t map_bytes = uint64_t{1} << 40;

  /// Room that is kept, in the map and on the disk, for what must work when the store is full. LMDB
  /// writes pages anew to change them, so to delete needs room before it makes any. Zero: none is.
  uint64_t reserve_bytes = uint64_t{4} << 20;

  /// File of the key under which rows are sealed; empty: `secret-key` in the folder, which is made
  /// where there is none.
  std::filesystem::path key_file;

  /// How much is held in memory and in the journal before it is brought into LMDB. While that goes
  /// on, as much again; then commits wait for it.
  uint64_t checkpoint_bytes = defaults::kCheckpointBytes;

  /// Whether a commit that begins a checkpoint waits for its end. What the store occupies, and so
  /// when it is full, then depends on nothing but what was written: for simulations.
  bool waits_for_checkpoints = false;

  /// Whether closing brings everything into LMDB, so that the next open has no journal to read.
  bool checkpoints_at_close = true;

  /// Opens what is there to be read only: nothing is made, migrated, repaired or checkpointed, and
  /// no file but `lock` is written. What the journal has and LMDB has not is read into memory.
  bool read_only = false;

  /// For tests: asked at each read of what is committed, with the key of the row, or the prefix of
  /// the range of rows; true has it fail with `store.io`.
  std::function<bool(Table table, std::string_view key)> fails_read;

  /// For tests: asked at each commit that writes something; true has it fail with `store.io`.
  std::function<bool()> fails_commit;

  /// Hears of a `store.sync` of the checkpoint, on its thread. Nothing is lost, but nothing is
  /// committed any more, and LMDB may give no more reads: the process should end.
  std::function<void(const Error&)> on_failure;
};

class Environment {
 public:
  /// Opens `folder`, making it (mode 0700) when missing. What the journal has and LMDB has not is
  /// there. Errors: `store.locked` (somebody has it open), `store.io`, `store.full`,
  /// `store.corrupt`, `store.version` (a file of another format), `store.key` (Seal::read); where
  /// it is opened to be read only, `store.not_found` too: there is no store in the folder. All
  /// messages name the folder or the file.
  static Result<std::unique_ptr<Environment>> open(const std::filesystem::path& folder,
                                                   const EnvironmentOptions& options = {});

  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// Brings all that is committed into LMDB, and waits for it. Errors: `store.full`,
  /// `store.corrupt` and `store.io`: it is tried again with the next commit that keeps the limit;
  /// `store.sync`. Transaction's thread, between batches.
  Status checkpoint();

  /// The bytes of all pages that rows and their trees occupy in LMDB, and what those that wait to
  /// be brought there may add to them. Deleting rows brings it down, at the next checkpoint, while
  /// the file keeps its size and fills the free pages first. Transaction's thread.
  uint64_t used_bytes() const;

  /// Whether more than `reserve` bytes (or, where that is less, an eighth of the whole) are left,
  /// both to the soft limit and on the disk. Error `store.full` if not; else as checkpoint(), which
  /// it calls rather than complain of what only waits. Transaction's thread.
  Status check_room(uint64_t reserve);

  const Seal& seal() const { return *seal_; }
  const std::filesystem::path& key_file() const { return options_.key_file; }
  /// Whether the key is a new one that is in no file yet: it opens no row that is there.
  bool key_is_new() const { return key_is_new_; }
  /// Brings a new key to its file, before anything that it seals is committed.
  Status keep_key();

  /// LmdbFile::check_pages.
  Result<PageReport> check_pages(const PageCheckOptions& options) const;

  /// Whether LMDB has the tree of that table. Only a store that is opened to be read only may lack
  /// one: what opens it to write makes them.
  bool has_tree(Table table) const { return file_->has_tree(table); }

  const std::filesystem::path& folder() const { return folder_; }
  /// Tells this folder from all copies of it, as long as it stays on its file system: the number
  /// of its lock file, and when that was made. Errors: `store.io`.
  Result<std::string> mark() const;
  const EnvironmentOptions& options() const { return options_; }

 private:
  friend class Snapshot;
  friend class Transaction;

  Environment(std::filesystem::path folder, const EnvironmentOptions& options);

  Status make_folder();
  Status find_store();
  Status lock();
  Status open_store();
  Status open_key();
  Status sync_folder(const std::filesystem::path& path) const;

  Error error(int failed, std::string_view operation) const;

  std::filesystem::path folder_;
  EnvironmentOptions options_;
  Descriptor lock_file_;
  std::unique_ptr<LmdbFile> file_;
  std::unique_ptr<Overlay> overlay_;
  std::optional<Seal> seal_;  ///< once it is open
  bool key_is_new_ = false;
  std::atomic<bool> has_writer_ = false;
};

}  // namespace millrace
