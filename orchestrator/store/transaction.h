// Transaction: the one way to write. A batch's writes gather in a map of absolute key to bytes;
// reads look there first, then at the last commit; commit() brings the map to disk, whole or not at
// all (overlay.h). Snapshot: the last commit, read only. Readers take a `const View&` and know
// neither. An environment has at most one Transaction, used by one thread; a Snapshot may be taken
// and used on any thread, by one thread at a time. Views that come out never outlive what gave
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// Gets a row of a scan, its key without the table's byte; returns whether to go on. The views hold
/// during the call.
using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

/// What rows can be read from. A read that fails (a damaged page) yields nothing and is kept in
/// status(), so that readers need not look at each answer, but must look once at the end. (LMDB
/// aborts by itself at some kinds of damage, with a line on standard error.)
class View {
 public:
  virtual ~View() = default;

  /// The value at `key`. It may be looked at until that key is written or the View moves on (a
  /// Transaction: commit or drop; a Snapshot: its end).
  virtual std::optional<std::string_view> get(Table table, std::string_view key) const = 0;

  /// Visits the rows whose keys begin with `prefix` in the order of their bytes. Forward begins at
  /// the first key ≥ `from`, backward at the last key < `from`; an empty `from` begins at the
  /// end that lies there. The page after the one that stopped at key k therefore is from k + '\0'
  /// forward, from k backward. The visitor may put and erase in the Transaction that it scans: rows
  /// written ahead of it are seen.
  virtual void scan(Table table, std::string_view prefix, std::string_view from,
                    Direction direction, const Visitor& visit) const = 0;

  /// All rows with the prefix, forward.
  void scan(Table table, std::string_view prefix, const Visitor& visit) const {
    scan(table, prefix, {}, Direction::kForward, visit);
  }

  /// How many rows a table has, roughly: those of the last commits may be missing.
  virtual size_t about_rows(Table table) const = 0;

  /// What opens sealed rows.
  virtual const Seal& seal() const = 0;

  /// The first error of a read since the View was made or moved on: `store.corrupt`, `store.io`,
  /// `store.readers`.
  virtual const Status& status() const = 0;
};

class Snapshot final : public View {
 public:
  /// The last commit, as it stays while this lives. Keep it for one page of an answer: LMDB can use
  /// no page again that was freed after it was taken, and what was in memory then stays there.
  /// Error `store.readers` when there are more than 500 at a time.
  static Result<Snapshot> take(const Environment& environment);

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
  mutable bool has_begun_ = false;
};

class Transaction final : public View {
 public:
  /// `environment` has no other Transaction, and was not opened to be read only (CHECK).
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

  /// Writes all entries of a write-set, as if each were put or erased here.
  void replay(const WriteSet& writes);

  /// What this batch has written so far.
  const WriteSet& write_set() const { return writes_; }

  /// Brings the batch to disk, synced, and begins the next one on top of it. With nothing written
  /// it touches no disk, but still moves on to the last commit: end every batch with it or drop().
  /// Whatever the outcome, the Transaction is empty afterwards; after an error the store is as
  /// before the batch and can be read. Errors: `store.full` (the soft limit, the map or the disk),
  /// `store.io`, `store.corrupt` (a row that this batch read, or one that a checkpoint met), and
  /// `store.sync`: what is on disk is not known, the process must stop.
  Status commit(Limit limit = Limit::kKept);

  /// Forgets the batch and begins the next one on the last commit.
  void drop();

 private:
  void write(std::string_view absolute_key, std::optional<std::string> value);

  Environment& environment_;
  Snapshot committed_;
  WriteSet writes_;
  uint64_t changes_ = 0;  ///< moves with each write, so that a scan notices those of its visitor
};

}  // namespace millrace
