// LmdbFile: data.mdb, the one LMDB file of a store with one tree a Table, where the checkpoint
// (overlay.h) brings what was committed. Only this pair and store_error.cc know LMDB. Any thread
// may read; one at a time writes. Readers, cursors and writers must be gone before the file is.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

/// An LMDB transaction, given up unless it is released into a commit.
using TxnHandle = std::unique_ptr<MDB_txn, AbortTxn>;
using CursorHandle = std::unique_ptr<MDB_cursor, CloseCursor>;

class LmdbFile {
 public:
  /// What the file holds, and how far it reaches.
  struct Size {
    uint64_t used_bytes = 0;  ///< of the pages of all tables
    uint64_t end_bytes = 0;   ///< behind the last page that was ever used
    uint64_t branch_pages = 0;
    uint64_t leaf_pages = 0;
  };

  /// Opens or makes the file in `folder`, in that much address space, or, where the system gives
  /// less, a quarter of it, and so on down to 1 GiB. The pages of a file that is there are checked
  /// before LMDB sees them (page_check.h). Errors: `store.io`, `store.full`, `store.corrupt`,
  /// `store.version` (another LMDB format).
  static Result<std::unique_ptr<LmdbFile>> open(const std::filesystem::path& folder,
                                                uint64_t map_bytes);

  /// Opens the file that is there without writing anything. No other process may write it
  /// meanwhile; a tree that is missing is empty. Errors as those of open().
  static Result<std::unique_ptr<LmdbFile>> open_to_read(const std::filesystem::path& folder,
                                                        uint64_t map_bytes);

  /// The last commit that is in here with all before it; nullopt: nothing ever came by a
  /// checkpoint.
  Result<std::optional<uint64_t>> checkpointed() const;

  Result<Size> measure() const;

  /// Checks the pages of all trees as the last commit has them, whatever is written meanwhile. Any
  /// thread; it waits for the transaction that is being written. Errors: `store.io`, `store.sync`,
  /// `store.readers`.
  Result<PageReport> check_pages(const PageCheckOptions& options) const;

  uint64_t page_bytes() const { return page_bytes_; }
  /// What the file can never outgrow while open.
  uint64_t map_bytes() const { return map_bytes_; }

  /// What a row may add to the pages that are used: those of its own if it is large, else twice its
  /// bytes, for pages may be half empty.
  uint64_t room_for(size_t key_size, size_t value_size) const;

  /// Has the disk give the file its blocks from `from` to `to`. Error `store.full`; a file system
  /// that cannot do it is none.
  Status allocate(uint64_t from, uint64_t to);

  /// Whether the file has the tree of that table. Only one that is opened to be read may lack it.
  bool has_tree(Table table) const { return tree(table) != kNoTree; }

 private:
  friend class LmdbReader;
  friend class LmdbCursor;
  friend class LmdbWriter;

  /// Of a tree that a file which is only read does not have: LMDB's own trees come first.
  static constexpr unsigned kNoTree = 0;

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
  unsigned tree(Table table) const { return trees_[static_cast<uint8_t>(table)]; }
  Error error(int failed, std::string_view operation) const;

  std::filesystem::path folder_;
  uint64_t map_bytes_;
  std::unique_ptr<MDB_env, CloseEnv> env_;
  uint64_t page_bytes_ = 0;
  std::array<unsigned, 128> trees_{};  ///< LMDB's handle by table byte; kNoTree: it is missing
  unsigned journal_tree_ = 0;          ///< of the row that checkpointed() reads
};

/// The file as it is when begin() is called, until release(). A read that fails yields nothing and
/// is kept in status(). One thread at a time.
class LmdbReader {
 public:
  explicit LmdbReader(const LmdbFile& file) : file_(&file) {}

  /// Nothing where it has begun. False: status() says why not, `store.readers` if there are more
  /// than 500 at a time.
  bool begin();
  /// Gives the version and the error back.
  void release();

  std::optional<std::string_view> get(Table table, std::string_view key) const;
  /// How many rows it has.
  size_t count(Table table) const;

  const Status& status() const { return status_; }
  /// Has status() tell this error, unless there is one.
  void fail(Error error);

 private:
  friend class LmdbCursor;
  void note(int failed, Table table) const;

  const LmdbFile* file_;
  TxnHandle txn_;
  bool has_begun_ = false;  ///< whether txn_ holds a version, or only its reader's slot
  mutable Status status_;
};

/// Walks the rows of a range, which lies in one table. The reader must outlive it.
class LmdbCursor {
 public:
  LmdbCursor(const LmdbReader& reader, const KeyRange& range, Direction direction);

  bool valid() const { return valid_; }
  /// Without the table's byte.
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
  std::string bound_;  ///< where to stop; empty: at the table's end
  CursorHandle cursor_;
  std::string_view key_;
  std::string_view value_;
  bool valid_ = false;
};

/// One transaction that writes rows in the order of their absolute keys. Given up unless it is
/// committed. Errors: `store.full`, `store.corrupt`, `store.io`.
class LmdbWriter {
 public:
  static Result<LmdbWriter> begin(LmdbFile& file);

  /// Returns about how many bytes of pages it changed.
  Result<uint64_t> write(std::string_view absolute_key, std::optional<std::string_view> value);

  /// With this transaction the file has all commits up to that one.
  Status set_checkpointed(uint64_t commit);

  /// Brings it to disk, synced. Also error `store.sync`: what is on disk is not known.
  Status commit();

 private:
  LmdbWriter(LmdbFile& file, TxnHandle txn) : file_(&file), txn_(std::move(txn)) {}
  int open_table(Table table);
  Error commit_error(int failed) const;

  LmdbFile* file_;
  TxnHandle txn_;
  CursorHandle cursor_;
  std::optional<Table> table_;
  std::string last_;  ///< no key of the table is greater
};

}  // namespace millrace
