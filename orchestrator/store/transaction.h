// Transaction: the only way to write to the store. A Transaction collects the writes of a batch in
// a map of absolute key to bytes. The reads of a Transaction look in that map first, then at the
// last commit. commit() writes the map to disk, whole or not at all (overlay.h). Snapshot: a
// read-only view of the last commit. Code that only reads takes a `const View&`: a Snapshot or a
// Transaction. An environment has at most one Transaction, used by one thread. Any thread may take
// and use a Snapshot, one thread at a time. A string_view that a View returned is valid no longer
// than that View.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/hot_rows.h"

namespace millrace {

/// Receives one row of a scan; `key` is without the table's byte. Returns whether to continue. Both
/// string_views are valid during the call only.
using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

/// A source of rows. A read that fails (a damaged page) returns no row and sets status(). So a
/// reader need not check each result, but must check status() once at the end. (At some kinds of
/// damage LMDB itself aborts the process, with a line on standard error.)
class View {
 public:
  virtual ~View() = default;

  /// The value at `key`. The string_view is valid until `key` is written or the View changes its
  /// version (a Transaction: at commit() or drop(); a Snapshot: at its end).
  virtual std::optional<std::string_view> get(Table table, std::string_view key) const = 0;

  /// Visits the rows whose keys begin with `prefix` in the order of their bytes. A forward scan
  /// begins at the first key ≥ `from`, a backward scan at the last key < `from`. An empty `from`
  /// means the first row (forward) or the last row (backward). So after a scan that stopped at key
  /// k, the next page begins with `from` = k + '\0' (forward) or k (backward). The visitor may put
  /// and erase in the Transaction that it scans: the scan also visits rows that are written ahead
  /// of its position.
  virtual void scan(Table table, std::string_view prefix, std::string_view from,
                    Direction direction, const Visitor& visit) const = 0;

  /// All rows with the prefix, forward.
  void scan(Table table, std::string_view prefix, const Visitor& visit) const {
    scan(table, prefix, {}, Direction::kForward, visit);
  }

  /// The approximate number of rows of a table: rows of the last commits may be missing.
  virtual size_t about_rows(Table table) const = 0;

  /// The seal, which has the key that decrypts sealed rows.
  virtual const Seal& seal() const = 0;

  /// The first error of a read since the View was created or last changed its version:
  /// `store.corrupt`, `store.io`, `store.readers`.
  virtual const Status& status() const = 0;
};

class Snapshot final : public View {
 public:
  /// A view of the last commit, which does not change while the Snapshot exists. Keep a Snapshot
  /// for one page of an answer only: while a Snapshot exists, LMDB cannot reuse pages that were
  /// freed after take(), and the memtables that it reads stay in memory. Error `store.readers`:
  /// more than 500 Snapshots exist at a time.
  static Result<Snapshot> take(const Environment& environment);

  /// The number of the commit that the Snapshot shows; 0: the store has no commit yet. Commits are
  /// numbered from 1 in each data folder.
  uint64_t commit() const { return layers_.commit; }

  std::optional<std::string_view> get(Table table, std::string_view key) const override;
  using View::scan;
  void scan(Table table, std::string_view prefix, std::string_view from, Direction direction,
            const Visitor& visit) const override;
  size_t about_rows(Table table) const override;
  const Seal& seal() const override { return environment_->seal(); }
  const Status& status() const override { return layers_.lmdb.status(); }

 private:
  friend class Transaction;
  class Rows;

  explicit Snapshot(const Environment& environment);
  bool begin() const;
  bool is_made_to_fail(Table table, std::string_view key) const;
  void release();

  const Environment* environment_;
  mutable Layers layers_;
  mutable bool has_started_ = false;
};

class Transaction final : public View {
 public:
  /// `environment` must have no other Transaction and must not be opened read-only (CHECK).
  explicit Transaction(Environment& environment);
  ~Transaction() override;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  std::optional<std::string_view> get(Table table, std::string_view key) const override;
  using View::scan;
  void scan(Table table, std::string_view prefix, std::string_view from, Direction direction,
            const Visitor& visit) const override;
  size_t about_rows(Table table) const override { return committed_.about_rows(table); }
  const Seal& seal() const override { return environment_.seal(); }
  const Status& status() const override { return committed_.status(); }
  Environment& environment() { return environment_; }

  void put(Table table, std::string_view key, std::string value);

  /// Deletes the row, if there is one.
  void erase(Table table, std::string_view key);

  /// Writes all entries of a write-set, like put() or erase() for each entry.
  void replay(const WriteSet& writes);

  /// The rows of the last commit, without the writes of this batch. What it returned is valid until
  /// commit() or drop().
  const View& committed() const { return committed_; }

  /// The writes of this batch so far.
  const WriteSet& write_set() const { return writes_; }
  /// How many writes, of all batches, had to search for their place in the write-set.
  uint64_t searches() const { return searches_; }

  /// Writes the batch to disk, synced, and begins the next batch on top of this commit. An empty
  /// batch writes nothing, but the Transaction then reads the version of the last commit: end every
  /// batch with commit() or drop(). After commit() the Transaction has no writes, also after an
  /// error. After an error the store is as before the batch and can be read. Errors: `store.full`
  /// (the soft limit, the map or the disk), `store.io`, `store.corrupt` (a row that this batch
  /// read, or that a checkpoint found), and `store.sync`: the state of the disk is unknown, so the
  /// process must stop. If the store is led (Environment::lead()), also the errors of
  /// CommitLog::append(), after which the process must stop, too.
  Status commit(Limit limit = Limit::kKept);

  /// Writes `writes` to disk, synced, as a commit of their own before that of this batch. The
  /// writes of the batch so far, what it reads and what it has read stay as they are, so the batch
  /// must neither read nor write these rows. May use the reserved space (Limit::kPassed). Errors:
  /// those of commit(), after which the store lacks `writes`.
  Status commit_apart(WriteSet writes);

  /// Discards the writes of the batch and begins the next batch on top of the last commit.
  void drop();

 private:
  void write(std::string_view absolute_key, std::optional<std::string> value);
  Status write_to_disk(WriteSet& writes, Limit limit);
  WriteSet::iterator place_of(std::string_view absolute_key, WriteSet::iterator last);

  Environment& environment_;
  Snapshot committed_;
  WriteSet writes_;
  mutable HotRows hot_;  ///< as they are committed
  /// By the byte of each table, its entry that was written last; the end: there is none. The keys
  /// that a batch writes into a table usually ascend.
  std::array<WriteSet::iterator, 256> last_;
  uint64_t searches_ = 0;
  uint64_t changes_ = 0;  ///< counts the writes, so that a scan notices writes of its visitor
};

}  // namespace millrace
