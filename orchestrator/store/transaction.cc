#include "orchestrator/store/transaction.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <lmdb.h>
#include <sys/statvfs.h>

#include "base/check.h"
#include "base/crash_point.h"

namespace millrace {
namespace {

MDB_val to_val(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

std::string_view to_view(const MDB_val& val) {
  return {static_cast<const char*>(val.mv_data), val.mv_size};
}

Table table_of(std::string_view absolute_key) {
  return static_cast<Table>(static_cast<uint8_t>(absolute_key.front()));
}

std::string_view key_of(std::string_view absolute_key) { return absolute_key.substr(1); }

/// A table's byte and a key in one piece, without the heap.
class AbsoluteKey {
 public:
  AbsoluteKey(Table table, std::string_view key) : size_(key.size() + 1) {
    CHECK(!key.empty() && key.size() <= kMaxKeySize, "a key of {} bytes in {}", key.size(),
          table_name(table));
    bytes_[0] = static_cast<char>(table);
    std::memcpy(bytes_ + 1, key.data(), key.size());
  }

  std::string_view view() const { return {bytes_, size_}; }

 private:
  size_t size_;
  char bytes_[1 + kMaxKeySize];
};

/// The absolute keys that a scan covers: low ≤ key < high.
struct Range {
  std::string low;
  std::string high;
};

/// The first key that is past all that begin with `prefix`, which begins with a table's byte.
std::string end_of(std::string prefix) {
  while (prefix.back() == '\xff') prefix.pop_back();
  ++prefix.back();
  return prefix;
}

Range range_of(Table table, std::string_view prefix, std::string_view from, Direction direction) {
  const std::string head(1, static_cast<char>(table));
  Range range{head + std::string(prefix), {}};
  range.high = end_of(range.low);
  if (!from.empty()) {
    const std::string bound = head + std::string(from);
    if (direction == Direction::kForward) {
      range.low = std::max(range.low, bound);
    } else {
      range.high = std::min(range.high, bound);
    }
  }
  return range;
}

/// LMDB tells of a write that a full disk cut short as of any other input/output error.
bool disk_is_full(const std::filesystem::path& folder) {
  constexpr uint64_t kNothingLeft = uint64_t{1} << 20;
  struct statvfs disk {};
  return ::statvfs(folder.c_str(), &disk) == 0 &&
         uint64_t{disk.f_bavail} * disk.f_frsize < kNothingLeft;
}

/// Writes one table's part of a write-set through one cursor, in key order.
class TableWriter {
 public:
  TableWriter() = default;
  ~TableWriter() { close(); }
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  int open(MDB_txn* txn, unsigned tree) {
    close();
    if (const int failed = mdb_cursor_open(txn, tree, &cursor_); failed != 0) return failed;
    MDB_val key;
    MDB_val value;
    const int failed = mdb_cursor_get(cursor_, &key, &value, MDB_LAST);
    if (failed != 0 && failed != MDB_NOTFOUND) return failed;
    last_ = failed == 0 ? to_view(key) : std::string_view();
    return 0;
  }

  int write(std::string_view key, const std::optional<std::string>& value) {
    MDB_val k = to_val(key);
    if (!value) {
      MDB_val ignored;
      const int failed = mdb_cursor_get(cursor_, &k, &ignored, MDB_SET);
      if (failed != 0) return failed == MDB_NOTFOUND ? 0 : failed;
      return mdb_cursor_del(cursor_, 0);
    }
    // Past the end pages are filled instead of split in halves: rows of 1 KB take two thirds of
    // the space, small ones a little less, in no more time.
    MDB_val v = to_val(*value);
    const bool is_past_end = key > last_;
    if (is_past_end) last_ = key;
    return mdb_cursor_put(cursor_, &k, &v, is_past_end ? MDB_APPEND : 0);
  }

  void close() {
    if (cursor_ != nullptr) mdb_cursor_close(std::exchange(cursor_, nullptr));
  }

 private:
  MDB_cursor* cursor_ = nullptr;
  std::string last_;  ///< no key of the table is greater
};

}  // namespace

/// The rows of a range as one Snapshot has them, one after the other.
class Snapshot::Rows {
 public:
  Rows(const Snapshot& snapshot, const Range& range, Direction direction)
      : snapshot_(snapshot), table_(table_of(range.low)), direction_(direction) {
    if (!snapshot_.begin()) return;
    const int failed =
        mdb_cursor_open(snapshot_.reading_.get(), snapshot_.environment_->tree(table_), &cursor_);
    if (failed != 0) {
      snapshot_.note(failed, table_);
      return;
    }
    const bool is_forward = direction == Direction::kForward;
    if (is_forward) {
      bound_ = table_of(range.high) == table_ ? key_of(range.high) : std::string_view();
      seek(key_of(range.low));
    } else {
      bound_ = key_of(range.low);
      seek_before(table_of(range.high) == table_ ? key_of(range.high) : std::string_view());
    }
  }

