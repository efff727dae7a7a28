// The layout of data.mdb: pages, nodes, roots and meta pages, as far as the page check needs them.
// This file checks only meta pages; page_walk.h checks all other pages. The functions work on bytes
// in memory, not on a file. Only for orchestrator/store/disk.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace millrace::lmdb {

// The layout of LMDB 0.9 on a 64-bit machine, with all numbers in the machine's byte order.
//
// Page: u64 page number, u16 unused, u16 flags. A branch or leaf page continues with u16 lower, u16
// upper, and from byte 16 to `lower` the offsets of its nodes, u16 each, in the order of their
// keys. The nodes of a branch or leaf page fill it from `upper` to the end without a gap. An
// overflow run continues with u32 number of its pages, and from byte 16 on the value.
//
// Node: u16, u16, u16, u16 size of the key, the key. In a branch page, the first three u16 are the
// page number of the child, low part first, and the key is the lowest key that the child may have;
// the key of the first node is ignored. In a leaf page, the first two u16 are the size of the
// value, the third has flags, and the value or the page number of its overflow run follows the key.
// A node begins at an even byte.
//
// Meta page (pages 0 and 1): after the first 16 bytes (kPageHead) u32 magic, u32 format, u64
// unused, u64 size of the map, the root of the free tree, the root of the main tree, u64 last page,
// u64 transaction. A transaction with an even number writes page 0, one with an odd number page 1.
//
// Root: u32 unused (in the root of the free tree: bytes of a page), u16 flags, u16 depth, u64
// branch pages, u64 leaf pages, u64 overflow pages, u64 entries, u64 page. The values of the main
// tree are the roots of the named trees. The free tree has, under the number of a transaction, the
// pages that the transaction freed: u64 count, then u64 for each page, the last page first.
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

inline constexpr uint16_t kInOverflow = 0x01;  ///< flag of a node: its value is an overflow run
inline constexpr uint16_t kIsRoot = 0x02;      ///< flag of a node: its value is a named tree's root

inline constexpr uint16_t kIntegerKeys = 0x08;  ///< flag of a root; only the free tree has it
inline constexpr uint16_t kTreeFlags = 0x7f;    ///< mask of the flags that define a tree's kind

/// The number at byte `at`. The caller must have checked that `bytes` is long enough.
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

/// The root at byte `at`; it has kRootSize bytes.
Root load_root(std::string_view bytes, size_t at);

/// Decodes the meta page in `page`, which must have at least kPageHead + kMetaSize bytes.
Meta load_meta(std::string_view page);

/// Why the meta page at page `number` is damaged; empty: the page is undamaged.
std::string fault_of(const Meta& meta, uint64_t number);

}  // namespace millrace::lmdb
