#include "base/whole_number.h"

#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(WholeNumber, IsTheWholeText) {
  struct Row {
    std::string_view text;
    std::optional<uint64_t> number;
  };
  for (const auto& [text, number] : {
           Row{"0", 0},
           Row{"0042", 42},
           Row{"18446744073709551615", UINT64_MAX},
           Row{"18446744073709551616", std::nullopt},
           Row{"", std::nullopt},
           Row{" 1", std::nullopt},
           Row{"1 ", std::nullopt},
           Row{"1x", std::nullopt},
           Row{"-1", std::nullopt},
           Row{"+1", std::nullopt},
           Row{"0x10", std::nullopt},
           Row{"1.0", std::nullopt},
       }) {
    EXPECT_EQ(whole_number(text), number) << text;
  }
}

TEST(WholeNumber, IsNotAboveItsBound) {
  EXPECT_EQ(whole_number("65535", UINT16_MAX), 65'535U);
  EXPECT_EQ(whole_number("65536", UINT16_MAX), std::nullopt);
  EXPECT_EQ(whole_number("0", 0), 0U);
}

}  // namespace
}  // namespace millrace
