#include "states/key_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(KeyText, WritesEqualNumbersInOneWay) {
  for (const char* const one : {"1", "1.0", "1e0", "10e-1", "0.1e1", "100E-2"}) {
    EXPECT_EQ(key_text(one), "1") << one;
  }
  for (const char* const none : {"0", "-0", "0.0", "-0.0", "0e9"}) EXPECT_EQ(key_text(none), "0");
  EXPECT_EQ(key_text("1e2"), "100");
  EXPECT_EQ(key_text("-25.50"), "-25.5");
  EXPECT_EQ(key_text("2.5e-1"), "0.25");
  EXPECT_EQ(key_text("1.5e300"), key_text("15e299"));
  EXPECT_EQ(key_text("1e22"), "10000000000000000000000");
}

TEST(KeyText, KeepsAllDigitsOfAnInteger) {
  EXPECT_EQ(key_text("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(key_text("-9007199254740993"), "-9007199254740993");
}

TEST(KeyText, ReachesIntoArraysAndObjectsAndLeavesStrings) {
  EXPECT_EQ(key_text(R"({"a":[1.0,-0,"1.0"],"1.0":2e0})"), R"({"a":[1,0,"1.0"],"1.0":2})");
  EXPECT_EQ(key_text(R"("a\"1.0")"), R"("a\"1.0")");
  EXPECT_EQ(key_text(R"("-1.0")"), R"("-1.0")");
  for (const char* const word : {"true", "false", "null", "[]", "{}", "\"\""}) {
    EXPECT_EQ(key_text(word), word);
  }
}

TEST(KeyText, KeepsANumberThatNoDoubleHas) { EXPECT_EQ(key_text("1e999"), "1e999"); }

}  // namespace
}  // namespace millrace
