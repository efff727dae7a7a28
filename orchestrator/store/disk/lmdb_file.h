// LmdbFile: data.mdb, the one LMDB file of a store, with one tree for each Table. The checkpoint
// (overlay.h) brings committed rows into this file. lmdb_trees.cc has the functions that open the
// trees. Only this header, these two sources, lmdb_value.h and store_error.cc use LMDB. Any thread
// may read; one thread at a time writes. Destroy readers, cursors and writers before their
// LmdbFile.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "orchestrator/store/disk/table.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace millrace {

struct PageCheckOptions;
struct PageReport;

struct CloseEnv {
  void operator()(MDB_env* env) const;
};
struct AbortTxn {
  void operator()(MDB_txn* txn) const;
};
struct CloseCursor {
  void operator()(MDB_cursor* cursor) const;
};

/// An LMDB transaction. The destructor aborts it, unless it was released for a commit.
using TxnHandle = std::unique_ptr<MDB_txn, AbortTxn>;
using CursorHandle = std::unique_ptr<MDB_cursor, CloseCursor>;

class LmdbFile {
 public:
  /// The size of the file's trees, and of the file.
  struct Size {
    uint64_t used_bytes = 0;  ///< bytes of the pages of all tables
    uint64_t free_bytes = 0;  ///< bytes of the pages that no tree has; the next rows use them first
    uint64_t end_bytes = 0;   ///< bytes up to the end of the last page that was ever used
    uint64_t branch_pages = 0;
    uint64_t leaf_pages = 0;
  };

  /// Opens or creates the file in `folder`. `map_bytes` is the address space; if the system
  /// provides less, open() tries a quarter of it, then a quarter of that, down to 1 GiB. The pages
  /// of an existing file are checked before LMDB reads them (page_check.h). Errors: `store.io`,
  /// `store.full`, `store.corrupt`, `store.version` (another LMDB format).
  static Result<std::unique_ptr<LmdbFile>> open(const std::filesystem::path& folder,
                                                uint64_t map_bytes);

  /// Opens an existing file and writes nothing. The caller ensures that no other process writes the
  /// file at the same time. A missing tree reads as empty. Errors: those of open().
  static Result<std::unique_ptr<LmdbFile>> open_to_read(const std::filesystem::path& folder,
                                                        uint64_t map_bytes);

  /// The number of the last commit of the last checkpoint: the file has this commit and all earlier
  /// ones. nullopt: there was no checkpoint yet.
  Result<std::optional<uint64_t>> checkpointed() const;

  /// Measures the trees as of the last transaction, without a scan. No thread may write meanwhile:
  /// otherwise the sizes may be of two transactions. Errors: `store.io`, `store.readers`.
  Result<Size> measure() const;

  /// Checks the pages of all trees as of the last LMDB transaction, while the file may be written.
  /// Any thread may call check_pages(), which first waits for the end of a write transaction.
  /// Errors: `store.io`, `store.sync`, `store.readers`.
  Result<PageReport> check_pages(const PageCheckOptions& options) const;

  uint64_t page_bytes() const { return page_bytes_; }
  /// The maximum size of the file while it is open.
  uint64_t map_bytes() const { return map_bytes_; }

  /// How many bytes a row may add to the used pages. A large row has pages of its own. The part of
  /// a row in a leaf page counts twice, because leaf pages may be half empty.
  uint64_t room_for(size_t key_size, size_t value_size) const;

  /// Allocates disk blocks for the bytes of the file from `from` to `to`. Error `store.full`. If
  /// the file system has no fallocate, nothing is allocated; that is not an error.
  Status allocate(uint64_t from, uint64_t to);

  /// Whether the file has the tree of that table. A tree can be missing only in a file that is open
  /// read-only.
  bool has_tree(Table table) const { return tree(table) != kNoTree; }

  /// The names of the trees that belong to no table and are not the tree of the journal, as of the
  /// last LMDB transaction. No release creates such a tree. Any thread. Errors: `store.io`,
  /// `store.readers`.
  Result<std::vector<std::string>> unknown_trees() const;

  /// The keys in the tree of the journal that are not the one that checkpointed() reads, as of the
  /// last LMDB transaction. No release writes such a row. Any thread. Errors: those of
  /// unknown_trees().
  Result<std::vector<std::string>> unknown_journal_keys() const;

