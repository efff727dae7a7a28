#include "orchestrator/store/disk/memtable.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace millrace {
namespace {

constexpr size_t kFirstBlock = 4096;
constexpr size_t kLargestBlock = size_t{1} << 20;
constexpr size_t kAlignment = alignof(std::atomic<void*>);

}  // namespace

/// A node of the skip list. In memory, `height` links follow the node, then the bytes of its key.
struct Memtable::Node {
  std::atomic<const Version*> newest;
  uint32_t key_size;
  int32_t height;

  static size_t size(std::string_view key, int height) {
    return sizeof(Node) + static_cast<size_t>(height) * sizeof(std::atomic<Node*>) + key.size();
  }
  std::atomic<Node*>& link(int level) const {
    auto* const first = reinterpret_cast<std::atomic<Node*>*>(const_cast<Node*>(this) + 1);
    return first[level];
  }
  Node* next(int level) const { return link(level).load(std::memory_order_acquire); }
  std::string_view key() const { return {reinterpret_cast<const char*>(&link(height)), key_size}; }
};

std::optional<std::string_view> Memtable::Version::value() const {
  if (size_ == kDeleted) return std::nullopt;
  if (size_ == kMoved) return **reinterpret_cast<const std::string* const*>(this + 1);
  return std::string_view(reinterpret_cast<const char*>(this + 1), size_);
}

Memtable::Memtable() : head_(make_node({}, kMaxHeight)) { bytes_ = 0; }

char* Memtable::allocate(size_t size) {
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  bytes_ += size;
  if (size > left_) {
    // Each block is twice as large as the previous block, up to a limit, so that a memtable with
    // few rows stays small.
    left_ = std::max(size, std::min(kFirstBlock << blocks_.size(), kLargestBlock));
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(left_));
    free_ = blocks_.back().get();
  }
  left_ -= size;
  return std::exchange(free_, free_ + size);
}

Memtable::Node* Memtable::make_node(std::string_view key, int height) {
  auto* const node = new (allocate(Node::size(key, height)))
      Node{{nullptr}, static_cast<uint32_t>(key.size()), height};
  for (int level = 0; level < height; ++level) new (&node->link(level)) std::atomic<Node*>(nullptr);
  if (!key.empty()) std::memcpy(const_cast<char*>(node->key().data()), key.data(), key.size());
  return node;
}

/// A version behind which there is room for `bytes`.
Memtable::Version* Memtable::make_version(uint64_t commit, size_t size, size_t bytes) {
  auto* const version = new (allocate(sizeof(Version) + bytes)) Version;
  version->commit_ = commit;
  version->size_ = size;
  version->older_ = nullptr;
  return version;
}

Memtable::Version* Memtable::copy_of(uint64_t commit, std::optional<std::string_view> value) {
  if (!value) return make_version(commit, Version::kDeleted, 0);
  Version* const version = make_version(commit, value->size(), value->size());
  if (!value->empty())
    std::memcpy(reinterpret_cast<char*>(version + 1), value->data(), value->size());
  return version;
}

/// One node in four has a further level. The seed is always the same, so that the same rows always
/// form the same list.
int Memtable::random_height() {
  int height = 1;
  for (; height < kMaxHeight; ++height) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    if (random_ % 4 != 0) break;
  }
  return height;
}

void Memtable::before_on_each(std::string_view key, Links& nodes) const {
  Node* node = head_;
  for (int level = kMaxHeight - 1; level >= 0; --level) {
    for (Node* next = node->next(level); next != nullptr && next->key() < key;
         next = node->next(level)) {
      node = next;
    }
    nodes[static_cast<size_t>(level)] = node;
  }
}

/// As long as no node was passed, the nodes before the last key are right on each level: they come
/// before `key`, and no node between them and `key` has a key less than the last key. A node that
/// was passed has a key that is not less than the last key, so it comes after those nodes.
void Memtable::search_from_last(std::string_view key, Links& nodes) {
  const bool ascends = last_ != nullptr && key >= last_->key();
  bool has_passed = !ascends;
  Node* node = head_;
  for (int level = kMaxHeight - 1; level >= 0; --level) {
    if (!has_passed) node = before_last_[static_cast<size_t>(level)];
    for (Node* next = node->next(level); next != nullptr && next->key() < key;
         next = node->next(level)) {
      node = next;
      has_passed = true;
      ++passed_;
    }
    nodes[static_cast<size_t>(level)] = node;
  }
}

