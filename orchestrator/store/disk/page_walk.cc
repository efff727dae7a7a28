#include "orchestrator/store/disk/page_walk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/disk/table.h"

namespace millrace {

using namespace lmdb;

namespace {

constexpr uint64_t kPagesOfAStep = 4096;
constexpr size_t kPagesAhead = 16;

std::string quoted(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= ' ' && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

}  // namespace

PageReport PageWalk::run() {
  if (file_.damage) {
    report_.count = 1;
    report_.damages.push_back(*file_.damage);
    return std::move(report_);
  }
  starts_.resize(file_.page_bytes / 2);
  reached_.resize(pages_);
  free_.resize(pages_);
  const uint64_t home = file_.meta.transaction % 2;
  const Tree free{.name = "free", .kind = Kind::kFree, .root = file_.meta.free, .home = home};
  const Tree main{.name = "main", .kind = Kind::kMain, .root = file_.meta.main, .home = home};
  check_tree(main);
  for (const Tree& tree : named_) check_tree(tree);
  check_tree(free);
  check_free_pages(free);
  return std::move(report_);
}

void PageWalk::add(const Tree& tree, uint64_t page, std::string found) {
  ++report_.count;
  if (report_.damages.size() >= options_.most_damages) return;
  report_.damages.push_back({.tree = tree.name, .page = page, .found = std::move(found)});
}

/// Reads `bytes` bytes from the start of `page` on into `to`. False: read_bytes() added a damage to
/// the report.
bool PageWalk::read_bytes(const Tree& tree, uint64_t page, size_t bytes, std::string& to) {
  if (++report_.pages % kPagesOfAStep == 0 && options_.goes_on) {
    report_.is_stopped = report_.is_stopped || !options_.goes_on();
  }
  to.resize(bytes);
  size_t got = 0;
  if (is_ahead(page, bytes)) {
    ahead_.copy(to.data(), bytes, (page - ahead_from_) * file_.page_bytes);
    return true;
  }
  if (!file_.read(page * file_.page_bytes, to.data(), bytes, got)) {
    add(tree, page, fmt::format("it cannot be read: {}", std::strerror(errno)));
    return false;
  }
  if (got == bytes) return true;
  add(tree, page, fmt::format("the file ends within it, at byte {}", file_.size));
  return false;
}

/// Whether ahead_ has the first `bytes` bytes of `page`. If the walk reads pages in the order of
/// the file, is_ahead() first reads several pages into ahead_; a failed read leaves ahead_ empty.
bool PageWalk::is_ahead(uint64_t page, size_t bytes) {
  if (bytes > file_.page_bytes) return false;
  const auto has = [&] {
    return page >= ahead_from_ && (page - ahead_from_ + 1) * file_.page_bytes <= ahead_.size();
  };
  if (std::exchange(expected_, page + 1) == page && !has()) {
    ahead_.resize(kPagesAhead * file_.page_bytes);
    size_t got = 0;
    const bool read = file_.read(page * file_.page_bytes, ahead_.data(), ahead_.size(), got);
    ahead_.resize(read ? got : 0);
    ahead_from_ = page;
  }
  return has();
}

/// Records that page `from` leads to `count` pages from `page` on. False: reach() added a damage to
/// the report, because a page is out of range or another page already leads to it.
bool PageWalk::reach(const Tree& tree, uint64_t from, uint64_t page, uint64_t count) {
  const uint64_t end = std::min(pages_, file_.meta.last_page + 1);
  if (page < kMetaPages || page >= end || count > end - page) {
    add(tree, from,
        fmt::format("it leads to page {}{}, expected pages from {} to {}", page,
                    count == 1 ? "" : fmt::format(" and the {} after it", count - 1), kMetaPages,
                    end - 1));
    return false;
  }
  for (uint64_t one = page; one < page + count; ++one) {
    if (reached_[one]) {
      add(tree, from, fmt::format("it leads to page {}, to which another page leads, too", one));
      return false;
    }
    reached_[one] = true;
  }
  return true;
}

// Trees.

void PageWalk::check_tree(const Tree& tree) {
  if (!check_root(tree)) return;
  counts_ = {};
  const uint64_t before = report_.count;
  if (tree.root.depth > 0) check_page(tree, tree.home, tree.root.page, 1, {});
  if (report_.count == before && !report_.is_stopped) check_counts(tree);
}

bool PageWalk::check_root(const Tree& tree) {
  const Root& root = tree.root;
  const uint16_t flags = tree.kind == Kind::kFree ? kIntegerKeys : 0;
  if ((root.flags & kTreeFlags) != flags) {
    add(tree, tree.home,
        fmt::format("the root has flags {:#x}, expected {:#x}", root.flags, flags));
    return false;
  }
  if (root.depth > kMostDepth || (root.depth == 0) != (root.page == kNoPage)) {
    add(tree, tree.home,
        fmt::format("the root has depth {} and page {}, expected a depth up to {} and a page, or "
                    "depth 0 and no page",
                    root.depth, root.page, kMostDepth));
    return false;
  }
  return true;
}

void PageWalk::check_counts(const Tree& tree) {
  const Root& root = tree.root;
  if (tree.is_large) {
    counts_.overflow_pages = root.overflow_pages;
    counts_.entries = root.entries;
  }
  if (root.branch_pages == counts_.branch_pages && root.leaf_pages == counts_.leaf_pages &&
      root.overflow_pages == counts_.overflow_pages && root.entries == counts_.entries) {
    return;
  }
  add(tree, tree.home,
      fmt::format("the tree has {} branch pages, {} leaf pages, {} overflow pages and {} rows, "
                  "expected {}, {}, {} and {} as its root says",
                  counts_.branch_pages, counts_.leaf_pages, counts_.overflow_pages, counts_.entries,
                  root.branch_pages, root.leaf_pages, root.overflow_pages, root.entries));
}

// Pages.

void PageWalk::check_page(const Tree& tree, uint64_t from, uint64_t number, size_t level,
                          Bounds bounds) {
  if (report_.is_stopped || !reach(tree, from, number, 1)) return;
  if (tree.is_large && level == tree.root.depth) {
    ++counts_.leaf_pages;
    return;
  }
  const auto page = read_page(tree, number, level);
  if (!page || !check_nodes(tree, *page)) return;
  std::string_view before;
  for (size_t i = 0; i < page->nodes(); ++i) {
    const Node node = node_at(*page, i);
    if (page->is_branch() && i == 0) continue;  // LMDB ignores the key of this node
    if (!check_key(tree, *page, i, node.key, before, bounds)) return;
    before = node.key;
  }
  if (!check_last_key(tree, *page, before, bounds)) return;
  if (page->is_branch()) {
    ++counts_.branch_pages;
    for (size_t i = 0; i < page->nodes(); ++i) {
      const bool is_last = i + 1 == page->nodes();
      const Node node = node_at(*page, i);
      check_page(tree, number, node.child, level + 1,
                 {.from = i == 0 ? bounds.from : node.key,
                  .to = is_last ? bounds.to : node_at(*page, i + 1).key});
    }
    return;
  }
  ++counts_.leaf_pages;
  counts_.entries += page->nodes();
  for (size_t i = 0; i < page->nodes(); ++i) check_value(tree, *page, node_at(*page, i));
}

std::optional<PageWalk::Page> PageWalk::read_page(const Tree& tree, uint64_t number, size_t level) {
  std::string& bytes = levels_[level - 1];
  if (!read_bytes(tree, number, file_.page_bytes, bytes)) return std::nullopt;
  const Page page{.number = number,
                  .bytes = bytes,
                  .flags = load<uint16_t>(bytes, 10),
                  .lower = load<uint16_t>(bytes, 12),
                  .upper = load<uint16_t>(bytes, 14)};
  if (const auto found = load<uint64_t>(bytes, 0); found != number) {
    add(tree, number, fmt::format("its header has number {}, expected {}", found, number));
    return std::nullopt;
  }
  const uint16_t flags = level < tree.root.depth ? kBranch : kLeaf;
  if (page.flags != flags) {
    add(tree, number,
        fmt::format("its flags are {:#x}, expected {:#x}: a {} page", page.flags, flags,
                    flags == kBranch ? "branch" : "leaf"));
    return std::nullopt;
  }
  // LMDB aborts the process at a branch page with fewer than two nodes, except in the free tree.
  const size_t least = flags == kBranch && tree.kind != Kind::kFree ? 2 : 1;
  if (page.lower < kPageHead + 2 * least || page.lower % 2 != 0 || page.lower > page.upper ||
      page.upper % 2 != 0 || page.upper > bytes.size()) {
    add(tree, number,
        fmt::format(
            "its offsets end at {} and its nodes begin at {}, expected even numbers from {} "
            "to {}, the first not above the second",
            page.lower, page.upper, kPageHead + 2 * least, bytes.size()));
    return std::nullopt;
  }
  return page;
}

/// Whether the nodes follow each other without a gap to the end of the page, and each node has
/// exactly one offset.
bool PageWalk::check_nodes(const Tree& tree, const Page& page) {
  std::fill(starts_.begin(), starts_.end(), false);
  const std::string_view bytes = page.bytes;
  size_t nodes = 0;
  for (size_t at = page.upper; at < bytes.size(); ++nodes) {
    uint64_t size = bytes.size();
    if (bytes.size() - at >= kNodeHead) {
      size = kNodeHead + load<uint16_t>(bytes, at + 6);
      if (!page.is_branch()) {
        const bool is_apart = (load<uint16_t>(bytes, at + 4) & kInOverflow) != 0;
        size += is_apart ? sizeof(uint64_t) : load<uint32_t>(bytes, at);
      }
      size += size % 2;
    }
    if (size > bytes.size() - at) {
      add(tree, page.number, fmt::format("the node at byte {} does not end within the page", at));
      return false;
    }
    starts_[at / 2] = true;
    at += size;
  }
  if (nodes != page.nodes()) {
    add(tree, page.number,
        fmt::format("it has {} offsets, expected one for each of {} nodes", page.nodes(), nodes));
    return false;
  }
  for (size_t i = 0; i < nodes; ++i) {
    const size_t at = page.offset(i);
    if (at % 2 != 0 || at >= bytes.size() || !starts_[at / 2]) {
      add(tree, page.number,
          fmt::format("offset {} is {}, expected the beginning of a node that has no other offset",
                      i, at));
      return false;
    }
    starts_[at / 2] = false;
  }
  return true;
}

/// The node with that index. check_nodes() must have accepted the page.
PageWalk::Node PageWalk::node_at(const Page& page, size_t node) const {
  const size_t at = page.offset(node);
  const std::string_view bytes = page.bytes;
  const uint64_t low = load<uint32_t>(bytes, at);
  const auto flags = load<uint16_t>(bytes, at + 4);
  const auto key_size = load<uint16_t>(bytes, at + 6);
  return {.key = bytes.substr(at + kNodeHead, key_size),
          .flags = flags,
          .child = low | uint64_t{flags} << 32,
          .bytes = low,
          .value_at = at + kNodeHead + key_size};
}

bool PageWalk::is_less(const Tree& tree, std::string_view a, std::string_view b) const {
  return tree.kind == Kind::kFree ? load<uint64_t>(a, 0) < load<uint64_t>(b, 0) : a < b;
}

bool PageWalk::check_key(const Tree& tree, const Page& page, size_t node, std::string_view key,
                         std::string_view before, const Bounds& bounds) {
  const bool has_size = tree.kind == Kind::kFree ? key.size() == sizeof(uint64_t)
                                                 : !key.empty() && key.size() <= kMaxKeySize;
  if (!has_size) {
    add(tree, page.number,
        fmt::format("key {} has {} bytes, expected {}", node, key.size(),
                    tree.kind == Kind::kFree ? "8" : fmt::format("1 to {}", kMaxKeySize)));
    return false;
  }
  if (!before.empty() && !is_less(tree, before, key)) {
    add(tree, page.number,
        fmt::format("key {} is not above the key before it, expected ascending keys", node));
    return false;
  }
  if (!before.empty() || bounds.from.empty()) return true;
  // A key of a branch page must be above the page's lower bound: otherwise its first child would
  // have no keys.
  const bool fits =
      page.is_branch() ? is_less(tree, bounds.from, key) : !is_less(tree, key, bounds.from);
  return fits || refuse_key(tree, page, node);
}

bool PageWalk::check_last_key(const Tree& tree, const Page& page, std::string_view key,
                              const Bounds& bounds) {
  if (bounds.to.empty() || key.empty() || is_less(tree, key, bounds.to)) return true;
  return refuse_key(tree, page, page.nodes() - 1);
}

bool PageWalk::refuse_key(const Tree& tree, const Page& page, size_t node) {
  add(tree, page.number,
      fmt::format("key {} is outside of the range that the branch page above has for this page",
                  node));
  return false;
}

// Values.

void PageWalk::check_value(const Tree& tree, const Page& page, const Node& node) {
  if (tree.kind == Kind::kMain) return check_named(tree, page, node);
  if ((node.flags & ~kInOverflow) != 0) {
    return add(tree, page.number,
               fmt::format("a node has flags {:#x}, expected 0 or {:#x}", node.flags, kInOverflow));
  }
  if (tree.kind == Kind::kFree) return check_free(tree, page, node);
  uint64_t run = 0;
  if (node.flags != 0) check_run(tree, page, node, run);
}

void PageWalk::check_named(const Tree& tree, const Page& page, const Node& node) {
  if (node.flags != kIsRoot || node.bytes != kRootSize) {
    return add(
        tree, page.number,
        fmt::format("\"{}\" has flags {:#x} and {} bytes, expected the root of a tree: {:#x} "
                    "and {} bytes",
                    quoted(node.key), node.flags, node.bytes, kIsRoot, kRootSize));
  }
  Tree named{.name = quoted(node.key),
             .kind = Kind::kNamed,
             .root = load_root(page.bytes, node.value_at),
             .home = page.number};
  const auto& large = options_.large_trees;
  named.is_large = named.root.leaf_pages > options_.most_leaf_pages &&
                   std::find(large.begin(), large.end(), named.name) != large.end();
  named_.push_back(std::move(named));
}

/// Checks the overflow run with the value of a node, and sets `run` to its first page.
bool PageWalk::check_run(const Tree& tree, const Page& page, const Node& node, uint64_t& run) {
  run = load<uint64_t>(page.bytes, node.value_at);
  if (!reach(tree, page.number, run, 1)) return false;
  std::string head;
  if (!read_bytes(tree, run, kPageHead, head)) return false;
  const auto number = load<uint64_t>(head, 0);
  const auto flags = load<uint16_t>(head, 10);
  const auto pages = load<uint32_t>(head, 12);
  const uint64_t least = (kPageHead + node.bytes + file_.page_bytes - 1) / file_.page_bytes;
  if (number != run || flags != kOverflow || pages < least) {
    add(tree, run,
        fmt::format("its header has number {}, flags {:#x} and {} pages, expected number {}, {:#x} "
                    "(overflow) and at least {} pages for a value of {} bytes",
                    number, flags, pages, run, kOverflow, least, node.bytes));
    return false;
  }
  counts_.overflow_pages += pages;
  return pages == 1 || reach(tree, run, run + 1, pages - 1);
}

// Free pages.

void PageWalk::check_free(const Tree& tree, const Page& page, const Node& node) {
  std::string list(page.bytes.substr(node.value_at, node.flags == 0 ? node.bytes : 0));
  if (node.flags != 0) {
    uint64_t run = 0;
    if (!check_run(tree, page, node, run)) return;
    if (!read_bytes(tree, run, kPageHead + node.bytes, list))
      return;  // this read includes the first page again, with the value
    list.erase(0, kPageHead);
  }
  const auto by = load<uint64_t>(node.key, 0);
  const uint64_t count = list.size() < sizeof count ? 0 : load<uint64_t>(list, 0);
  if (by == 0 || by > file_.meta.transaction || list.size() < sizeof count ||
      list.size() % sizeof count != 0 || count > list.size() / sizeof count - 1) {
    return add(
        tree, page.number,
        fmt::format("transaction {} has freed {} pages in a list of {} bytes, expected a "
                    "transaction from 1 to {}, and eight bytes for each page and their count",
                    by, count, list.size(), file_.meta.transaction));
  }
  uint64_t before = file_.meta.last_page + 1;
  for (uint64_t i = 1; i <= count; ++i) {
    const auto freed = load<uint64_t>(list, i * sizeof count);
    if (freed < kMetaPages || freed >= before) {
      return add(tree, page.number,
                 fmt::format("transaction {} has freed page {}, expected one from {} to {}", by,
                             freed, kMetaPages, before - 1));
    }
    before = freed;
    if (freed >= pages_) {
      ++free_behind_;
    } else if (free_[freed]) {
      return add(tree, page.number, fmt::format("page {} is free twice", freed));
    } else {
      free_[freed] = true;
    }
  }
}

void PageWalk::check_free_pages(const Tree& tree) {
  for (uint64_t page = kMetaPages; page < pages_; ++page) {
    if (free_[page] && reached_[page]) {
      add(tree, page, "it is in the list of free pages, but a tree uses it");
    }
  }
  // A page that one transaction used and freed was never written, so the file may end before it.
  const uint64_t end = file_.meta.last_page + 1;
  if (report_.count == 0 && !report_.is_stopped && end > pages_ && end - pages_ > free_behind_) {
    add(tree, tree.home,
        fmt::format("the last page is {}, and the file was cut short: it has {} bytes, {} pages",
                    file_.meta.last_page, file_.size, pages_));
  }
}

}  // namespace millrace
