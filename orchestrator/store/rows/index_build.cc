#include "orchestrator/store/rows/index_build.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/fields.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/row.h"

namespace millrace {

using namespace rows;

namespace {

constexpr std::string_view kIndexKey = "index";

/// Reads the size of the kept history rows of the instance. `rows_left` is lowered by their number.
/// A chain that breaks off ends there: the store check reports it.
Result<uint64_t> history_bytes_of(const View& view, const Instance& head, size_t& rows_left) {
  uint64_t bytes = 0;
  uint64_t left = head.history_count - head.history_trimmed;
  for (uint64_t number = head.last_history; number != 0 && left > 0;) {
    const std::string key = rows::key_of(number);
    const auto value = view.get(Table::kHistory, key);
    TRY(view.status());
    if (!value) break;
    rows_left -= rows_left > 0 ? 1 : 0;
    const auto row = rows::decode(view, Table::kHistory, key, *value, decode_history);
    if (!row || row->instance != head.id || row->previous >= number) break;
    bytes += Seal::plain_size(*value);
    left -= std::min<uint64_t>(left, row->records.size());
    number = row->previous;
  }
  return bytes;
}

/// Adds the instances of a table to the index, one after the other, and writes their sizes into
/// their heads.
class Adding {
 public:
  Adding(Transaction& tx, Table table, const OnDamage& damaged)
      : tx_(tx), table_(table), damaged_(damaged) {}

  /// Adds up to about `rows_left` rows from `from` on; at least one instance. Returns the key from
  /// which to continue; nullopt: the table ends there.
  Result<std::optional<std::string>> add(const std::string& from, size_t rows_left) {
    std::optional<std::string> next;
    Status status;
    tx_.scan(table_, {}, from, Direction::kForward,
             [&](std::string_view key, std::string_view value) {
               if (is_head(key)) {
                 status = finish(rows_left);
                 if (!status) return false;
                 if (rows_left == 0) {
                   next = key;
                   return false;
                 }
                 begin(key, value);
               } else if (head_ && key.starts_with(prefix_)) {
                 count(key.substr(prefix_.size()), value);
               }
               rows_left -= rows_left > 0 ? 1 : 0;
               return true;
             });
    TRY(status);
    TRY(tx_.status());
    if (!next) TRY(finish(rows_left));
    TRY(changes_.write(tx_, damaged_));
    return next;
  }

  uint64_t added() const { return added_; }

 private:
  void begin(std::string_view key, std::string_view value) {
    auto head = head_of(tx_, table_, key, value);
    if (!head) return damaged_(head.error());
    head_ = std::move(*head);
    head_->part_bytes = {};
    if (table_ == Table::kLive && head_->compensations > 0) {
      constexpr auto kPart = static_cast<size_t>(Part::kCompensation);
      head_->part_bytes[kPart] = compensation_bytes(tx_, *head_);  // their rows are in `ended`
    }
    prefix_ = key.substr(0, key.size() - 1);
    before_ = value;
  }

  /// Counts a row of the instance by its part and the rest of its key. Rows of compensations that
  /// it has dropped count for nothing: a purge erases them.
  void count(std::string_view part_and_rest, std::string_view value) {
    const auto part = static_cast<uint8_t>(part_and_rest[0]);
    if (part >= kPartCount) return;
    const bool is_dropped =
        Part(part) == Part::kCompensation && !is_of_compensation(*head_, part_and_rest.substr(1));
    if (!is_dropped) head_->part_bytes[part] += Seal::plain_size(value);
  }

  /// Adds the instance whose rows were read, if there is one.
  Status finish(size_t& rows_left) {
    if (!head_) return {};
    Instance head = std::move(*std::exchange(head_, std::nullopt));
    head.history_bytes = TRY(history_bytes_of(tx_, head, rows_left));
    std::string bytes = encode_head(head);
    head.part_bytes[static_cast<size_t>(Part::kHead)] = bytes.size();
    const std::string key = part_key(prefix_, Part::kHead);
    bytes = sealed_bytes(tx_, table_, key, std::move(bytes), head.sealed);
    if (bytes != before_) tx_.put(table_, key, std::move(bytes));
    changes_.add(tx_, indexed(head));
    ++added_;
    return {};
  }

