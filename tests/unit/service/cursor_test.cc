#include "orchestrator/service/cursor.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Cursor, IsANumberFromOneOrEmpty) {
  EXPECT_EQ(parse_number_cursor("").value(), std::nullopt);
  EXPECT_EQ(parse_number_cursor("1").value(), 1U);
  EXPECT_EQ(parse_number_cursor("18446744073709551615").value(), UINT64_MAX);
  for (const char* const wrong : {"0", "-1", "1 ", "x", "18446744073709551616", "1.5"}) {
    const auto parsed = parse_number_cursor(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, "cursor.malformed") << wrong;
  }
}

}  // namespace
}  // namespace millrace
