#include "base/time.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Time, IsWrittenWithMilliseconds) {
  EXPECT_EQ(format_rfc3339(from_millis(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_rfc3339(from_millis(1630497600123)), "2021-09-01T12:00:00.123Z");
}

TEST(Time, ReadsEveryFormOfRfc3339) {
  EXPECT_EQ(parse_rfc3339("2021-09-01T12:00:00Z"), from_millis(1630497600000));
  EXPECT_EQ(parse_rfc3339("2021-09-01t14:30:00.1239+02:30"), from_millis(1630497600123));
  EXPECT_EQ(parse_rfc3339("2021-09-01 09:30:00-02:30"), from_millis(1630497600000));
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z"), parse_rfc3339("2017-01-01T00:00:00Z"));
}

TEST(Time, IsCutToTheYears0To9999InUtc) {
  const TimePoint kLast = from_millis(253'402'300'799'999);
  const TimePoint kFirst = from_millis(-62'167'219'200'000);
  EXPECT_EQ(format_rfc3339(kLast), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_rfc3339(kFirst), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59.999Z"), kLast);
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:59-01:00"), kLast);
  EXPECT_EQ(parse_rfc3339("9999-12-31T23:59:60Z"), kLast);
  EXPECT_EQ(parse_rfc3339("0000-01-01T00:00:00Z"), kFirst);
  EXPECT_EQ(parse_rfc3339("0000-01-01T00:00:00+00:01"), kFirst);
}

TEST(Time, RefusesTextThatIsNotATimestamp) {
  for (const char* text :
       {"", "2021", "2021-09-01", "2021-09-01T12:00:00", "2021-02-30T00:00:00Z",
        "2021-13-01T00:00:00Z", "2021-09-01T24:00:00Z", "2021-09-01T12:00:00.Z",
        "2021-09-01T12:00:00Zx", "21-09-01T12:00:00Z", "2021-09-01T12:00:00+2"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace millrace
