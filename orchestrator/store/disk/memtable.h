// Memtable: rows in memory with all their versions, in the order of their absolute keys: a skip
// list, as in LSM stores. One thread adds rows; any thread reads at the same time without waiting.
// A memtable only grows: it is dropped as a whole once all its rows are in LMDB.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/store/disk/table.h"

namespace millrace {

class Memtable {
 public:
  /// A row as one commit wrote it.
  class Version {
   public:
    /// The value of the row; nullopt: the commit deleted the row.
    std::optional<std::string_view> value() const;

   private:
    friend class Memtable;
    static constexpr size_t kDeleted = SIZE_MAX;
    static constexpr size_t kMoved = SIZE_MAX - 1;

    uint64_t commit_;
    /// The size of the value, whose bytes follow this object; kDeleted: no value; kMoved: a pointer
    /// to the value follows.
    size_t size_;
    const Version* older_;
  };

  class Cursor;

  Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  /// Adds the version of a row that `commit` writes; a `value` of nullopt deletes the row. Commit
  /// numbers must not decrease. Readers of an earlier commit do not see the version. Returns the
  /// previous version of the row; nullptr: the memtable had none. The keys of a commit ascend, so
  /// add() searches from the key that was added last on; any other order is slower.
  const Version* add(uint64_t commit, std::string_view key, std::optional<std::string_view> value);

  /// The same for a value that the memtable takes as it is. To copy a value of megabytes takes
  /// longer than all else that a commit does with it in memory.
  const Version* take(uint64_t commit, std::string_view key, std::string&& value);

  /// The row as it was after `commit`; nullptr: this memtable has no version of it.
  const Version* find(std::string_view key, uint64_t commit) const;

  bool empty() const { return rows_ == 0; }
  size_t rows() const { return rows_; }
  /// The memory in use, in bytes, except for the unused rest of the blocks.
  size_t bytes() const { return bytes_; }
  /// How many rows add() has passed in its searches so far.
  uint64_t passed() const { return passed_; }

 private:
  static constexpr int kMaxHeight = 12;
  struct Node;
  using Links = std::array<Node*, kMaxHeight>;

  char* allocate(size_t size);
  Node* make_node(std::string_view key, int height);
  Version* make_version(uint64_t commit, size_t size, size_t bytes);
  Version* copy_of(uint64_t commit, std::optional<std::string_view> value);
  const Version* link(std::string_view key, Version* version);
  int random_height();

  /// The first node whose key is `key` or greater.
  Node* at_or_after(std::string_view key) const;
  /// The last node whose key is less than `key`; nullptr: there is none.
  const Node* before(std::string_view key) const;
  /// Sets `nodes` to the last node of each level whose key is less than `key`; on a level without
  /// such a node, to `head_`.
  void before_on_each(std::string_view key, Links& nodes) const;
  /// The same for add(), from the key that was added last on, if `key` is not less.
  void search_from_last(std::string_view key, Links& nodes);
  static const Version* version_at(const Node& node, uint64_t commit);

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::deque<std::string> moved_;  ///< the values that take() was given
  char* free_ = nullptr;           ///< the first unused byte of the last block
  size_t left_ = 0;                ///< unused bytes from `free_` on
  size_t bytes_ = 0;
  size_t rows_ = 0;
  uint32_t random_ = 1;
  Node* head_;  ///< a node without a row, the first of each level
  // Of the thread that adds rows.
  const Node* last_ = nullptr;  ///< the node of the row that was added last; nullptr: there is none
  Links before_last_{};  ///< on each level, the last node whose key is less than that of last_
  uint64_t passed_ = 0;
};

/// Iterates over the rows of a range as they were after a commit, including deleted rows. The range
/// and the table must outlive the cursor.
class Memtable::Cursor {
 public:
  Cursor(const Memtable& table, uint64_t commit, const KeyRange& range, Direction direction);

  bool valid() const { return node_ != nullptr; }
  std::string_view key() const;
  std::optional<std::string_view> value() const { return version_->value(); }
  void next();

 private:
  void set_node(const Node* node);

  const Memtable& table_;
  uint64_t commit_;
  const KeyRange& range_;
  Direction direction_;
  const Node* node_ = nullptr;
  const Version* version_ = nullptr;
};

}  // namespace millrace
