#include "orchestrator/store/disk/page_check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/store/disk/store_error.h"
#include "orchestrator/store/disk/table.h"

namespace millrace {
namespace {

// The layout of LMDB 0.9 on a machine of 64 bits, all numbers in the machine's order.
//
// Page: u64 its number, u16 unused, u16 flags; then of a branch or leaf page u16 lower, u16 upper,
// and from byte 16 to `lower` the offsets of its nodes, u16 each, in the order of their keys. The
// nodes themselves fill the page from `upper` to its end without a gap. Of an overflow run: u32 how
// many pages it has, and from byte 16 on the value.
//
// Node: u16, u16, u16, u16 size of the key, the key. Of a branch page the first three are the
// number of the child's page, low part first, and the key is the lowest that the child may have;
// that of the first node does not count. Of a leaf page the first two are the size of the value,
// the third is flags, and the value follows, or the number of its overflow run. A node begins at an
// even byte.
//
// Meta page (0 and 1): behind the head u32 magic, u32 format, u64 unused, u64 size of the map, the
// roots of the free tree and of the main tree, u64 last page, u64 transaction. A transaction writes
// the page that its number is even or odd like.
//
// Root: u32 unused (in the free tree's: bytes of a page), u16 flags, u16 depth, u64 branch pages,
// u64 leaf pages, u64 overflow pages, u64 entries, u64 page. The main tree has the roots of the
// named trees as values. The free tree has under the number of a transaction the pages that it
// freed: u64 how many, then u64 each, the last page first.
static_assert(std::endian::native == std::endian::little && sizeof(size_t) == 8);

constexpr size_t kPageHead = 16;
constexpr size_t kNodeHead = 8;
constexpr size_t kRootSize = 48;
constexpr size_t kMetaSize = 136;
constexpr uint64_t kMetaPages = 2;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr uint64_t kMostPages = uint64_t{1} << 48;
constexpr size_t kMostDepth = 32;

constexpr uint64_t kPagesOfAStep = 4096;
constexpr size_t kPagesAhead = 16;

constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kFormat = 1;

constexpr uint16_t kBranch = 0x01;
constexpr uint16_t kLeaf = 0x02;
constexpr uint16_t kOverflow = 0x04;
constexpr uint16_t kMeta = 0x08;

constexpr uint16_t kInOverflow = 0x01;  ///< of a node: its value is an overflow run
constexpr uint16_t kIsRoot = 0x02;      ///< its value is the root of a named tree

constexpr uint16_t kIntegerKeys = 0x08;  ///< of a root; only the free tree has it
constexpr uint16_t kTreeFlags = 0x7f;    ///< those that say how a tree is made

/// A number that stands there; the caller has checked that it does.
template <class T>
T load(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string quoted(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= ' ' && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

struct Root {
  uint32_t page_bytes = 0;
  uint16_t flags = 0;
  uint16_t depth = 0;
  uint64_t branch_pages = 0;
  uint64_t leaf_pages = 0;
  uint64_t overflow_pages = 0;
  uint64_t entries = 0;
  uint64_t page = kNoPage;
};

Root load_root(std::string_view bytes, size_t at) {
  return {.page_bytes = load<uint32_t>(bytes, at),
          .flags = load<uint16_t>(bytes, at + 4),
          .depth = load<uint16_t>(bytes, at + 6),
          .branch_pages = load<uint64_t>(bytes, at + 8),
          .leaf_pages = load<uint64_t>(bytes, at + 16),
          .overflow_pages = load<uint64_t>(bytes, at + 24),
          .entries = load<uint64_t>(bytes, at + 32),
          .page = load<uint64_t>(bytes, at + 40)};
}

struct Meta {
  uint64_t number = 0;
  uint16_t flags = 0;
  uint32_t magic = 0;
  uint32_t format = 0;
  Root free;
  Root main;
  uint64_t last_page = 0;
  uint64_t transaction = 0;
};

Meta load_meta(std::string_view page) {
  constexpr size_t kFree = kPageHead + 24;
  constexpr size_t kMain = kFree + kRootSize;
  return {.number = load<uint64_t>(page, 0),
          .flags = load<uint16_t>(page, 10),
          .magic = load<uint32_t>(page, kPageHead),
          .format = load<uint32_t>(page, kPageHead + 4),
          .free = load_root(page, kFree),
          .main = load_root(page, kMain),
          .last_page = load<uint64_t>(page, kMain + kRootSize),
          .transaction = load<uint64_t>(page, kMain + kRootSize + 8)};
}

/// Why a meta page is damaged; empty: it is not.
std::string fault_of(const Meta& meta, uint64_t number) {
  if (meta.magic != kMagic) {
    return fmt::format("the magic is {:08x}, expected {:08x}", meta.magic, kMagic);
  }
  if (meta.format != kFormat) {
    return fmt::format("the LMDB format is {}, expected {}", meta.format, kFormat);
  }
  if (meta.number != number || meta.flags != kMeta) {
    return fmt::format("its head has number {} and flags {:#x}, expected {} and {:#x}", meta.number,
                       meta.flags, number, kMeta);
  }
  const uint32_t size = meta.free.page_bytes;
  if (!std::has_single_bit(size) || size < 256 || size > 32'768) {
    return fmt::format("pages have {} bytes, expected a power of two from 256 to 32768", size);
  }
  if (meta.last_page < kMetaPages - 1 || meta.last_page >= kMostPages) {
    return fmt::format("the last page is {}, expected one from 1 on", meta.last_page);
  }
  if (meta.transaction != 0 && meta.transaction % 2 != number) {
    return fmt::format("it is of transaction {}, expected an {} number", meta.transaction,
                       number == 0 ? "even" : "odd");
  }
  return {};
}

}  // namespace

std::string to_string(const PageDamage& damage) {
  return fmt::format("page {} (tree {}): {}", damage.page, damage.tree, damage.found);
}

/// data.mdb, opened, and what its newest meta page says.
class PageCheck::File {
 public:
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }

  int descriptor = -1;
  uint64_t size = 0;
  uint64_t page_bytes = 4096;
  Meta meta;
  std::optional<PageDamage> damage;  ///< of the meta pages

  /// Reads as much as there is; false: errno says why not.
  bool read(uint64_t at, char* to, size_t bytes, size_t& got) const {
    for (got = 0; got < bytes;) {
      const ssize_t some = ::pread(descriptor, to + got, bytes - got, static_cast<off_t>(at + got));
      if (some < 0 && errno == EINTR) continue;
      if (some < 0) return false;
      if (some == 0) break;
      got += static_cast<size_t>(some);
    }
    return true;
  }

  Status read_metas(const std::filesystem::path& path);

 private:
  Result<Meta> read_meta(const std::filesystem::path& path, uint64_t number);
};

Result<Meta> PageCheck::File::read_meta(const std::filesystem::path& path, uint64_t number) {
  std::array<char, kPageHead + kMetaSize> bytes{};
  size_t got = 0;
  if (!read(number * page_bytes, bytes.data(), bytes.size(), got)) {
    return tl::unexpected(store_error(errno, "reading the meta pages", path));
  }
  const Meta page = load_meta({bytes.data(), bytes.size()});  // zeros behind the end of the file
  std::string fault = fault_of(page, number);
  if (!fault.empty() && !damage) damage = {.tree = "main", .page = number, .found = fault};
  return page;
}

Status PageCheck::File::read_metas(const std::filesystem::path& path) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) {
    return tl::unexpected(store_error(errno, "opening data.mdb", path));
  }
  size = static_cast<uint64_t>(found.st_size);
  const Meta first = TRY(read_meta(path, 0));
  if (first.magic == kMagic && first.format != kFormat) {
    // Not one damaged number: all that LMDB knows of a later format is there.
    const Meta same = TRY(read_meta(path, 1));
    if (same.magic == kMagic && same.format == first.format) {
      return fail("store.version",
                  fmt::format("{} has LMDB format {}, this millrace reads {}{}", path.string(),
                              first.format, kFormat, advice_for("store.version")));
    }
  }
  if (damage) return {};
  page_bytes = first.free.page_bytes;
  const Meta second = TRY(read_meta(path, 1));
  if (damage) return {};
  meta = first.transaction < second.transaction ? second : first;
  const uint64_t apart = std::max(first.transaction, second.transaction) -
                         std::min(first.transaction, second.transaction);
  if (apart > 1 || first.free.page_bytes != second.free.page_bytes) {
    damage = {.tree = "main",
              .page = 1,
              .found = fmt::format("the meta pages are of transactions {} and {} with pages of {} "
                                   "and {} bytes, expected transactions that follow each other",
                                   first.transaction, second.transaction, first.free.page_bytes,
                                   second.free.page_bytes)};
  }
  return {};
}

