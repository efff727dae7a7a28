// What the values of durations and of `until` mean that the data of an instance decides.
#include "policies/evaluated_time.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TimePoint utc(const char* text) { return parse_rfc3339(text).value(); }

LazyJson json(const char* text) { return LazyJson(parse_json(text).value()); }

TEST(EvaluatedTime, ReadsADurationFromAText) {
  const struct {
    const char* value;
    bool zero;
    const char* end;  ///< of a wait that begins at 2024-01-31T00:00:00Z
  } rows[] = {
      {R"("PT30S")", false, "2024-01-31T00:00:30Z"},
      {R"("1h 30m")", false, "2024-01-31T01:30:00Z"},
      {R"(" PT1S ")", false, "2024-01-31T00:00:01Z"},
      {R"("500")", false, "2024-01-31T00:00:00.500Z"},
      {R"("P1M")", false, "2024-02-29T00:00:00Z"},
      {R"("P100Y")", false, "2124-01-31T00:00:00Z"},
      {R"("PT0S")", true, "2024-01-31T00:00:00Z"},
  };
  for (const auto& row : rows) {
    const auto span = span_of("duration", row.zero, json(row.value));
    ASSERT_TRUE(span) << row.value << ": " << span.error().message;
    EXPECT_EQ(span->after(utc("2024-01-31T00:00:00Z")), utc(row.end)) << row.value;
  }
}

TEST(EvaluatedTime, RefusesAValueThatIsNotADurationThere) {
  const struct {
    const char* value;
    const char* why;
  } rows[] = {
      {"30", "duration: the value has the type number; expected the text of a duration"},
      {"null", "duration: the value has the type null; expected the text of a duration"},
      {"true", "duration: the value has the type boolean"},
      {R"({"a":1})", "duration: the value has the type object"},
      {R"(["PT1S"])", "duration: the value has the type array"},
      {R"("")", "it is empty"},
      {R"("PT0S")", "\"PT0S\" is zero; it must be longer"},
      {R"("0")", "\"0\" is zero; it must be longer"},
      {R"("-PT1S")", "it must not be negative"},
      {R"("P101Y")", "it is longer than 100 years"},
      {R"("2027-01-01T00:00:00Z")", "is not a duration"},
      {R"("5 parsecs")", "is not a unit"},
  };
  for (const auto& row : rows) {
    const auto span = span_of("duration", false, json(row.value));
    ASSERT_FALSE(span) << row.value;
    EXPECT_EQ(span.error().code, kDurationInvalid) << row.value;
    EXPECT_THAT(span.error().message, StartsWith("duration: ")) << row.value;
    EXPECT_THAT(span.error().message, HasSubstr(row.why)) << row.value;
  }
}

