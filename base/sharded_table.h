// ShardedTable: a hash table of many shards, each of which grows alone. A single table moves all
// its values when it grows, so with a million values the thread that adds one more would stop for
// tens of milliseconds. Here it moves the values of one shard.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace millrace {

/// `Table` is a set or a map with the interface of those of boost and of the standard library.
template <class Table>
class ShardedTable {
 public:
  using Value = typename Table::value_type;

  ShardedTable() = default;
  /// Each shard gets the hash and the comparison of `empty`.
  explicit ShardedTable(const Table& empty) : hash_(empty.hash_function()) { shards_.fill(empty); }

  size_t size() const { return size_; }
  /// Makes room for about `count` values.
  void reserve(size_t count) {
    for (Table& shard : shards_) shard.reserve(count / kShards);
  }
  void clear() {
    for (Table& shard : shards_) shard.clear();
    size_ = 0;
  }

  /// The value with this key; nullptr: there is none. Valid until the table changes.
  template <class Key>
  const Value* find(const Key& key) const {
    const Table& shard = shards_[shard_of(key)];
    const auto found = shard.find(key);
    return found == shard.end() ? nullptr : &*found;
  }
  template <class Key>
  Value* find(const Key& key) {
    return const_cast<Value*>(std::as_const(*this).find(key));
  }
  template <class Key>
  bool contains(const Key& key) const {
    return find(key) != nullptr;
  }

  /// Adds a value to a set. Returns whether it is new, and the value of the set that is equal to
  /// it.
  template <class One>
  std::pair<const Value*, bool> insert(const One& value) {
    const auto [at, is_new] = shards_[shard_of(value)].insert(value);
    size_ += is_new;
    return {&*at, is_new};
  }
  /// Sets the value of a key of a map. Returns key and value, and whether the key is new.
  template <class Key, class Mapped>
  std::pair<Value*, bool> set(const Key& key, Mapped&& value) {
    const auto [at, is_new] =
        shards_[shard_of(key)].insert_or_assign(key, std::forward<Mapped>(value));
    size_ += is_new;
    return {&*at, is_new};
  }

  /// Returns whether the table had a value with this key.
  template <class Key>
  bool erase(const Key& key) {
    const size_t erased = shards_[shard_of(key)].erase(key);
    size_ -= erased;
    return erased > 0;
  }

  /// Calls `see` with each value, in any order.
  template <class See>
  void each(const See& see) const {
    for (const Table& shard : shards_) std::for_each(shard.begin(), shard.end(), see);
  }

 private:
  static constexpr size_t kShards = 256;

  /// The tables use the highest bits of a hash for the place of a value, and its lowest byte to
  /// distinguish values of neighbouring places; so the shard depends on other bits.
  template <class Key>
  size_t shard_of(const Key& key) const {
    return (hash_(key) >> 8) % kShards;
  }

  typename Table::hasher hash_;
  std::array<Table, kShards> shards_;
  size_t size_ = 0;
};

}  // namespace millrace