  ~Rows() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool valid() const { return valid_; }
  std::string_view key() const { return to_view(key_); }
  std::string_view value() const { return to_view(value_); }
  void next() { move(direction_ == Direction::kForward ? MDB_NEXT : MDB_PREV); }

 private:
  void seek(std::string_view key) {
    if (key.empty()) return move(MDB_FIRST);
    key_ = to_val(key);
    move(MDB_SET_RANGE);
  }

  void seek_before(std::string_view key) {
    if (key.empty()) return move(MDB_LAST);
    key_ = to_val(key);
    const int found = mdb_cursor_get(cursor_, &key_, &value_, MDB_SET_RANGE);
    if (found == MDB_NOTFOUND) return move(MDB_LAST);
    if (found != 0) return snapshot_.note(found, table_);
    move(MDB_PREV);
  }

  void move(unsigned operation) {
    const int failed =
        mdb_cursor_get(cursor_, &key_, &value_, static_cast<MDB_cursor_op>(operation));
    if (failed != 0 && failed != MDB_NOTFOUND) snapshot_.note(failed, table_);
    valid_ = failed == 0 && is_inside();
  }

  bool is_inside() const {
    if (direction_ == Direction::kBackward) return key() >= bound_;
    return bound_.empty() || key() < bound_;
  }