  /// Checks that there are no unknown_trees(), before a copy of all rows is made: the copy would
  /// lack their rows. Any thread. Errors: `tree.unknown`, and those of unknown_trees().
  Status refuse_unknown_trees() const;

 private:
  friend class LmdbReader;
  friend class LmdbCursor;
  friend class LmdbWriter;

  /// The handle of a tree that a read-only file lacks. LMDB uses the value 0 for the tree of free
  /// pages.
  static constexpr unsigned kNoTree = 0;
  /// The key of the row that checkpointed() reads.
  static constexpr std::string_view kCheckpointedKey = "checkpointed";

  LmdbFile(std::filesystem::path folder, uint64_t map_bytes)
      : folder_(std::move(folder)), map_bytes_(map_bytes) {}

  Status refuse_damaged_pages(const PageCheckOptions& options) const;
  Status open_map(unsigned flags);
  Status fill_to_length();
  Status open_trees();
  Status find_trees();
  Status check_trees();
  int descriptor() const;
  Result<TxnHandle> begin(unsigned flags) const;
  Result<std::vector<std::string>> keys_of(unsigned tree) const;
  unsigned tree(Table table) const { return trees_[static_cast<uint8_t>(table)]; }
  Error error(int failed, std::string_view operation) const;

  std::filesystem::path folder_;
  uint64_t map_bytes_;
  std::unique_ptr<MDB_env, CloseEnv> env_;
  uint64_t page_bytes_ = 0;
  std::array<unsigned, 128> trees_{};  ///< LMDB's handle by table byte; kNoTree: it is missing
  unsigned journal_tree_ = 0;          ///< the tree with the row that checkpointed() reads
};

/// Reads one version of the file, from begin() to release(). A read that fails returns no row and
/// sets status(). One thread at a time.
class LmdbReader {
 public:
  explicit LmdbReader(const LmdbFile& file) : file_(&file) {}

  /// Starts to read the current version; does nothing if a version is being read. False: status()
  /// has the error, `store.readers` if there are more than 500 readers at a time.
  bool begin();
  /// Releases the version and clears the error.
  void release();

  std::optional<std::string_view> get(Table table, std::string_view key) const;
  /// The number of rows of a table.
  size_t count(Table table) const;

  const Status& status() const { return status_; }
  /// Sets status() to this error, unless status() already has an error.
  void fail(Error error);

 private:
  friend class LmdbCursor;
  void note(int failed, Table table) const;

  const LmdbFile* file_;
  TxnHandle txn_;
  bool has_started_ = false;  ///< whether txn_ holds a version; else at most a reader slot
  mutable Status status_;
};

/// Iterates over the rows of a range within one table. The LmdbReader must outlive the cursor.
class LmdbCursor {
 public:
  LmdbCursor(const LmdbReader& reader, const KeyRange& range, Direction direction);

  bool valid() const { return valid_; }
  /// The key of the current row, without the table's byte.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  void next();

 private:
  void seek(std::string_view key);
  void seek_before(std::string_view key);
  void move(int operation);
  int get(int operation);
  bool is_inside() const;

  const LmdbReader& reader_;
  Table table_;
  Direction direction_;
  std::string bound_;  ///< the key at which to stop; empty: the table's end
  CursorHandle cursor_;
  std::string_view key_;
  std::string_view value_;
  bool valid_ = false;
};

/// One transaction that writes rows in the order of their absolute keys. The destructor aborts it
/// unless it was committed. Errors: `store.full`, `store.corrupt`, `store.io`.
class LmdbWriter {
 public:
  static Result<LmdbWriter> begin(LmdbFile& file);

  /// Writes a row, or deletes it (nullopt). Returns approximately how many bytes of pages changed.
  Result<uint64_t> write(std::string_view absolute_key, std::optional<std::string_view> value);

  /// Records that, with this transaction, the file has all commits up to `commit`.
  Status set_checkpointed(uint64_t commit);

  /// Writes the transaction to disk, synced. Errors: those of the class, and `store.sync` (the
  /// state of the disk is unknown).
  Status commit();

 private:
  LmdbWriter(LmdbFile& file, TxnHandle txn) : file_(&file), txn_(std::move(txn)) {}
  int open_table(Table table);
  Error commit_error(int failed) const;

  LmdbFile* file_;
  TxnHandle txn_;
  CursorHandle cursor_;
  std::optional<Table> table_;
  std::string last_;  ///< the greatest key of the table
};

}  // namespace millrace
