#include "orchestrator/store/disk/page_layout.h"

#include <fmt/format.h>

namespace millrace::lmdb {

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

std::string fault_of(const Meta& meta, uint64_t number) {
  if (meta.magic != kLmdbMagic) {
    return fmt::format("the magic is {:08x}, expected {:08x}", meta.magic, kLmdbMagic);
  }
  if (meta.format != kLmdbFormat) {
    return fmt::format("the LMDB format is {}, expected {}", meta.format, kLmdbFormat);
  }
  if (meta.number != number || meta.flags != kMeta) {
    return fmt::format("its header has number {} and flags {:#x}, expected {} and {:#x}",
                       meta.number, meta.flags, number, kMeta);
  }
  const uint32_t size = meta.free.page_bytes;
  if (!std::has_single_bit(size) || size < 256 || size > 32'768) {
    return fmt::format("pages have {} bytes, expected a power of two from 256 to 32768", size);
  }
  if (meta.last_page < kMetaPages - 1 || meta.last_page >= kMostPages) {
    return fmt::format("the last page is {}, expected 1 or higher", meta.last_page);
  }
  if (meta.transaction != 0 && meta.transaction % 2 != number) {
    return fmt::format("its transaction is {}, expected an {} number", meta.transaction,
                       number == 0 ? "even" : "odd");
  }
  return {};
}

}  // namespace millrace::lmdb
