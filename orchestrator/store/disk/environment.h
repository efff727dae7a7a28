// Environment: an open data folder. An Environment has the journal and the LMDB file of the store
// (overlay.h), the key of its seal, and a lock against a second process (or a second open in this
// process, which LMDB forbids). transaction.h reads and writes rows. After open(), any thread may
// call its functions, except those whose comment names the Transaction's thread. Destroy the
// Transactions and Snapshots of an Environment before the Environment.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/defaults.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/disk/overlay.h"
#include "orchestrator/store/disk/seal.h"
#include "orchestrator/store/disk/table.h"
#include "os/descriptor.h"

namespace millrace {

struct EnvironmentOptions {
  /// The limit of used_bytes(), in bytes. Commits that would exceed this limit are refused with
  /// `store.full`, except under Limit::kPassed.
  uint64_t soft_limit_bytes = std::numeric_limits<uint64_t>::max();

  /// Address space to reserve, in bytes. data.mdb cannot grow beyond this size while the store is
  /// open. If the system provides less (ulimit -v), open() tries a quarter of the size, then a
  /// quarter of that, down to 1 GiB.
  uint64_t map_bytes = uint64_t{1} << 40;

  /// Space that is reserved, in the map and on the disk, for operations that must work when the
  /// store is full. LMDB copies a page to change it, so a deletion needs space before it frees any.
  /// Zero: no space is reserved.
  uint64_t reserve_bytes = uint64_t{4} << 20;

  /// The file with the key that seals rows. If the path is empty, it is the file `secret-key` in
  /// the data folder, and keep_key() creates a missing file.
  std::filesystem::path key_file;

  /// How many bytes are held in memory and in the journal before a checkpoint brings them into
  /// LMDB. During the checkpoint, commits may add as many bytes again; further commits wait for the
  /// checkpoint.
  uint64_t checkpoint_bytes = defaults::kCheckpointBytes;

  /// Whether a commit that starts a checkpoint waits for the end of the checkpoint. If true, the
  /// size of the store, and so the time at which it is full, depends only on the writes. For
  /// simulations. Then checkpoint_rate() is nullopt, because it depends on the speed of the disk.
  bool waits_for_checkpoints = false;

  /// Whether closing makes a checkpoint, so that the next open need not read a journal.
  bool checkpoints_at_close = true;

  /// Opens an existing store read-only: nothing is created, migrated, repaired or checkpointed, and
  /// no file except `lock` is written. Commits that only the journal has are read into memory.
  bool read_only = false;

  /// For tests: called at each read of committed rows, with the key of the row or the prefix of the
  /// range. If the function returns true, the read fails with `store.io`.
  std::function<bool(Table table, std::string_view key)> fails_read;

  /// For tests: called at each commit that is not empty. If the function returns true, the commit
  /// fails with `store.io`.
  std::function<bool()> fails_commit;

  /// For tests: the steady clock that measures the time of checkpoints; called on the checkpoint
  /// thread. Empty: the clock of the system.
  std::function<std::chrono::nanoseconds()> checkpoint_clock;

  /// Called on the checkpoint thread when a checkpoint fails with `store.sync`. No commit is lost,
  /// but later commits fail, and LMDB may refuse reads: the process should end.
  std::function<void(const Error&)> on_failure;
};

/// The size of a store, in its files and in memory.
struct StoreSize {
  uint64_t data_bytes = 0;  ///< size of the file data.mdb
  uint64_t used_bytes = 0;  ///< bytes of the pages of all tables in data.mdb
  uint64_t free_bytes = 0;  ///< bytes of the free pages of data.mdb; the next rows use them first
  uint64_t journal_bytes = 0;  ///< size of the two journal files
  uint64_t waiting_rows = 0;   ///< rows in memory that are not part of a completed checkpoint
  uint64_t waiting_bytes = 0;  ///< memory of these rows, with all their versions
};

class Environment {
 public:
  /// Opens `folder`; creates it (mode 0700) if it is missing. Commits that only the journal has are
  /// included. Errors: `store.locked` (a process has the folder open), `store.io`, `store.full`,
  /// `store.corrupt`, `store.version` (a file of another format), `store.joining` (the files of the
  /// store were not all removed: store_files.h), `store.key` (Seal::read; if the
  /// file that `key_file` names cannot be read, nothing is created), `store.link` (a link or
  /// pipe in place of a file), `store.exposed` (every user may change the folder; not with
  /// `read_only`). With `read_only` also `store.not_found`: the folder has no store. All
  /// messages name the folder or the file. A file that other users may read is logged.
  static Result<std::unique_ptr<Environment>> open(const std::filesystem::path& folder,
                                                   const EnvironmentOptions& options = {});

  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// From now on each commit is appended to `log` before it is written to this folder, and the row
  /// "log" of `meta` has its position (log_row.h). The folder must have exactly the commits that
  /// the log has. `log` outlives the Environment. After an error of the log, or of the journal
  /// behind the log, each further commit fails with that error. Call it on the Transaction's
  /// thread, between batches.
  void lead(CommitLog& log) { overlay_->lead(log); }
  /// Whether the commits are appended to a log. On the Transaction's thread.
  bool is_led() const { return overlay_->is_led(); }