  const Snapshot& snapshot_;
  Table table_;
  Direction direction_;
  std::string bound_;  ///< where to stop; empty: at the table's end
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_{};
  MDB_val value_{};
  bool valid_ = false;
};

Result<Snapshot> Snapshot::take(const Environment& environment) {
  Snapshot snapshot(environment);
  if (!snapshot.begin()) return tl::unexpected(snapshot.status_.error());
  return snapshot;
}

bool Snapshot::begin() const {
  if (active_) return true;
  if (!status_) return false;
  if (reading_ == nullptr) {
    Result<TxnHandle> begun = environment_->begin(MDB_RDONLY);
    if (!begun) {
      status_ = tl::unexpected(begun.error());
      return false;
    }
    reading_ = std::move(*begun);
  } else if (const int failed = mdb_txn_renew(reading_.get()); failed != 0) {
    status_ = tl::unexpected(environment_->error(failed, "beginning to read"));
    return false;
  }
  return active_ = true;
}

void Snapshot::release() {
  if (active_) mdb_txn_reset(reading_.get());
  active_ = false;
  status_ = {};
}

void Snapshot::note(int code, Table table) const {
  if (!status_) return;
  status_ = tl::unexpected(environment_->error(code, fmt::format("reading {}", table_name(table))));
}

std::optional<std::string_view> Snapshot::get(Table table, std::string_view key) const {
  CHECK(!key.empty() && key.size() <= kMaxKeySize, "a key of {} bytes in {}", key.size(),
        table_name(table));
  if (!begin()) return std::nullopt;
  MDB_val k = to_val(key);
  MDB_val value;
  const int failed = mdb_get(reading_.get(), environment_->tree(table), &k, &value);
  if (failed == 0) return to_view(value);
  if (failed != MDB_NOTFOUND) note(failed, table);
  return std::nullopt;
}

void Snapshot::scan(Table table, std::string_view prefix, std::string_view from,
                    Direction direction, const Visitor& visit) const {
  for (Rows rows(*this, range_of(table, prefix, from, direction), direction); rows.valid();
       rows.next()) {
    if (!visit(rows.key(), rows.value())) return;
  }
}

Transaction::Transaction(Environment& environment)
    : environment_(environment), committed_(environment) {
  CHECK(!environment.has_writer_.exchange(true), "a second Transaction on {}",
        environment.folder().string());
}

Transaction::~Transaction() { environment_.has_writer_ = false; }

std::optional<std::string_view> Transaction::get(Table table, std::string_view key) const {
  if (!writes_.empty()) {
    const auto written = writes_.find(AbsoluteKey(table, key).view());
    if (written != writes_.end()) return written->second;
  }
  return committed_.get(table, key);
}

void Transaction::scan(Table table, std::string_view prefix, std::string_view from,
                       Direction direction, const Visitor& visit) const {
  const bool is_forward = direction == Direction::kForward;
  Range left = range_of(table, prefix, from, direction);
  Snapshot::Rows rows(committed_, left, direction);

  // The next entry of the map in what is left of the range. Looked up again only after the visitor
  // has written: iterators of a map stay good.
  const auto inside = [&](WriteSet::const_iterator at) {
    if (at == writes_.end()) return at;
    return at->first >= left.low && at->first < left.high ? at : writes_.end();
  };
  const auto before = [&](WriteSet::const_iterator at) {
    return at == writes_.begin() ? writes_.end() : inside(std::prev(at));
  };
  const auto look_up = [&] {
    return is_forward ? inside(writes_.lower_bound(left.low))
                      : before(writes_.lower_bound(left.high));
  };
  auto written = look_up();

  while (rows.valid() || written != writes_.end()) {
    bool takes_written = written != writes_.end();
    bool hides_row = false;
    if (takes_written && rows.valid()) {
      const int order = key_of(written->first).compare(rows.key());
      takes_written = is_forward ? order <= 0 : order >= 0;
      hides_row = order == 0;
    }
    const std::string_view key = takes_written ? key_of(written->first) : rows.key();
    const uint64_t changes = changes_;
    if (!takes_written) {
      if (!visit(key, rows.value())) return;
    } else if (written->second) {
      if (!visit(key, *written->second)) return;
    }
    if (changes_ != changes) {
      (is_forward ? left.low : left.high) = AbsoluteKey(table, key).view();
      if (is_forward) left.low.push_back('\0');
      written = look_up();
    } else if (takes_written) {
      written = is_forward ? inside(std::next(written)) : before(written);
    }
    if (!takes_written || hides_row) rows.next();
  }
}

void Transaction::put(Table table, std::string_view key, std::string value) {
  write(AbsoluteKey(table, key).view(), std::move(value));
}

void Transaction::erase(Table table, std::string_view key) {
  write(AbsoluteKey(table, key).view(), std::nullopt);
}

void Transaction::replay(const WriteSet& writes) {
  for (const auto& [key, value] : writes) write(key, value);
}

void Transaction::write(std::string_view absolute_key, std::optional<std::string> value) {
  ++changes_;
  const auto at = writes_.lower_bound(absolute_key);
  if (at != writes_.end() && at->first == absolute_key) {
    at->second = std::move(value);
  } else {
    writes_.emplace_hint(at, absolute_key, std::move(value));
  }
}

Status Transaction::commit(Limit limit) {
  Status done = committed_.status();
  if (done && !writes_.empty()) done = apply(limit);
  drop();
  return done;
}

void Transaction::drop() {
  ++changes_;
  writes_.clear();
  committed_.release();
}

Status Transaction::apply(Limit limit) {
  if (limit == Limit::kKept) TRY(environment_.keep_reserve());
  TxnHandle txn = TRY(environment_.begin(0));
  TableWriter writer;
  std::optional<Table> table;
  for (const auto& [key, value] : writes_) {
    int failed = 0;
    if (table != table_of(key)) {
      table = table_of(key);
      failed = writer.open(txn.get(), environment_.tree(*table));
    }
    if (failed == 0) failed = writer.write(key_of(key), value);
    if (failed != 0) {
      return tl::unexpected(
          environment_.error(failed, fmt::format("writing {}", table_name(*table))));
    }
  }
  writer.close();
  if (limit == Limit::kKept) {
    const uint64_t used = TRY(environment_.bytes_in(txn.get()));
    const uint64_t most = environment_.most_bytes();
    if (used > most) {
      return fail("store.full", fmt::format("{} would hold {} bytes of the {} that it may; delete "
                                            "instances or raise the limit",
                                            environment_.folder().string(), used, most));
    }
  }
  crash_point(CrashPoint::kWritten);
  if (const int failed = mdb_txn_commit(txn.release()); failed != 0) {
    return tl::unexpected(commit_error(failed));
  }
  crash_point(CrashPoint::kCommitted);
  return {};
}

Error Transaction::commit_error(int failed) const {
  // Pages of the batch that could not be written change nothing: no root points to them. But the
  // root may have been in the writing (LMDB then refuses to begin another transaction), and a
  // failed sync of the pages may have lost others.
  const Result<TxnHandle> next = environment_.begin(0);
  if (!next) return next.error();
  if (failed != EIO) return environment_.error(failed, "committing");
  return environment_.error(failed, "committing",
                            disk_is_full(environment_.folder()) ? "store.full" : "store.sync");
}

}  // namespace millrace
