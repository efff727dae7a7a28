// PageImage: builds a data.mdb byte by byte, for tests of the code that reads its pages without
// LMDB. The layout is that of orchestrator/store/disk/page_layout.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/store/disk/page_layout.h"

namespace millrace {

/// A row of a leaf page.
struct LeafNode {
  std::string key;
  std::string value;  ///< or, with kInOverflow, the page number of its run in eight bytes
  uint16_t flags = 0;
  std::optional<uint32_t>
      size;  ///< the size of the value that the node records; none: the true size
};

/// A child of a branch page; the key of the first child is ignored.
struct BranchNode {
  std::string key;
  uint64_t page = 0;
};

template <class T>
std::string number_bytes(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

inline std::string root_bytes(const lmdb::Root& root) {
  return number_bytes(root.page_bytes) + number_bytes(root.flags) + number_bytes(root.depth) +
         number_bytes(root.branch_pages) + number_bytes(root.leaf_pages) +
         number_bytes(root.overflow_pages) + number_bytes(root.entries) + number_bytes(root.page);
}

/// The root of a tree with one leaf page.
inline lmdb::Root leaf_root(uint64_t page, uint64_t entries) {
  return {.depth = 1, .leaf_pages = 1, .entries = entries, .page = page};
}

class PageImage {
 public:
  static constexpr size_t kBytes = 512;  ///< the size of a page

  explicit PageImage(size_t pages) : bytes_(pages * kBytes, '\0') {}

  std::string& bytes() { return bytes_; }

  template <class T>
  void put(uint64_t page, size_t at, T number) {
    std::memcpy(bytes_.data() + page * kBytes + at, &number, sizeof number);
  }
  void put_text(uint64_t page, size_t at, std::string_view text) {
    bytes_.replace(page * kBytes + at, text.size(), text);
  }

  /// Writes both meta pages. Page 0 is the newer one, of transaction 4.
  void make_metas(const lmdb::Root& main, lmdb::Root free = {}) {
    free.page_bytes = kBytes;
    free.flags = lmdb::kIntegerKeys;
    for (const uint64_t page : {0, 1}) {
      put(page, 0, page);
      put(page, 10, lmdb::kMeta);
      put(page, 16, lmdb::kLmdbMagic);
      put(page, 20, lmdb::kLmdbFormat);
      put_text(page, 40, root_bytes(free));
      put_text(page, 88, root_bytes(main));
      put(page, 136, bytes_.size() / kBytes - 1);
      put(page, 144, uint64_t{page == 0 ? 4U : 3U});
    }
  }

  void make_leaf(uint64_t page, const std::vector<LeafNode>& nodes) {
    std::vector<std::string> bytes_of_nodes;
    for (const LeafNode& node : nodes) {
      const auto size = node.size.value_or(static_cast<uint32_t>(node.value.size()));
      bytes_of_nodes.push_back(number_bytes(size) + number_bytes(node.flags) +
                               number_bytes(static_cast<uint16_t>(node.key.size())) + node.key +
                               node.value);
    }
    make_page(page, lmdb::kLeaf, bytes_of_nodes);
  }

  void make_branch(uint64_t page, const std::vector<BranchNode>& nodes) {
    std::vector<std::string> bytes_of_nodes;
    for (const BranchNode& node : nodes) {
      bytes_of_nodes.push_back(number_bytes(static_cast<uint32_t>(node.page)) +
                               number_bytes(static_cast<uint16_t>(node.page >> 32)) +
                               number_bytes(static_cast<uint16_t>(node.key.size())) + node.key);
    }
    make_page(page, lmdb::kBranch, bytes_of_nodes);
  }

  void make_overflow(uint64_t page, uint32_t pages) {
    put(page, 0, page);
    put(page, 10, lmdb::kOverflow);
    put(page, 12, pages);
  }

  void write_to(const std::filesystem::path& path) const {
    std::ofstream(path, std::ios::binary) << bytes_;
  }

 private:
  void make_page(uint64_t page, uint16_t flags, const std::vector<std::string>& nodes) {
    size_t upper = kBytes;
    for (size_t i = 0; i < nodes.size(); ++i) {
      upper -= nodes[i].size() + nodes[i].size() % 2;
      put_text(page, upper, nodes[i]);
      put(page, lmdb::kPageHead + 2 * i, static_cast<uint16_t>(upper));
    }
    put(page, 0, page);
    put(page, 10, flags);
    put(page, 12, static_cast<uint16_t>(lmdb::kPageHead + 2 * nodes.size()));
    put(page, 14, static_cast<uint16_t>(upper));
  }

  std::string bytes_;
};

}  // namespace millrace