  /// Brings all committed rows into LMDB and returns when LMDB has them. Errors: `store.full`,
  /// `store.corrupt` and `store.io`, after which the next commit under Limit::kKept tries the
  /// checkpoint again; `store.sync`. Call it on the Transaction's thread, between batches.
  Status checkpoint();

  /// The bytes of all pages that rows and their trees occupy in LMDB, plus the bytes that rows
  /// without a checkpoint may add. A deletion of rows lowers this number at the next checkpoint;
  /// data.mdb keeps its size, and new rows use its free pages first. Call it on the Transaction's
  /// thread.
  uint64_t used_bytes() const;

  /// The size of the files and of the rows in memory; the pages are those after the last
  /// checkpoint. Reads no row and no page. Any thread. Error `store.io`.
  Result<StoreSize> size() const;

  /// How many bytes of keys and values, as commits wrote them, checkpoints bring into LMDB in a
  /// second, at least 1; later checkpoints have more weight (checkpoint_rate.h). The time between
  /// two checkpoints does not count. nullopt: since the store was opened, no checkpoint had enough
  /// rows to measure it. Any thread.
  std::optional<uint64_t> checkpoint_rate() const;

  /// Whether the commits since the begin of the checkpoint under way have written so much more than
  /// the checkpoint that commits will soon have to wait for it. The caller should write less until
  /// it has caught up. Call it on the Transaction's thread.
  bool is_behind() const;

  /// How often, and how long, commits had to wait for a checkpoint since the store was opened. Any
  /// thread.
  CommitWaits commit_waits() const;

  /// Makes a checkpoint, after which the journals have no commit that LMDB lacks, and cuts both
  /// journal files to their headers. Errors: those of checkpoint(). Call it on the Transaction's
  /// thread, between batches.
  Status shrink_journals();

  /// Checks that more than `reserve` bytes are left, both below the soft limit and on the disk (for
  /// a small limit or disk: more than an eighth of its size, if that is less). Errors: `store.full`
  /// if fewer bytes are left; the errors of checkpoint(). If the limit seems to be reached,
  /// check_room() first makes a checkpoint, because the size of rows without a checkpoint is an
  /// estimate. Call it on the Transaction's thread.
  Status check_room(uint64_t reserve);

  const Seal& seal() const { return *seal_; }
  const std::filesystem::path& key_file() const { return options_.key_file; }
  /// Whether the key of the seal is new and not yet in a file. A new key decrypts none of the
  /// existing sealed rows.
  bool key_is_new() const { return key_is_new_; }
  /// Writes the key to its file if key_is_new(). Call keep_key() before the commit of the first row
  /// that the key seals.
  Status keep_key();

  /// Checks the pages of data.mdb: see LmdbFile::check_pages().
  Result<PageReport> check_pages(const PageCheckOptions& options) const;

  /// Whether LMDB has the tree of that table. A tree can be missing only in a store that is open
  /// read-only: opening it for writing creates the trees.
  bool has_tree(Table table) const { return file_->has_tree(table); }
  /// The names of the trees in LMDB that belong to no table: see LmdbFile::unknown_trees().
  Result<std::vector<std::string>> unknown_trees() const { return file_->unknown_trees(); }
  /// The unknown keys in the tree of the journal: see LmdbFile::unknown_journal_keys().
  Result<std::vector<std::string>> unknown_journal_keys() const {
    return file_->unknown_journal_keys();
  }
  /// Checks that LMDB has no unknown trees: see LmdbFile::refuse_unknown_trees().
  Status refuse_unknown_trees() const { return file_->refuse_unknown_trees(); }

  const std::filesystem::path& folder() const { return folder_; }
  /// A text that distinguishes this folder from its copies, as long as the folder stays on its file
  /// system: the inode number of its lock file, and the time at which that file was created.
  /// Errors: `store.io`.
  Result<std::string> mark() const;
  /// When this folder was made, by the clock of its machine: the time in mark(). nullopt: the file
  /// system does not record that time.
  std::optional<TimePoint> made() const;
  const EnvironmentOptions& options() const { return options_; }

 private:
  friend class Snapshot;
  friend class Transaction;

  Environment(std::filesystem::path folder, const EnvironmentOptions& options);

  Status read_named_key();
  Status make_folder();
  Status find_store();
  Status lock();
  Status open_store();
  Status open_own_key();
  Status sync_folder(const std::filesystem::path& path) const;

  Error error(int failed, std::string_view operation) const;

  std::filesystem::path folder_;
  EnvironmentOptions options_;
  Descriptor lock_file_;
  std::unique_ptr<LmdbFile> file_;
  std::unique_ptr<Overlay> overlay_;
  std::optional<Seal> seal_;  ///< set when open() returns
  bool key_is_new_ = false;
  std::atomic<bool> has_writer_ = false;
};

}  // namespace millrace
