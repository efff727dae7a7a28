// Durations and sizes in flags and in help texts.
#include "cli/quantity.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Quantity, IsReadWithItsUnit) {
  EXPECT_EQ(read_duration("for", "PT1.5S"), Duration(1'500));
  EXPECT_EQ(read_number("size", "1"), 1U);
  EXPECT_EQ(read_number("size", "3KiB"), 3072U);
  EXPECT_EQ(read_number("size", "16777215TiB"), uint64_t{16'777'215} << 40);
}

TEST(Quantity, IsRefusedWithTheNameOfItsFlag) {
  for (const char* text : {"", "0s", "1mo", "x", "-1s"}) {
    const auto read = read_duration("for", text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ExitCode::kUsage);
    EXPECT_TRUE(read.error().error.message.starts_with("--for: ")) << read.error().error.message;
  }
  for (const char* text : {"", "0", "-1", "GiB", "10GB", "1.5GiB", "16777216TiB", "10 GiB"}) {
    const auto read = read_number("size", text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ExitCode::kUsage);
    EXPECT_TRUE(read.error().error.message.starts_with("--size: ")) << read.error().error.message;
  }
}

TEST(Quantity, OfADurationHasAUnit) {
  for (const char* text : {"60", " 60 ", "1h30", "1h 30"}) {
    const auto duration = read_duration("for", text);
    const auto span = read_span("for", text);
    ASSERT_FALSE(duration) << text;
    ASSERT_FALSE(span) << text;
    EXPECT_EQ(span.error().code, ExitCode::kUsage);
    EXPECT_EQ(span.error().error.message,
              "--for: \"" + std::string(text) +
                  "\" ends in a number without a unit; expected a duration such as 60s or PT1M");
    EXPECT_EQ(duration.error().error.message, span.error().error.message);
  }
  EXPECT_EQ(read_span("for", "0s")->fixed, Duration(0));
  EXPECT_EQ(read_span("for", "P1M")->months, 1);
  EXPECT_EQ(read_span("for", "1h 30m")->fixed, std::chrono::minutes(90));
  EXPECT_TRUE(read_span("for", "soon").error().error.message.starts_with("--for: "));
}

TEST(Quantity, OfACountHasNoUnit) {
  EXPECT_EQ(read_count("rate", "1"), 1U);
  EXPECT_EQ(read_count("rate", "250"), 250U);
  for (const char* text : {"", "0", "-1", "x", "1.5", "10KiB"}) {
    const auto read = read_count("rate", text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ExitCode::kUsage);
    EXPECT_EQ(read.error().error.message, "--rate: \"" + std::string(text) +
                                              "\" is not a whole number from 1; write one like "
                                              "10");
  }
}

TEST(Quantity, IsWrittenInTheLargestUnitThatNeedsNoFraction) {
  EXPECT_EQ(duration_text(std::chrono::hours(48)), "2d");
  EXPECT_EQ(duration_text(std::chrono::hours(36)), "36h");
  EXPECT_EQ(duration_text(std::chrono::minutes(10)), "10m");
  EXPECT_EQ(duration_text(std::chrono::seconds(90)), "90s");
  EXPECT_EQ(duration_text(Duration(1'500)), "1500ms");
  EXPECT_EQ(bytes_text(1), "1");
  EXPECT_EQ(bytes_text(1025), "1025");
  EXPECT_EQ(bytes_text(uint64_t{16} << 20), "16MiB");
  EXPECT_EQ(bytes_text(uint64_t{2048} << 40), "2048TiB");
}

TEST(Quantity, IsReadBackAsItWasWritten) {
  for (const Duration duration :
       {Duration(1), Duration(1'500), Duration(90'000), Duration(std::chrono::hours(24 * 365))}) {
    EXPECT_EQ(read_duration("for", duration_text(duration)), duration);
  }
  for (const uint64_t bytes :
       {uint64_t{1}, uint64_t{4'000'000}, uint64_t{5} << 30, uint64_t{1} << 63}) {
    EXPECT_EQ(read_number("size", bytes_text(bytes)), bytes);
  }
}

}  // namespace
}  // namespace millrace
