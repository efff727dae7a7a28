// PageWalk: one run of the page check over all trees of data.mdb: the main tree, the trees that it
// names, and the tree of free pages. Each offset, length and page number is checked before its use,
// and no page is read twice. For use by one thread. Only for orchestrator/store/disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/page_file.h"
#include "orchestrator/store/disk/page_layout.h"

namespace millrace {

class PageWalk {
 public:
  PageWalk(const PageFile& file, const PageCheckOptions& options)
      : file_(file), options_(options), pages_(file.size / file.page_bytes) {}

  /// Reads every page of the trees once. Call it once.
  PageReport run();

 private:
  enum class Kind : uint8_t { kFree, kMain, kNamed };
  struct Tree {
    std::string name;
    Kind kind{};
    lmdb::Root root;
    uint64_t home = 0;      ///< the page that has the root
    bool is_large = false;  ///< its leaf pages are not read
  };
  /// The range of keys of a page: `from` ≤ key < `to`; empty: no bound.
  struct Bounds {
    std::string_view from;
    std::string_view to;
  };
  struct Counts {
    uint64_t branch_pages = 0;
    uint64_t leaf_pages = 0;
    uint64_t overflow_pages = 0;
    uint64_t entries = 0;
  };
  /// A branch or leaf page whose header was checked.
  struct Page {
    uint64_t number = 0;
    std::string_view bytes;
    uint16_t flags = 0;
    size_t lower = 0;
    size_t upper = 0;

    bool is_branch() const { return flags == lmdb::kBranch; }
    size_t nodes() const { return (lower - lmdb::kPageHead) / 2; }
    size_t offset(size_t node) const {
      return lmdb::load<uint16_t>(bytes, lmdb::kPageHead + 2 * node);
    }
  };
  struct Node {
    std::string_view key;
    uint16_t flags = 0;   ///< leaf pages only
    uint64_t child = 0;   ///< branch pages only: the child's page number
    uint64_t bytes = 0;   ///< size of the value
    size_t value_at = 0;  ///< offset of the value, or of its overflow run's page number
  };

  void add(const Tree& tree, uint64_t page, std::string found);
  bool is_ahead(uint64_t page, size_t bytes);
  bool read_bytes(const Tree& tree, uint64_t page, size_t bytes, std::string& to);
  bool reach(const Tree& tree, uint64_t from, uint64_t page, uint64_t count);

  void check_tree(const Tree& tree);
  bool check_root(const Tree& tree);
  void check_counts(const Tree& tree);
  void check_page(const Tree& tree, uint64_t from, uint64_t number, size_t level, Bounds bounds);
  std::optional<Page> read_page(const Tree& tree, uint64_t number, size_t level);
  bool check_nodes(const Tree& tree, const Page& page);
  Node node_at(const Page& page, size_t node) const;
  bool check_key(const Tree& tree, const Page& page, size_t node, std::string_view key,
                 std::string_view before, const Bounds& bounds);
  bool check_last_key(const Tree& tree, const Page& page, std::string_view key,
                      const Bounds& bounds);
  bool refuse_key(const Tree& tree, const Page& page, size_t node);
  bool is_less(const Tree& tree, std::string_view a, std::string_view b) const;
  void check_value(const Tree& tree, const Page& page, const Node& node);
  void check_named(const Tree& tree, const Page& page, const Node& node);
  bool check_run(const Tree& tree, const Page& page, const Node& node, uint64_t& run);
  void check_free(const Tree& tree, const Page& page, const Node& node);
  void check_free_pages(const Tree& tree);

  const PageFile& file_;
  const PageCheckOptions& options_;
  const uint64_t pages_;  ///< the number of complete pages in the file
  PageReport report_;

  uint64_t ahead_from_ = 0;  ///< the first page of ahead_
  std::string ahead_;        ///< pages that were read ahead
  uint64_t expected_ = 0;    ///< the page after the last page that was read

  std::vector<std::string> levels_{lmdb::kMostDepth};  ///< the current page of each level
  std::vector<bool> starts_;                           ///< where nodes of the current page begin
  std::vector<bool> reached_;
  std::vector<bool> free_;
  uint64_t free_behind_ = 0;  ///< the number of free pages after the end of the file
  Counts counts_;             ///< counted so far in the current tree
  std::vector<Tree> named_;
};

}  // namespace millrace
