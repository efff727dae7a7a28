#include "orchestrator/store/disk/page_layout.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/disk/page_image.h"

namespace millrace::lmdb {
namespace {

using testing::HasSubstr;

/// An undamaged meta page.
Meta valid_meta(uint64_t number = 0) {
  return {.number = number,
          .flags = kMeta,
          .magic = kLmdbMagic,
          .format = kLmdbFormat,
          .free = {.page_bytes = 4096},
          .last_page = 9,
          .transaction = 6 + number};
}

TEST(PageLayout, LoadsARootFromTheMiddleOfAPage) {
  const Root written{.page_bytes = 4096,
                     .flags = 8,
                     .depth = 3,
                     .branch_pages = 2,
                     .leaf_pages = 40,
                     .overflow_pages = 5,
                     .entries = 700,
                     .page = uint64_t{1} << 40};
  const Root read = load_root("abc" + root_bytes(written), 3);
  EXPECT_EQ(root_bytes(written).size(), kRootSize);
  EXPECT_EQ(read.page_bytes, written.page_bytes);
  EXPECT_EQ(read.flags, written.flags);
  EXPECT_EQ(read.depth, written.depth);
  EXPECT_EQ(read.branch_pages, written.branch_pages);
  EXPECT_EQ(read.leaf_pages, written.leaf_pages);
  EXPECT_EQ(read.overflow_pages, written.overflow_pages);
  EXPECT_EQ(read.entries, written.entries);
  EXPECT_EQ(read.page, written.page);
}

TEST(PageLayout, LoadsAMetaPage) {
  PageImage image(3);
  image.make_metas(leaf_root(2, 7), {.depth = 1, .page = 5});
  const std::string page = image.bytes().substr(PageImage::kBytes, kPageHead + kMetaSize);
  const Meta meta = load_meta(page);
  EXPECT_EQ(meta.number, 1U);
  EXPECT_EQ(meta.flags, kMeta);
  EXPECT_EQ(meta.magic, kLmdbMagic);
  EXPECT_EQ(meta.format, kLmdbFormat);
  EXPECT_EQ(meta.free.page_bytes, PageImage::kBytes);
  EXPECT_EQ(meta.free.page, 5U);
  EXPECT_EQ(meta.main.page, 2U);
  EXPECT_EQ(meta.main.entries, 7U);
  EXPECT_EQ(meta.last_page, 2U);
  EXPECT_EQ(meta.transaction, 3U);
  EXPECT_EQ(fault_of(meta, 1), "");
}

TEST(PageLayout, FindsNoFaultInAValidMetaPage) {
  EXPECT_EQ(fault_of(valid_meta(0), 0), "");
  EXPECT_EQ(fault_of(valid_meta(1), 1), "");
  Meta fresh = valid_meta(1);
  fresh.transaction = 0;
  fresh.last_page = 1;
  EXPECT_EQ(fault_of(fresh, 1), "") << "both meta pages of a new file are of transaction 0";
  for (const uint32_t size : {256U, 4096U, 32'768U}) {
    Meta meta = valid_meta();
    meta.free.page_bytes = size;
    EXPECT_EQ(fault_of(meta, 0), "") << size;
  }
}

TEST(PageLayout, NamesTheFirstFaultOfAMetaPage) {
  const struct {
    std::function<void(Meta&)> damage;
    const char* fault;
  } rows[] = {
      {[](Meta& meta) { meta.magic = 0x12; }, "the magic is 00000012, expected beefc0de"},
      {[](Meta& meta) { meta.format = 2; }, "the LMDB format is 2, expected 1"},
      {[](Meta& meta) { meta.number = 1; }, "its header has number 1 and flags 0x8, expected 0"},
      {[](Meta& meta) { meta.flags = 9; }, "its header has number 0 and flags 0x9"},
      {[](Meta& meta) { meta.free.page_bytes = 0; }, "pages have 0 bytes"},
      {[](Meta& meta) { meta.free.page_bytes = 128; }, "pages have 128 bytes"},
      {[](Meta& meta) { meta.free.page_bytes = 4095; }, "pages have 4095 bytes"},
      {[](Meta& meta) { meta.free.page_bytes = 65'536; }, "pages have 65536 bytes"},
      {[](Meta& meta) { meta.last_page = 0; }, "the last page is 0"},
      {[](Meta& meta) { meta.last_page = kMostPages; }, "the last page is 281474976710656"},
      {[](Meta& meta) { meta.transaction = 7; }, "its transaction is 7, expected an even number"},
  };
  for (const auto& row : rows) {
    Meta meta = valid_meta();
    row.damage(meta);
    EXPECT_THAT(fault_of(meta, 0), HasSubstr(row.fault));
  }
  EXPECT_THAT(fault_of(valid_meta(0), 1), HasSubstr("its header has number 0"));
  Meta even = valid_meta(1);
  even.transaction = 6;
  EXPECT_THAT(fault_of(even, 1), HasSubstr("its transaction is 6, expected an odd number"));
}

}  // namespace
}  // namespace millrace::lmdb
