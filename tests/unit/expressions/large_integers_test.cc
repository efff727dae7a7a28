#include "expressions/large_integers.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LargeIntegers, GiveBackTheDigitsOfTheOneLiteralThatRoundsToTheNumber) {
  struct Row {
    std::string_view json;
    double rounded;
    std::optional<std::string_view> literal;
  };
  for (const auto& [json, rounded, literal] : std::initializer_list<Row>{
           {"9007199254740993", 9007199254740992.0, "9007199254740993"},
           {"[-9007199254740993,7]", -9007199254740992.0, "-9007199254740993"},
           {R"({"a":18446744073709551615})", 18446744073709551615.0, "18446744073709551615"},
           {"123456789012345678901234567890", 123456789012345678901234567890.0,
            "123456789012345678901234567890"},
           {"[9007199254740993,9007199254740993]", 9007199254740992.0, "9007199254740993"},
           // near misses
           {"[9007199254740993,9007199254740992]", 9007199254740992.0, std::nullopt},
           {"[9007199254740993,9007199254740992.0]", 9007199254740992.0, std::nullopt},
           {"[9007199254740992.0,9007199254740993]", 9007199254740992.0, std::nullopt},
           {"[9007199254740993,9007199254740993,9007199254740992]", 9007199254740992.0,
            std::nullopt},
           {"9007199254740993", 9007199254740994.0, std::nullopt},
           {"9007199254740993", -9007199254740992.0, std::nullopt},
           {"9007199254740991", 9007199254740991.0, std::nullopt},
           {"1e20", 1e20, std::nullopt},
           {R"("9007199254740993")", 9007199254740992.0, std::nullopt},
           {R"("\"9007199254740993")", 9007199254740992.0, std::nullopt},
           {R"({"9007199254740993":1})", 9007199254740992.0, std::nullopt},
       }) {
    EXPECT_EQ(LargeIntegers(json).literal(rounded), literal) << json;
  }
}

}  // namespace
}  // namespace millrace
