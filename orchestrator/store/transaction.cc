#include "orchestrator/store/transaction.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace millrace {
namespace {

/// The first key after all keys that begin with `prefix`. `prefix` begins with a table's byte.
std::string end_of(std::string prefix) {
  while (prefix.back() == '\xff') prefix.pop_back();
  ++prefix.back();
  return prefix;
}

KeyRange range_of(Table table, std::string_view prefix, std::string_view from,
                  Direction direction) {
  const std::string head(1, static_cast<char>(table));
  KeyRange range{head + std::string(prefix), {}};
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

}  // namespace

/// Iterates over the rows of a range in one Snapshot, merged from its layers. If several layers
/// have a key, the uppermost one wins.
class Snapshot::Rows {
 public:
  Rows(const Snapshot& snapshot, KeyRange range, Direction direction)
      : range_(std::move(range)), is_forward_(direction == Direction::kForward) {
    const std::string_view low = range_.low;
    if (!snapshot.begin() || snapshot.is_made_to_fail(table_of(low), millrace::key_of(low))) return;
    const Layers& layers = snapshot.layers_;
    const auto open = [&](const std::shared_ptr<const Memtable>& table, auto& cursor) {
      if (table != nullptr) cursor.emplace(*table, layers.commit, range_, direction);
    };
    open(layers.active, upper_[0]);
    open(layers.frozen, upper_[1]);
    lmdb_.emplace(layers.lmdb, range_, direction);
    find_row();
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool valid() const { return valid_; }
  /// The key of the current row, without the table's byte.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  void next() {
    pass();
    find_row();
  }

 private:
  /// Finds the next key and its row in the uppermost layer that has it. Skips deleted rows.
  void find_row() {
    for (;; pass()) {
      valid_ = false;
      std::optional<std::string_view> value;
      const auto offer = [&](std::string_view key, std::optional<std::string_view> what) {
        if (valid_ && (is_forward_ ? key >= key_ : key <= key_)) return;
        valid_ = true;
        key_ = key;
        value = what;
      };
      for (const auto& cursor : upper_) {
        if (cursor && cursor->valid()) offer(millrace::key_of(cursor->key()), cursor->value());
      }
      if (lmdb_->valid()) offer(lmdb_->key(), lmdb_->value());
      if (!valid_) return;
      if (!value) continue;
      value_ = *value;
      return;
    }
  }

  /// Moves every layer whose cursor is at the current key past that key.
  void pass() {
    const std::string_view passed = key_;
    if (lmdb_->valid() && lmdb_->key() == passed) lmdb_->next();
    for (auto& cursor : upper_) {
      if (cursor && cursor->valid() && millrace::key_of(cursor->key()) == passed) cursor->next();
    }
  }