TEST(EvaluatedTime, ReadsTheEndOfAWaitFromATextANumberOrASchedule) {
  const struct {
    const char* value;
    const char* now;
    const char* end;
  } rows[] = {
      {R"("2027-01-01T09:00:00Z")", "2026-01-01T00:00:00Z", "2027-01-01T09:00:00Z"},
      {R"("2027-01-01T09:00:00+01:00")", "2026-01-01T00:00:00Z", "2027-01-01T08:00:00Z"},
      {R"("2027-01-01T09:00:00.25-05:30")", "2026-01-01T00:00:00Z", "2027-01-01T14:30:00.250Z"},
      // Past, and far ahead.
      {R"("1999-12-31T23:59:59Z")", "2026-01-01T00:00:00Z", "1999-12-31T23:59:59Z"},
      {R"("2126-01-02T00:00:00Z")", "2026-01-01T00:00:00Z", "2126-01-02T00:00:00Z"},
      {"1704067200", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"},
      {"1704067200.123", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123Z"},
      {"0", "2024-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
      {"-5", "2024-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
      {"-123456789012345678901234567890", "2024-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
      // Schedules. The clocks of Vienna change on 28 March and on 31 October 2027.
      {R"({"cron":"0 9 * * *"})", "2027-03-27T12:00:00Z", "2027-03-28T09:00:00Z"},
      {R"({"cron":"0 9 * * *"})", "2027-03-27T09:00:00Z", "2027-03-28T09:00:00Z"},
      {R"({"cron":"0 9 * * *","timezone":null})", "2027-03-27T08:59:59Z", "2027-03-27T09:00:00Z"},
      {R"({"cron":"0 9 * * *","timezone":"Europe/Vienna"})", "2027-03-26T12:00:00Z",
       "2027-03-27T08:00:00Z"},
      {R"({"cron":"0 9 * * *","timezone":"Europe/Vienna"})", "2027-03-27T12:00:00Z",
       "2027-03-28T07:00:00Z"},
      {R"({"cron":"0 9 * * *","timezone":"Europe/Vienna"})", "2027-10-29T12:00:00Z",
       "2027-10-30T07:00:00Z"},
      {R"({"cron":"0 9 * * *","timezone":"Europe/Vienna"})", "2027-10-30T12:00:00Z",
       "2027-10-31T08:00:00Z"},
      // A local time that the clocks skip, and one that comes twice.
      {R"({"cron":"30 2 * * *","timezone":"Europe/Vienna"})", "2027-03-27T12:00:00Z",
       "2027-03-28T01:00:00Z"},
      {R"({"cron":"30 2 * * *","timezone":"Europe/Vienna"})", "2027-10-30T12:00:00Z",
       "2027-10-31T00:30:00Z"},
      {R"({"cron":"CRON_TZ=Europe/Vienna 0 9 * * *"})", "2027-03-27T12:00:00Z",
       "2027-03-28T07:00:00Z"},
      {R"({"cron":"@every 90m"})", "2027-03-27T12:00:00Z", "2027-03-27T13:30:00Z"},
  };
  for (const auto& row : rows) {
    const auto time = until_of("until", json(row.value), utc(row.now));
    ASSERT_TRUE(time) << row.value << ": " << time.error().message;
    EXPECT_EQ(format_rfc3339(*time), format_rfc3339(utc(row.end))) << row.value << " " << row.now;
  }
}

TEST(EvaluatedTime, RefusesAnEndOfAWaitThatIsNoTimeOrTooFarAhead) {
  const struct {
    const char* value;
    const char* why;
  } rows[] = {
      {"null", "the value has the type null; expected a time in RFC 3339"},
      {"true", "the value has the type boolean"},
      {"[1]", "the value has the type array"},
      {R"("")", "\"\" is not a time"},
      {R"("PT1H")", "\"PT1H\" is not a time"},
      {R"("1704067200")", "\"1704067200\" is not a time"},
      {R"("2027-01-01")", "\"2027-01-01\" is not a time"},
      {R"("2027-01-01T09:00:00")", "is not a time"},
      {R"("2126-01-02T00:00:01Z")", "2126-01-02T00:00:01.000Z is more than 100 years ahead"},
      {"5000000000", "more than 100 years ahead"},
      {"1e300", "more than 100 years ahead"},
      {"123456789012345678901234567890", "more than 100 years ahead"},
      {"{}", "the schedule has no cron"},
      {R"({"cron":5})", "cron has the type number; expected a string"},
      {R"({"cron":"0 25 * * *"})", "is not a cron expression"},
      {R"({"cron":"0 0 31 2 *"})", "is not a cron expression"},
      {R"({"cron":"0 9 * * *","timezone":"Europe/Wien"})", "there is no time zone \"Europe/Wien\""},
      {R"({"cron":"0 9 * * *","timezone":"UTC 0 8"})", "there is no time zone"},
      {R"({"cron":"TZ=UTC 0 9 * * *","timezone":"UTC"})",
       "names a time zone, and so does timezone"},
      {R"({"cron":"0 9 * * *","zone":"UTC"})", "\"zone\" is not a key of a schedule"},
  };
  for (const auto& row : rows) {
    const auto time = until_of("until", json(row.value), utc("2026-01-01T00:00:00Z"));
    ASSERT_FALSE(time) << row.value << ": " << format_rfc3339(*time);
    EXPECT_EQ(time.error().code, kDurationInvalid) << row.value;
    EXPECT_THAT(time.error().message, StartsWith("until: ")) << row.value;
    EXPECT_THAT(time.error().message, HasSubstr(row.why)) << row.value;
  }
}

TEST(EvaluatedTime, KeepsTheDurationOfATimeoutButNotOfAnUntil) {
  const TimePoint now = utc("2024-01-01T00:00:00Z");
  const auto span =
      time_of({.form = EvaluatedTime::Form::kSpan, .key = "timeout"}, json(R"("PT1H")"), now);
  ASSERT_TRUE(span);
  EXPECT_EQ(span->at, now + std::chrono::hours(1));
  EXPECT_EQ(span->span, *Span::parse("1h"));
  const auto until =
      time_of({.form = EvaluatedTime::Form::kUntil, .key = "until"}, json("1704067260"), now);
  ASSERT_TRUE(until);
  EXPECT_EQ(until->at, now + std::chrono::minutes(1));
  EXPECT_FALSE(until->span);
}

}  // namespace
}  // namespace millrace
