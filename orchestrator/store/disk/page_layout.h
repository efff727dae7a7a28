// The layout of a page: how the bytes of data.mdb make pages, nodes, roots and meta pages. Only
// what the page check needs of it; it checks nothing but meta pages. Values, no file. For this
// folder only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace millrace::lmdb {

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

inline constexpr size_t kPageHead = 16;
inline constexpr size_t kNodeHead = 8;
inline constexpr size_t kRootSize = 48;
inline constexpr size_t kMetaSize = 136;
inline constexpr uint64_t kMetaPages = 2;
inline constexpr uint64_t kNoPage = ~uint64_t{0};
inline constexpr uint64_t kMostPages = uint64_t{1} << 48;
inline constexpr size_t kMostDepth = 32;

inline constexpr uint32_t kLmdbMagic = 0xBEEFC0DE;
inline constexpr uint32_t kLmdbFormat = 1;

inline constexpr uint16_t kBranch = 0x01;
inline constexpr uint16_t kLeaf = 0x02;
inline constexpr uint16_t kOverflow = 0x04;
inline constexpr uint16_t kMeta = 0x08;

inline constexpr uint16_t kInOverflow = 0x01;  ///< of a node: its value is an overflow run
inline constexpr uint16_t kIsRoot = 0x02;      ///< its value is the root of a named tree

inline constexpr uint16_t kIntegerKeys = 0x08;  ///< of a root; only the free tree has it
inline constexpr uint16_t kTreeFlags = 0x7f;    ///< those that say how a tree is made

/// A number that stands there; the caller has checked that it does.
template <class T>
T load(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
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

/// The root that stands at that byte.
Root load_root(std::string_view bytes, size_t at);

/// The meta page of these bytes, which are kPageHead + kMetaSize at least.
Meta load_meta(std::string_view page);

/// Why the meta page of that number is damaged; empty: it is not.
std::string fault_of(const Meta& meta, uint64_t number);

}  // namespace millrace::lmdb