  Transaction& tx_;
  const Table table_;
  const OnDamage& damaged_;
  IndexChanges changes_;
  std::optional<Instance> head_;  ///< of the instance whose rows are being read
  std::string prefix_;            ///< of its keys
  std::string before_;            ///< the bytes of its head
  uint64_t added_ = 0;
};

/// Removes the sizes of counted rows from `usage`. Damaged rows stay as they are.
Status forget_counted(Transaction& tx) {
  std::vector<std::pair<std::string, Usage>> changed;
  TRY(rows::walk(
      tx, Table::kUsage, {}, {},
      [&](std::string_view key, std::string_view value) -> Result<bool> {
        Usage usage = TRY(rows::decode(tx, Table::kUsage, key, value, decode_usage));
        if (std::exchange(usage.counted_bytes, 0) != 0) changed.emplace_back(key, usage);
        return true;
      },
      [](const Error&) {}));
  for (const auto& [key, usage] : changed) {
    if (usage == Usage{}) {
      tx.erase(Table::kUsage, key);
    } else {
      tx.put(Table::kUsage, key, encode(usage));
    }
  }
  return {};
}

/// Adds the sizes of up to `rows_left` rows of the counted tables to `usage`, from the absolute key
/// `from` on. Returns the absolute key from which to continue; nullopt: all are added.
Result<std::optional<std::string>> add_counted(Transaction& tx, const std::string& from,
                                               size_t rows_left, const OnDamage& damaged) {
  if (from.empty()) TRY(forget_counted(tx));
  const RowOwners owners = TRY(read_owners(tx));
  const Table first = from.empty() ? kCountedTables.front() : table_of(from);
  IndexChanges changes;
  std::optional<std::string> next;
  for (const Table table : kCountedTables) {
    if (next || table < first) continue;
    const std::string_view at =
        table == first && !from.empty() ? millrace::key_of(from) : std::string_view();
    tx.scan(table, {}, at, Direction::kForward, [&](std::string_view key, std::string_view value) {
      if (rows_left == 0) {
        next = AbsoluteKey(table, key).view();
        return false;
      }
      --rows_left;
      const auto ns = counted_for(tx, owners, table, key, value);
      if (ns) changes.add_bytes(*ns, static_cast<int64_t>(counted_bytes(key, value)));
      return true;
    });
    TRY(tx.status());
  }
  TRY(changes.write(tx, damaged));
  return next;
}

/// Erases rows of the index. Returns whether none is left.
Result<bool> erase_index(Transaction& tx, size_t most_rows) {
  for (const Table table : {Table::kByStatus, Table::kCounts, Table::kUsage}) {
    most_rows -= TRY(erase_some(tx, table, {}, most_rows));
    if (most_rows == 0) return false;
  }
  return true;
}

}  // namespace

std::string encode(const IndexBuild& build) {
  Writer writer = begin_record();
  put_enum(writer, build.stage);
  writer.bytes(build.from);
  writer.varint(build.instances);
  return writer.take();
}

Result<IndexBuild> decode_index_build(std::string_view bytes) {
  Reader reader = open_record(bytes);
  IndexBuild build;
  build.stage = get_enum(reader, IndexBuild::Stage::kCounted);
  build.from = get_string(reader);
  build.instances = get_number(reader);
  return end_record(reader, std::move(build), "index");
}

bool begins_at_row(const View& view, const IndexBuild& build) {
  if (build.from.empty()) return true;
  if (build.stage == IndexBuild::Stage::kCounted) {
    const std::string_view key = millrace::key_of(build.from);
    return is_counted_table(table_of(build.from)) && !key.empty() && key.size() <= kMaxKeySize &&
           view.get(table_of(build.from), key).has_value();
  }
  const Table table = build.stage == IndexBuild::Stage::kEnded ? Table::kEnded : Table::kLive;
  return is_head(build.from) && view.get(table, build.from).has_value();
}

bool is_index_incomplete(const View& view) { return view.get(Table::kMeta, kIndexKey).has_value(); }

void request_index_build(Transaction& tx) { tx.put(Table::kMeta, kIndexKey, encode(IndexBuild{})); }

void request_count_of_rows(Transaction& tx) {
  if (is_index_incomplete(tx)) return;
  tx.put(Table::kMeta, kIndexKey, encode(IndexBuild{.stage = IndexBuild::Stage::kCounted}));
}

Result<uint64_t> build_index_step(Transaction& tx, size_t most_rows, const OnDamage& damaged) {
  // After damage to the row, the build begins again.
  auto read_build = read(tx, Table::kMeta, kIndexKey, decode_index_build);
  if (!read_build && !is_damaged_row(read_build.error())) {
    return tl::unexpected(read_build.error());
  }
  IndexBuild build = read_build ? read_build->value_or(IndexBuild{}) : IndexBuild{};
  if (!begins_at_row(tx, build)) build = {};
  bool is_complete = false;
  if (build.stage == IndexBuild::Stage::kErase) {
    if (TRY(erase_index(tx, most_rows))) build.stage = IndexBuild::Stage::kLive;
  } else if (build.stage == IndexBuild::Stage::kCounted) {
    bool is_sound = true;
    const auto next = TRY(add_counted(tx, build.from, most_rows, [&](const Error& damage) {
      is_sound = false;
      damaged(damage);
    }));
    build.from = next.value_or("");
    is_complete = !next && is_sound;
    if (!is_sound) build = {};  // a row of `usage` has lost its other sums
  } else {
    const bool is_live = build.stage == IndexBuild::Stage::kLive;
    Adding adding(tx, is_live ? Table::kLive : Table::kEnded, damaged);
    auto next = TRY(adding.add(build.from, most_rows));
    build.instances += adding.added();
    build.from = next.value_or("");
    if (!next) build.stage = is_live ? IndexBuild::Stage::kEnded : IndexBuild::Stage::kCounted;
  }
  if (is_complete) {
    tx.erase(Table::kMeta, kIndexKey);
  } else {
    tx.put(Table::kMeta, kIndexKey, encode(build));
  }
  return build.instances;
}

}  // namespace millrace
