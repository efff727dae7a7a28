#include "policies/duration.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kDay = 24h;

struct Good {
  const char* text;
  int months;
  Duration fixed;
};

void expect_all(const std::vector<Good>& rows) {
  for (const Good& row : rows) {
    const Result<Span> span = Span::parse(row.text);
    ASSERT_TRUE(span) << row.text << ": " << span.error().message;
    EXPECT_EQ(span->months, row.months) << row.text;
    EXPECT_EQ(span->fixed, row.fixed) << row.text;
    EXPECT_EQ(span->text, row.text);
  }
}

TEST(Duration, ReadsPairsOfNumberAndUnit) {
  expect_all({
      {"1000ms", 0, 1s},
      {"3 secs", 0, 3s},
      {"5m", 0, 5min},
      {"20mins", 0, 20min},
      {"10h 30 minutes", 0, 10h + 30min},
      {"1 hour 10minutes 5s", 0, 1h + 10min + 5s},
      {"1d 5h", 0, kDay + 5h},
      {"10 days 1hrs 30m 15 secs", 0, 10 * kDay + 1h + 30min + 15s},
  });
}

TEST(Duration, ReadsEveryNameOfAUnit) {
  const std::vector<std::pair<std::vector<const char*>, Duration>> rows = {
      {{"milliseconds", "millisecond", "millis", "milli", "ms"}, 1ms},
      {{"seconds", "second", "secs", "sec", "s"}, 1s},
      {{"minutes", "minute", "mins", "min", "m"}, 1min},
      {{"hours", "hour", "hrs", "hr", "h"}, 1h},
      {{"days", "day", "d"}, kDay},
  };
  for (const auto& [names, each] : rows) {
    for (const std::string name : names) {
      for (const std::string& text :
           {"7" + name, "7 " + name, "7\t" + name, " 7 " + name + " \n"}) {
        const Result<Span> span = Span::parse(text);
        ASSERT_TRUE(span) << text;
        EXPECT_EQ(span->fixed, 7 * each) << text;
      }
    }
  }
}

TEST(Duration, ReadsAnyCountOfPairsInAnyOrderAndANumberWithoutAUnit) {
  expect_all({
      {"500", 0, 500ms},
      {"1s 500", 0, 1500ms},
      {"500 1s", 0, 1500ms},
      {"1h30m", 0, 90min},
      {"30m1h", 0, 90min},
      {"1h 1h", 0, 2h},
      {"007s", 0, 7s},
      {"0", 0, 0ms},
      {"0ms", 0, 0ms},
  });
}

TEST(Duration, ReadsIso8601) {
  expect_all({
      {"PT1H", 0, 1h},
      {"PT30S", 0, 30s},
      {"PT90M", 0, 90min},
      {"P1DT2H", 0, kDay + 2h},
      {"P1W", 0, 7 * kDay},
      {"P2W3D", 0, 17 * kDay},
      {"P1Y", 12, 0ms},
      {"P1M", 1, 0ms},
      {"P1Y2M", 14, 0ms},
      {"P1Y2M10DT2H30M", 14, 10 * kDay + 2h + 30min},
      {"P1MT1M", 1, 1min},
      {"PT36H", 0, 36h},
      {"PT0S", 0, 0s},
      {"P0D", 0, 0s},
      {" PT1H\n", 0, 1h},
  });
}

