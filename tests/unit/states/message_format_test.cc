// MessageFormat: where a conversion ends, and the numbers at the limits of the C library's printf.
// The verbs, flags and widths are in tests/tables/error.table.
#include "states/message_format.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::EndsWith;
using testing::StartsWith;

/// The message of one conversion.
std::string message_of(std::string_view text, const Json& value) {
  const Result<MessageFormat> format = MessageFormat::parse(text);
  EXPECT_TRUE(format) << text;
  const LazyJson argument(value);
  return format ? format->format({&argument, 1}) : "";
}

TEST(MessageFormat, RefusesAConversionThatEndsWithTheText) {
  constexpr std::string_view kWhole = "%-10.25s%%";
  EXPECT_TRUE(MessageFormat::parse(kWhole));
  // The characters behind the end of the text would complete the conversion.
  for (const size_t size : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    const std::string_view text = kWhole.substr(0, size);
    const Result<MessageFormat> format = MessageFormat::parse(text);
    ASSERT_FALSE(format) << text;
    EXPECT_EQ(format.error().code, "definition.message_format");
    EXPECT_THAT(format.error().message,
                StartsWith("\"" + std::string(text) + "\" at character 1 is not a conversion"));
  }
  EXPECT_FALSE(MessageFormat::parse(kWhole.substr(0, kWhole.size() - 1)));
}

TEST(MessageFormat, QuotesOnlyTheConversionThatIsWrong) {
  const Result<MessageFormat> format = MessageFormat::parse("order %s: %5z of all");
  ASSERT_FALSE(format);
  EXPECT_THAT(format.error().message, StartsWith("\"%5z\" at character 11 is not a conversion"));
}

TEST(MessageFormat, RefusesANulInAConversion) {
  for (const std::string& text : {std::string("%\0s", 3), std::string("%5\0", 3)}) {
    EXPECT_FALSE(MessageFormat::parse(text));
  }
}

TEST(MessageFormat, TakesAWidthAndAPrecisionOfUpTo99) {
  EXPECT_EQ(message_of("%99d", 7), std::string(98, ' ') + "7");
  EXPECT_EQ(message_of("%.99d", 7), std::string(98, '0') + "7");
  EXPECT_EQ(message_of("%-10d|", 7), "7         |");
  EXPECT_EQ(message_of("%9d", 7), "        7");
  EXPECT_FALSE(MessageFormat::parse("%100d"));
  EXPECT_FALSE(MessageFormat::parse("%.100d"));
}

TEST(MessageFormat, PrintsTheLongestAndTheShortestNumber) {
  const std::string lowest = message_of("%.99f", std::numeric_limits<double>::lowest());
  EXPECT_EQ(lowest.size(), 410u);
  EXPECT_THAT(lowest, StartsWith("-17976931348623157"));
  EXPECT_THAT(lowest, EndsWith("58368." + std::string(99, '0')));
  EXPECT_EQ(message_of("%.0d", 0), "") << "as printf does";
}

TEST(MessageFormat, PrintsAFloatThatNoIntegerCanHoldUnchanged) {
  EXPECT_EQ(message_of("%d", 9e18), "9000000000000000000");
  EXPECT_EQ(message_of("%d", -9e18), "-9000000000000000000");
  for (const double number : {9.3e18, -9.3e18, 1e300}) {
    EXPECT_EQ(message_of("%d", number), LazyJson(Json(number)).text());
  }
}

}  // namespace
}  // namespace millrace
