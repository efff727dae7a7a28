// Memtable: rows in memory, with all versions that they had, in the order of their absolute keys: a
// skip list, as LSM stores have. One thread adds; any thread reads meanwhile and waits for nobody.
// It only grows: rows that are in LMDB too go by dropping the whole table.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "orchestrator/store/disk/table.h"

namespace millrace {

class Memtable {
 public:
  /// What a commit made of a row.
  class Version {
   public:
    /// nullopt: the row is deleted.
    std::optional<std::string_view> value() const;

   private:
    friend class Memtable;
    static constexpr size_t kDeleted = SIZE_MAX;

    uint64_t commit_;
    size_t size_;  ///< of the value, whose bytes follow; or kDeleted
    const Version* older_;
  };

  class Cursor;

  Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  /// Adds what `commit` makes of a row; commits only rise. Readers that look at an earlier one do
  /// not see it. Returns the version before, or nullptr.
  const Version* add(uint64_t commit, std::string_view key, std::optional<std::string_view> value);

  /// The row as it was after `commit`; nullptr: this table says nothing of it.
  const Version* find(std::string_view key, uint64_t commit) const;

  bool empty() const { return rows_ == 0; }
  size_t rows() const { return rows_; }
  /// Memory that it takes, within a block.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr int kMaxHeight = 12;
  struct Node;
  using Links = std::array<Node*, kMaxHeight>;

  char* allocate(size_t size);
  Node* make_node(std::string_view key, int height);
  const Version* make_version(uint64_t commit, std::optional<std::string_view> value,
                              const Version* older);
  int random_height();

  /// The first node whose key is `key` or greater.
  Node* at_or_after(std::string_view key) const;
  /// The last node whose key is less; nullptr: there is none.
  const Node* before(std::string_view key) const;
  /// The same on each level.
  void before_on_each(std::string_view key, Links& nodes) const;
  static const Version* version_at(const Node& node, uint64_t commit);

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  ///< in the last block
  size_t left_ = 0;
  size_t bytes_ = 0;
  size_t rows_ = 0;
  uint32_t random_ = 1;
  Node* head_;  ///< before all rows
};

/// Walks the rows of a range as they were after a commit, deleted ones too. The range and the table
/// must outlive it.
class Memtable::Cursor {
 public:
  Cursor(const Memtable& table, uint64_t commit, const KeyRange& range, Direction direction);

  bool valid() const { return node_ != nullptr; }
  std::string_view key() const;
  std::optional<std::string_view> value() const { return version_->value(); }
  void next();

 private:
  void settle(const Node* node);

  const Memtable& table_;
  uint64_t commit_;
  const KeyRange& range_;
  Direction direction_;
  const Node* node_ = nullptr;
  const Version* version_ = nullptr;
};

}  // namespace millrace