  KeyRange range_;
  bool is_forward_;
  std::array<std::optional<Memtable::Cursor>, 2> upper_;
  std::optional<LmdbCursor> lmdb_;
  std::string_view key_;
  std::string_view value_;
  bool valid_ = false;
};

Snapshot::Snapshot(const Environment& environment)
    : environment_(&environment), layers_(*environment.file_) {}

Result<Snapshot> Snapshot::take(const Environment& environment) {
  Snapshot snapshot(environment);
  if (!snapshot.begin()) return tl::unexpected(snapshot.status().error());
  return snapshot;
}

bool Snapshot::begin() const {
  if (!has_started_) has_started_ = environment_->overlay_->take(layers_);
  return has_started_;
}

bool Snapshot::is_made_to_fail(Table table, std::string_view key) const {
  const auto& fails = environment_->options().fails_read;
  if (!fails || !fails(table, key)) return false;
  layers_.lmdb.fail({"store.io", fmt::format("a read of {} was made to fail", table_name(table))});
  return true;
}

void Snapshot::release() {
  layers_.active = nullptr;
  layers_.frozen = nullptr;
  layers_.lmdb.release();
  has_started_ = false;
}

std::optional<std::string_view> Snapshot::get(Table table, std::string_view key) const {
  const AbsoluteKey absolute(table, key);
  if (!begin() || is_made_to_fail(table, key)) return std::nullopt;
  for (const auto* const layer : {layers_.active.get(), layers_.frozen.get()}) {
    if (layer == nullptr) continue;
    const Memtable::Version* const version = layer->find(absolute.view(), layers_.commit);
    if (version != nullptr) return version->value();
  }
  return layers_.lmdb.get(table, key);
}

size_t Snapshot::about_rows(Table table) const { return begin() ? layers_.lmdb.count(table) : 0; }

void Snapshot::scan(Table table, std::string_view prefix, std::string_view from,
                    Direction direction, const Visitor& visit) const {
  for (Rows rows(*this, range_of(table, prefix, from, direction), direction); rows.valid();
       rows.next()) {
    if (!visit(rows.key(), rows.value())) return;
  }
}

Transaction::Transaction(Environment& environment)
    : environment_(environment), committed_(environment) {
  CHECK(!environment.has_writer_.exchange(true),
        "a second Transaction was opened on {}; expected one at a time",
        environment.folder().string());
  CHECK(!environment.options().read_only, "a Transaction was opened on {}, which is open read-only",
        environment.folder().string());
  last_.fill(writes_.end());
}

Transaction::~Transaction() { environment_.has_writer_ = false; }

std::optional<std::string_view> Transaction::get(Table table, std::string_view key) const {
  const AbsoluteKey absolute(table, key);
  if (!writes_.empty()) {
    const auto written = writes_.find(absolute.view());
    if (written != writes_.end()) return written->second;
  }
  if (const auto* const known = hot_.find(table, absolute.view())) {
    if (committed_.is_made_to_fail(table, key)) return std::nullopt;
    return *known;
  }
  const std::optional<std::string_view> value = committed_.get(table, key);
  if (committed_.status()) hot_.note(table, absolute.view(), value);
  return value;
}

void Transaction::scan(Table table, std::string_view prefix, std::string_view from,
                       Direction direction, const Visitor& visit) const {
  const bool is_forward = direction == Direction::kForward;
  KeyRange left = range_of(table, prefix, from, direction);
  Snapshot::Rows rows(committed_, left, direction);

  // Returns `at` if that entry of the map is in the rest of the range, else the end of the map. The
  // next entry of the map is looked up again only if the visitor has written; otherwise the
  // iterator `written` is still right.
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
  WriteSet::iterator& last = last_[static_cast<uint8_t>(absolute_key.front())];
  const auto at = place_of(absolute_key, last);
  if (at != writes_.end() && at->first == absolute_key) {
    at->second = std::move(value);
    last = at;
  } else {
    last = writes_.emplace_hint(at, absolute_key, std::move(value));
  }
}

/// The first entry whose key is not less than `absolute_key`. Looks at the entry `last`, and at the
/// one behind it, before it searches.
WriteSet::iterator Transaction::place_of(std::string_view absolute_key, WriteSet::iterator last) {
  if (last != writes_.end()) {
    const int order = absolute_key.compare(last->first);
    if (order == 0) return last;
    const auto next = std::next(last);
    const bool is_next = order > 0 && (next == writes_.end() || absolute_key <= next->first);
    if (is_next) return next;
  }
  ++searches_;
  return writes_.lower_bound(absolute_key);
}

Status Transaction::commit(Limit limit) {
  Status done = committed_.status();
  if (done && !writes_.empty()) {
    hot_.forget_long(writes_);  // the commit takes long values
    done = write_to_disk(writes_, limit);
    if (done) hot_.committed(writes_);
  }
  drop();
  return done;
}

Status Transaction::commit_apart(WriteSet writes) {
  hot_.forget(writes);
  return write_to_disk(writes, Limit::kPassed);
}

Status Transaction::write_to_disk(WriteSet& writes, Limit limit) {
  const auto& fails = environment_.options().fails_commit;
  if (fails && fails()) return fail("store.io", "a commit was made to fail");
  return environment_.overlay_->commit(writes, limit);
}

void Transaction::drop() {
  ++changes_;
  writes_.clear();
  last_.fill(writes_.end());
  committed_.release();
}

}  // namespace millrace