/// One run over all trees.
class PageCheck::Walk {
 public:
  Walk(const File& file, const PageCheckOptions& options)
      : file_(file), options_(options), pages_(file.size / file.page_bytes) {}

  PageReport run();

 private:
  enum class Kind : uint8_t { kFree, kMain, kNamed };
  struct Tree {
    std::string name;
    Kind kind{};
    Root root;
    uint64_t home = 0;      ///< the page that has the root
    bool is_large = false;  ///< its leaf pages are not read
  };
  /// The keys that a page may have; empty: no bound.
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
  /// A branch or leaf page, whose head was checked.
  struct Page {
    uint64_t number = 0;
    std::string_view bytes;
    uint16_t flags = 0;
    size_t lower = 0;
    size_t upper = 0;

    bool is_branch() const { return flags == kBranch; }
    size_t nodes() const { return (lower - kPageHead) / 2; }
    size_t offset(size_t node) const { return load<uint16_t>(bytes, kPageHead + 2 * node); }
  };
  struct Node {
    std::string_view key;
    uint16_t flags = 0;   ///< of a leaf page
    uint64_t child = 0;   ///< of a branch page
    uint64_t bytes = 0;   ///< of the value
    size_t value_at = 0;  ///< where that or the number of its run stands in the page
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

  const File& file_;
  const PageCheckOptions& options_;
  const uint64_t pages_;  ///< that are whole in the file
  PageReport report_;

