// RowDamages: all damages to the rows of a DyingStore. Each place of a row gets wrong values, as if
// a field of each kind began at that place.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/codec.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/dying_store.h"
#include "tests/simulation/world.h"

namespace millrace {

/// A damage of one row.
struct RowDamage {
  std::string what;
  size_t row = 0;
  bool drops = false;                ///< whether the row is erased
  std::string key;                   ///< the key of the row after the damage
  std::string value;                 ///< the value of the row after the damage
  std::optional<size_t> other = {};  ///< another row, which gets the value of this row
};

inline std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

/// All damages to all rows: each place of a row gets wrong values, as if a field of each kind began
/// there.
class RowDamages {
 public:
  explicit RowDamages(const std::vector<DyingStore::Row>& rows) : rows_(rows) {
    for (row_ = 0; row_ < rows_.size(); ++row_) add_row();
  }

  std::vector<RowDamage> take() { return std::move(all_); }

 private:
  void add_row() {
    const std::string& key = rows_[row_].key;
    const std::string& value = rows_[row_].value;
    add("dropped", true, key, "");
    for (const size_t size : {size_t{0}, size_t{1}, value.size() / 2, value.size() - 1}) {
      if (size < value.size())
        add(fmt::format("cut to {}", size), false, key, value.substr(0, size));
    }
    add("a byte more", false, key, value + '\0');
    for (const char* const text : {"{", "[1", "x", "null", "1", "[]", "\xff", "{\"a\":1}"}) {
      add(fmt::format("is {}", text), false, key, text);
    }
    if (value.size() == 8) add_numbers(0, false);
    for (size_t at = 0; at < value.size(); ++at) {
      for (const uint8_t mask : {0x01, 0x02, 0x80, 0xff}) {
        std::string changed = value;
        changed[at] = static_cast<char>(changed[at] ^ mask);
        add(fmt::format("byte {} ^ {:02x}", at, mask), false, key, changed);
      }
      add_varints(at);
      add_text(at);
    }
    add_keys();
    add_swap();
  }

  /// Adds damages that replace the varint at byte `at`.
  void add_varints(size_t at) {
    const std::string& value = rows_[row_].value;
    size_t end = at;
    while (end < value.size() && (value[end] & 0x80) != 0) ++end;
    if (end == value.size()) return;
    for (const uint64_t number :
         {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{10'000}, uint64_t{0xffffffff},
          uint64_t{1} << 60, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
      Writer changed(value.substr(0, at));
      changed.varint(number);
      changed.raw(std::string_view(value).substr(end + 1));
      add(fmt::format("varint {} = {}", at, number), false, rows_[row_].key, changed.take());
    }
  }

  /// Adds damages that replace the text at byte `at`.
  void add_text(size_t at) {
    const std::string& value = rows_[row_].value;
    Reader reader(std::string_view(value).substr(at));
    const std::string_view text = reader.bytes();
    if (!reader.ok() || text.empty()) return;
    const std::string_view rest = reader.rest();
    for (const char* const other : {"", "{", "null", "[]", "no-such-thing", "\xff\xfe"}) {
      Writer changed(value.substr(0, at));
      changed.bytes(other);
      changed.raw(rest);
      add(fmt::format("text {} = {}", at, other), false, rows_[row_].key, changed.take());
    }
  }

  void add_numbers(size_t at, bool of_key) {
    const DyingStore::Row& row = rows_[row_];
    for (const uint64_t number :
         {uint64_t{0}, uint64_t{1}, uint64_t{1'000'000}, uint64_t{1} << 48, uint64_t{1} << 55,
          uint64_t{1} << 60, uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
      std::string changed = of_key ? row.key : row.value;
      changed.replace(at, 8, rows::key_of(number));
      add(fmt::format("{} u64 {} = {}", of_key ? "key" : "value", at, number), false,
          of_key ? changed : row.key, of_key ? row.value : changed);
    }
  }

  void add_keys() {
    const auto& [table, key, value, sealed] = rows_[row_];
    if (key.size() >= 8) add_numbers(key.size() - 8, true);
    add("key cut", false, key.substr(0, key.size() - 1), value);
    add("key longer", false, key + "\x01", value);
    for (size_t at = 0; at < key.size(); ++at) {
      std::string changed = key;
      changed[at] = static_cast<char>(changed[at] ^ 0x01);
      add(fmt::format("key byte {}", at), false, changed, value);
    }
  }

  void add_swap() {
    const size_t next = row_ + 1;
    if (next == rows_.size() || rows_[next].table != rows_[row_].table) return;
    add("swapped", false, rows_[row_].key, rows_[next].value);
    all_.back().other = next;
    add("as its neighbour", false, rows_[row_].key, rows_[next].value);
  }

  void add(std::string what, bool drops, std::string key, std::string value) {
    if (key.empty() || key.size() > kMaxKeySize) return;
    const DyingStore::Row& row = rows_[row_];
    all_.push_back({fmt::format("{} {} {}", table_name(row.table), hex(row.key), what), row_, drops,
                    std::move(key), std::move(value)});
  }

  const std::vector<DyingStore::Row>& rows_;
  size_t row_ = 0;
  std::vector<RowDamage> all_;
};

inline void put(Transaction& tx, const DyingStore::Row& row, const std::string& key,
                const std::string& value) {
  rows::put(tx, row.table, key, value, row.sealed);
}

inline void do_damage(World& world, const std::vector<DyingStore::Row>& rows,
                      const RowDamage& damage) {
  const DyingStore::Row& row = rows[damage.row];
  world.change_store([&](Transaction& tx) {
    if (damage.drops || damage.key != row.key) tx.erase(row.table, row.key);
    if (!damage.drops) put(tx, row, damage.key, damage.value);
    if (damage.other) put(tx, rows[*damage.other], rows[*damage.other].key, row.value);
  });
}

}  // namespace millrace