const Memtable::Node* Memtable::before(std::string_view key) const {
  Links nodes;
  before_on_each(key, nodes);
  return nodes[0] == head_ ? nullptr : nodes[0];
}

Memtable::Node* Memtable::at_or_after(std::string_view key) const {
  Links nodes;
  before_on_each(key, nodes);
  // Since nodes[0] was found, the writer may have linked further nodes after it, also nodes with
  // keys below `key`.
  Node* node = nodes[0]->next(0);
  while (node != nullptr && node->key() < key) node = node->next(0);
  return node;
}

const Memtable::Version* Memtable::version_at(const Node& node, uint64_t commit) {
  const Version* version = node.newest.load(std::memory_order_acquire);
  while (version != nullptr && version->commit_ > commit) version = version->older_;
  return version;
}

const Memtable::Version* Memtable::add(uint64_t commit, std::string_view key,
                                       std::optional<std::string_view> value) {
  return link(key, copy_of(commit, value));
}

const Memtable::Version* Memtable::take(uint64_t commit, std::string_view key,
                                        std::string&& value) {
  bytes_ += value.size();
  const std::string* const moved = &moved_.emplace_back(std::move(value));
  Version* const version = make_version(commit, Version::kMoved, sizeof moved);
  std::memcpy(reinterpret_cast<char*>(version + 1), &moved, sizeof moved);
  return link(key, version);
}

const Memtable::Version* Memtable::link(std::string_view key, Version* version) {
  Links before;
  search_from_last(key, before);
  before_last_ = before;
  Node* const found = before[0]->next(0);
  if (found != nullptr && found->key() == key) {
    last_ = found;
    const Version* const older = found->newest.load(std::memory_order_relaxed);
    version->older_ = older;
    found->newest.store(version, std::memory_order_release);
    return older;
  }
  // The node is complete before it is linked, and the levels are linked from the lowest up. So a
  // reader that finds the node on one level also finds it on every lower level.
  Node* const node = make_node(key, random_height());
  node->newest.store(version, std::memory_order_relaxed);
  last_ = node;
  for (int level = 0; level < node->height; ++level) {
    std::atomic<Node*>& link = before[static_cast<size_t>(level)]->link(level);
    node->link(level).store(link.load(std::memory_order_relaxed), std::memory_order_relaxed);
    link.store(node, std::memory_order_release);
  }
  ++rows_;
  return nullptr;
}

const Memtable::Version* Memtable::find(std::string_view key, uint64_t commit) const {
  const Node* const node = at_or_after(key);
  return node != nullptr && node->key() == key ? version_at(*node, commit) : nullptr;
}

Memtable::Cursor::Cursor(const Memtable& table, uint64_t commit, const KeyRange& range,
                         Direction direction)
    : table_(table), commit_(commit), range_(range), direction_(direction) {
  set_node(direction == Direction::kForward ? table.at_or_after(range.low)
                                            : table.before(range.high));
}

std::string_view Memtable::Cursor::key() const { return node_->key(); }

void Memtable::Cursor::next() {
  set_node(direction_ == Direction::kForward ? node_->next(0) : table_.before(node_->key()));
}

/// Moves to the first row, from `node` on, that has a version for the commit.
void Memtable::Cursor::set_node(const Node* node) {
  const bool is_forward = direction_ == Direction::kForward;
  for (; node != nullptr; node = is_forward ? node->next(0) : table_.before(node->key())) {
    const bool is_inside = is_forward ? node->key() < range_.high : node->key() >= range_.low;
    if (!is_inside) break;
    version_ = version_at(*node, commit_);
    if (version_ != nullptr) {
      node_ = node;
      return;
    }
  }
  node_ = nullptr;
}

}  // namespace millrace