  uint64_t ahead_from_ = 0;  ///< the first page of ahead_
  std::string ahead_;        ///< pages that were read ahead
  uint64_t expected_ = 0;    ///< the page behind the one that was read last

  std::vector<std::string> levels_{kMostDepth};  ///< the page in hand of each level
  std::vector<bool> starts_;                     ///< where nodes of the page in hand begin
  std::vector<bool> reached_;
  std::vector<bool> free_;
  uint64_t free_behind_ = 0;  ///< free pages behind the end of the file
  Counts counts_;             ///< of the tree in hand
  std::vector<Tree> named_;
};

PageReport PageCheck::Walk::run() {
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

void PageCheck::Walk::add(const Tree& tree, uint64_t page, std::string found) {
  ++report_.count;
  if (report_.damages.size() >= options_.most_damages) return;
  report_.damages.push_back({.tree = tree.name, .page = page, .found = std::move(found)});
}

/// Reads the first bytes from that page on.
bool PageCheck::Walk::read_bytes(const Tree& tree, uint64_t page, size_t bytes, std::string& to) {
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

/// Whether ahead_ has these bytes of that page. Pages that follow each other in the file are read
/// together, as far as that succeeds.
bool PageCheck::Walk::is_ahead(uint64_t page, size_t bytes) {
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

/// Notes that page `from` leads to these pages, as the first to do so.
bool PageCheck::Walk::reach(const Tree& tree, uint64_t from, uint64_t page, uint64_t count) {
  const uint64_t end = std::min(pages_, file_.meta.last_page + 1);
  if (page < kMetaPages || page >= end || count > end - page) {
    add(tree, from,
        fmt::format("it leads to page {}{}, expected pages from {} to {}", page,
                    count == 1 ? "" : fmt::format(" and the {} behind it", count - 1), kMetaPages,
                    end - 1));
    return false;
  }
  for (uint64_t one = page; one < page + count; ++one) {
    if (reached_[one]) {
      add(tree, from, fmt::format("it leads to page {}, to which another one leads, too", one));
      return false;
    }
    reached_[one] = true;
  }
  return true;
}

// Trees.

void PageCheck::Walk::check_tree(const Tree& tree) {
  if (!check_root(tree)) return;
  counts_ = {};
  const uint64_t before = report_.count;
  if (tree.root.depth > 0) check_page(tree, tree.home, tree.root.page, 1, {});
  if (report_.count == before && !report_.is_stopped) check_counts(tree);
}

bool PageCheck::Walk::check_root(const Tree& tree) {
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
                    "depth 0 and none",
                    root.depth, root.page, kMostDepth));
    return false;
  }
  return true;
}

void PageCheck::Walk::check_counts(const Tree& tree) {
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

void PageCheck::Walk::check_page(const Tree& tree, uint64_t from, uint64_t number, size_t level,
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
    if (page->is_branch() && i == 0) continue;  // LMDB does not look at its key
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

std::optional<PageCheck::Walk::Page> PageCheck::Walk::read_page(const Tree& tree, uint64_t number,
                                                                size_t level) {
  std::string& bytes = levels_[level - 1];
  if (!read_bytes(tree, number, file_.page_bytes, bytes)) return std::nullopt;
  const Page page{.number = number,
                  .bytes = bytes,
                  .flags = load<uint16_t>(bytes, 10),
                  .lower = load<uint16_t>(bytes, 12),
                  .upper = load<uint16_t>(bytes, 14)};
  if (const auto found = load<uint64_t>(bytes, 0); found != number) {
    add(tree, number, fmt::format("its head has number {}, expected its own", found));
    return std::nullopt;
  }
  const uint16_t flags = level < tree.root.depth ? kBranch : kLeaf;
  if (page.flags != flags) {
    add(tree, number,
        fmt::format("its flags are {:#x}, expected {:#x}: a {} page", page.flags, flags,
                    flags == kBranch ? "branch" : "leaf"));
    return std::nullopt;
  }
  // LMDB ends the process at a branch page that leads nowhere else.
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

/// Whether the nodes lie one behind the other to the end of the page, and each has its offset.
bool PageCheck::Walk::check_nodes(const Tree& tree, const Page& page) {
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
          fmt::format("offset {} is {}, expected the beginning of a node that no other has", i,
                      at));
      return false;
    }
    starts_[at / 2] = false;
  }
  return true;
}

/// Of a page whose nodes were checked.
PageCheck::Walk::Node PageCheck::Walk::node_at(const Page& page, size_t node) const {
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

bool PageCheck::Walk::is_less(const Tree& tree, std::string_view a, std::string_view b) const {
  return tree.kind == Kind::kFree ? load<uint64_t>(a, 0) < load<uint64_t>(b, 0) : a < b;
}

bool PageCheck::Walk::check_key(const Tree& tree, const Page& page, size_t node,
                                std::string_view key, std::string_view before,
                                const Bounds& bounds) {
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
  // A branch page has no key that is its own lower bound: no page would be before it.
  const bool fits =
      page.is_branch() ? is_less(tree, bounds.from, key) : !is_less(tree, key, bounds.from);
  return fits || refuse_key(tree, page, node);
}

bool PageCheck::Walk::check_last_key(const Tree& tree, const Page& page, std::string_view key,
                                     const Bounds& bounds) {
  if (bounds.to.empty() || key.empty() || is_less(tree, key, bounds.to)) return true;
  return refuse_key(tree, page, page.nodes() - 1);
}

bool PageCheck::Walk::refuse_key(const Tree& tree, const Page& page, size_t node) {
  add(tree, page.number,
      fmt::format("key {} is outside of the range that the branch page above has for this page",
                  node));
  return false;
}

// Values.

void PageCheck::Walk::check_value(const Tree& tree, const Page& page, const Node& node) {
  if (tree.kind == Kind::kMain) return check_named(tree, page, node);
  if ((node.flags & ~kInOverflow) != 0) {
    return add(tree, page.number,
               fmt::format("a node has flags {:#x}, expected 0 or {:#x}", node.flags, kInOverflow));
  }
  if (tree.kind == Kind::kFree) return check_free(tree, page, node);
  uint64_t run = 0;
  if (node.flags != 0) check_run(tree, page, node, run);
}

void PageCheck::Walk::check_named(const Tree& tree, const Page& page, const Node& node) {
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

/// The overflow run that has the value of a node.
bool PageCheck::Walk::check_run(const Tree& tree, const Page& page, const Node& node,
                                uint64_t& run) {
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
        fmt::format("its head has number {}, flags {:#x} and {} pages, expected number {}, {:#x} "
                    "(overflow) and at least {} pages for a value of {} bytes",
                    number, flags, pages, run, kOverflow, least, node.bytes));
    return false;
  }
  counts_.overflow_pages += pages;
  return pages == 1 || reach(tree, run, run + 1, pages - 1);
}

// Free pages.

void PageCheck::Walk::check_free(const Tree& tree, const Page& page, const Node& node) {
  std::string list(page.bytes.substr(node.value_at, node.flags == 0 ? node.bytes : 0));
  if (node.flags != 0) {
    uint64_t run = 0;
    if (!check_run(tree, page, node, run)) return;
    if (!read_bytes(tree, run, kPageHead + node.bytes, list)) return;  // once more, in full
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

void PageCheck::Walk::check_free_pages(const Tree& tree) {
  for (uint64_t page = kMetaPages; page < pages_; ++page) {
    if (free_[page] && reached_[page]) {
      add(tree, page, "it is in the list of free pages, and a tree has it");
    }
  }
  // A page that was used and freed by one transaction was never written.
  const uint64_t end = file_.meta.last_page + 1;
  if (report_.count == 0 && !report_.is_stopped && end > pages_ && end - pages_ > free_behind_) {
    add(tree, tree.home,
        fmt::format("the last page is {}, and the file was cut short: it has {} bytes, {} pages",
                    file_.meta.last_page, file_.size, pages_));
  }
}

// PageCheck.

Result<PageCheck> PageCheck::open(const std::filesystem::path& file) {
  auto opened = std::make_unique<File>();
  opened->descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened->descriptor < 0) {
    return tl::unexpected(store_error(errno, "opening data.mdb", file));
  }
  TRY(opened->read_metas(file));
  return PageCheck(std::move(opened));
}

PageCheck::PageCheck(std::unique_ptr<File> file) : file_(std::move(file)) {}
PageCheck::PageCheck(PageCheck&&) noexcept = default;
PageCheck::~PageCheck() = default;

PageReport PageCheck::run(const PageCheckOptions& options) { return Walk(*file_, options).run(); }

}  // namespace millrace
