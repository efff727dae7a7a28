#include "base/quantity.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Quantity, IsAWholeNumberWithOrWithoutAUnitOfBytes) {
  EXPECT_EQ(parse_quantity("1"), 1U);
  EXPECT_EQ(parse_quantity("10KiB"), 10'240U);
  EXPECT_EQ(parse_quantity("16MiB"), uint64_t{16} << 20);
  EXPECT_EQ(parse_quantity("3GiB"), uint64_t{3} << 30);
  EXPECT_EQ(parse_quantity("2TiB"), uint64_t{2} << 40);
  EXPECT_EQ(parse_quantity("18446744073709551615"), UINT64_MAX);
}

TEST(Quantity, IsRefusedIfItIsZeroOrTooLargeOrHasAnotherUnit) {
  for (const char* const text : {"", "0", "0MiB", "-1", "1.5GiB", "10 GiB", "10GB", "10gib", "MiB",
                                 "18446744073709551616", "16777216TiB"}) {
    EXPECT_EQ(parse_quantity(text), std::nullopt) << text;
  }
}

TEST(Quantity, IsShownWithTheLargestUnitOfWhichItIsAWholeNumber) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1'000), "1000 bytes");
  EXPECT_EQ(format_bytes(1'536), "1536 bytes");
  EXPECT_EQ(format_bytes(uint64_t{200} << 20), "200MiB");
  EXPECT_EQ(format_bytes(uint64_t{256} << 30), "256GiB");
  EXPECT_EQ(format_bytes(uint64_t{4096} << 40), "4096TiB");
}

}  // namespace
}  // namespace millrace