TEST(Duration, ReadsAFractionInTheLastNumberOfIso8601) {
  expect_all({
      {"PT0.5S", 0, 500ms},
      {"PT0,5S", 0, 500ms},
      {"PT1.5H", 0, 90min},
      {"PT1M0.25S", 0, 60'250ms},
      {"P0.5D", 0, 12h},
      {"P1.5W", 0, 252h},
      {"P1DT0.5M", 0, kDay + 30s},
      {"PT1.0009S", 0, 1s},
      {"PT0.12345678901234567890S", 0, 123ms},
  });
}

TEST(Duration, NamesTheByteAtWhichAnInvalidTextIsWrong) {
  struct Row {
    const char* text;
    const char* code;
    size_t byte;
  };
  const std::vector<Row> rows = {
      {"", "duration.malformed", 0},
      {"  ", "duration.malformed", 0},
      {"hour", "duration.malformed", 0},
      {"1.5h", "duration.malformed", 1},
      {"1h 2,5m", "duration.malformed", 4},
      {"+1h", "duration.malformed", 0},
      {"1h, 2m", "duration.malformed", 2},
      {"1h and 2m", "duration.malformed", 3},
      {"1h!", "duration.malformed", 2},
      {"-1", "duration.negative", 0},
      {"-PT1H", "duration.negative", 0},
      {"PT-1H", "duration.negative", 2},
      {"1h -5m", "duration.negative", 3},
      {"1H", "duration.unit", 1},
      {"5 weeks", "duration.unit", 2},
      {"1h 3 fortnights", "duration.unit", 5},
      {"1\xc2\xb5s", "duration.malformed", 1},
      {"pt1h", "duration.malformed", 0},
      {"P", "duration.malformed", 1},
      {"PT", "duration.malformed", 2},
      {"P1DT", "duration.malformed", 4},
      {"P1H", "duration.unit", 2},
      {"PT1D", "duration.unit", 3},
      {"P1", "duration.unit", 2},
      {"PT5", "duration.unit", 3},
      {"P1D2H", "duration.unit", 4},
      {"PT1h", "duration.unit", 3},
      {"PT1M1H", "duration.malformed", 5},
      {"PT1H1H", "duration.malformed", 5},
      {"P1M1Y", "duration.malformed", 4},
      {"PT1HT1M", "duration.malformed", 4},
      {"PT1H 5M", "duration.malformed", 4},
      {"PT1H;", "duration.malformed", 4},
      {"PT0.5H1M", "duration.malformed", 6},
      {"PT.5S", "duration.malformed", 2},
      {"PT1.S", "duration.malformed", 4},
      {"P0.5Y", "duration.malformed", 4},
      {"P1.5M", "duration.malformed", 4},
      {"P101Y", "duration.overflow", 1},
      {"P100Y1M", "duration.overflow", 5},
      {"P1201M", "duration.overflow", 1},
      {"36526d", "duration.overflow", 0},
      {"1h 99999999999999999999999999999999999999d", "duration.overflow", 3},
      {"PT99999999999999999999S", "duration.overflow", 2},
      {"3155760000001", "duration.overflow", 0},
  };
  for (const Row& row : rows) {
    const Result<Span> span = Span::parse(row.text);
    ASSERT_FALSE(span) << row.text;
    EXPECT_EQ(span.error().code, row.code) << row.text << ": " << span.error().message;
    EXPECT_THAT(span.error().message, HasSubstr("(byte " + std::to_string(row.byte) + ")"))
        << row.text;
  }
}

TEST(Duration, ShowsAShortPrintableExcerptInAnError) {
  EXPECT_EQ(Span::parse("1.5h").error().message,
            "\"1.5h\" is not a duration: only a whole number may stand before a unit; for a "
            "fraction use ISO 8601, such as PT1.5H (byte 1)");
  EXPECT_THAT(Span::parse("5 \xff\n\x1b").error().message, HasSubstr("\"5 ???\""));
  EXPECT_LT(Span::parse(std::string(1'000'000, 'x')).error().message.size(), 200U);
  EXPECT_LT(Span::parse("1" + std::string(1'000'000, 'x')).error().message.size(), 200U);
}

TEST(Duration, MayLastUpToAHundredYears) {
  for (const char* text : {"P100Y", "P1200M", "36525d", "3155760000000", "P99Y12M"}) {
    EXPECT_TRUE(Span::parse(text)) << text;
  }
}

TEST(Duration, EqualsAnotherSpellingOfTheSameSpan) {
  EXPECT_EQ(Span::parse("PT60S"), Span::parse("1m"));
  EXPECT_EQ(Span::parse("P1Y"), Span::parse("P12M"));
  EXPECT_NE(Span::parse("P1M"), Span::parse("P30D"));
  EXPECT_TRUE(Span::parse("0 days")->is_zero());
  EXPECT_FALSE(Span::parse("P1M")->is_zero());
  EXPECT_FALSE(Span::parse("1ms")->is_zero());
}

TEST(Duration, AddsMonthsByTheCalendar) {
  struct Row {
    const char* start;
    const char* span;
    const char* end;
  };
  const std::vector<Row> rows = {
      {"2021-01-31T10:20:30.456Z", "P1M", "2021-02-28T10:20:30.456Z"},
      {"2024-01-31T10:20:30.456Z", "P1M", "2024-02-29T10:20:30.456Z"},
      {"2021-01-31T00:00:00.000Z", "P2M", "2021-03-31T00:00:00.000Z"},
      {"2021-08-31T00:00:00.000Z", "P1M", "2021-09-30T00:00:00.000Z"},
      {"2021-12-31T23:59:59.999Z", "P1M", "2022-01-31T23:59:59.999Z"},
      {"2024-02-29T12:00:00.000Z", "P1Y", "2025-02-28T12:00:00.000Z"},
      {"2024-02-29T12:00:00.000Z", "P4Y", "2028-02-29T12:00:00.000Z"},
      {"1900-01-31T00:00:00.000Z", "P1M", "1900-02-28T00:00:00.000Z"},
      {"2000-01-31T00:00:00.000Z", "P1M", "2000-02-29T00:00:00.000Z"},
      {"2021-01-31T00:00:00.000Z", "P1M1D", "2021-03-01T00:00:00.000Z"},
      {"2021-03-27T12:00:00.000Z", "P1D", "2021-03-28T12:00:00.000Z"},
      {"2021-11-30T12:00:00.000Z", "P1Y3M", "2023-02-28T12:00:00.000Z"},
      {"1969-12-31T23:59:59.999Z", "PT0.001S", "1970-01-01T00:00:00.000Z"},
      {"2021-01-01T00:00:00.000Z", "PT0S", "2021-01-01T00:00:00.000Z"},
      {"2021-01-01T00:00:00.000Z", "P100Y", "2121-01-01T00:00:00.000Z"},
  };
  for (const Row& row : rows) {
    const TimePoint end = Span::parse(row.span)->after(*parse_rfc3339(row.start));
    EXPECT_EQ(format_rfc3339(end), row.end) << row.start << " + " << row.span;
  }
}

TEST(Duration, EndsInTheYear9999AtTheLatest) {
  const Span century = *Span::parse("P100Y");
  const Span months = {.months = std::numeric_limits<int>::max()};
  const Span all = {.fixed = Duration::max()};
  const TimePoint now = *parse_rfc3339("2021-09-01T12:00:00Z");
  EXPECT_EQ(format_rfc3339(century.after(TimePoint::max())), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(century.after(TimePoint::min())), "0100-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(months.after(now)), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(all.after(now)), "9999-12-31T23:59:59.999Z");
}

TEST(Duration, IsSpelledInUnitsThatAreNotZero) {
  struct Row {
    Duration time;
    const char* text;
  };
  const std::vector<Row> rows = {
      {0ms, "0s"}, {90min, "1h30m"}, {kDay + 1ms, "1d1ms"}, {61s + 5ms, "1m1s5ms"}};
  for (const Row& row : rows) {
    EXPECT_EQ(spelled(row.time), row.text);
    const Span read = *Span::parse(row.text);
    EXPECT_EQ(read.after(TimePoint()) - TimePoint(), row.time) << row.text;
  }
}

}  // namespace
}  // namespace millrace
