#include "expressions/large_integers.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LargeIntegers, AreFoundInJsonText) {
  for (const char* json : {
           "9007199254740993",
           "-9007199254740993",
           "[7,9007199254740992]",
           R"({"a":{"b":18446744073709551615}})",
           "123456789012345678901234567890",
           R"(["\\",9007199254740993])",
       }) {
    EXPECT_TRUE(has_large_integer(json)) << json;
  }
  for (const char* json : {
           "9007199254740991",
           "9007199254740993.0",
           "1e20",
           "[1,2,3]",
           R"("9007199254740993")",
           R"("\"9007199254740993")",
           R"({"9007199254740993":1})",
           "",
       }) {
    EXPECT_FALSE(has_large_integer(json)) << json;
  }
}

}  // namespace
}  // namespace millrace
