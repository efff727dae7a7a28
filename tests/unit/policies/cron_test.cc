#include "policies/cron.h"

#include <cstdlib>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;

TimePoint at(const std::string& text) { return parse_rfc3339(text).value(); }

Cron cron(std::string_view text) {
  Result<Cron> parsed = Cron::parse(text);
  EXPECT_TRUE(parsed) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : Cron::parse("* * * * *").value();
}

/// The first `count` ticks after a time, without seconds: `2026-01-05 09:00`.
std::vector<std::string> ticks(std::string_view text, const std::string& after, int count) {
  const Cron parsed = cron(text);
  std::vector<std::string> all;
  TimePoint time = at(after);
  for (int i = 0; i < count; ++i) {
    time = parsed.next(time);
    std::string shown = format_rfc3339(time);
    EXPECT_TRUE(shown.ends_with(":00.000Z")) << shown;
    shown[10] = ' ';
    all.push_back(shown.substr(0, 16));
  }
  return all;
}

struct CronRow {
  const char* cron;
  const char* after;
  std::vector<std::string> ticks;
};

void expect_all(const std::vector<CronRow>& rows) {
  for (const CronRow& row : rows) {
    EXPECT_EQ(ticks(row.cron, row.after, static_cast<int>(row.ticks.size())), row.ticks)
        << row.cron << " after " << row.after;
  }
}

TEST(Cron, TicksAtTheMinutesThatItsFieldsName) {
  // 2026-01-01 is a Thursday.
  expect_all({
      {"* * * * *",
       "2026-01-01T00:00:00Z",
       {"2026-01-01 00:01", "2026-01-01 00:02", "2026-01-01 00:03"}},
      {"*/20 * * * *", "2026-01-01T00:30:00Z", {"2026-01-01 00:40", "2026-01-01 01:00"}},
      {"5/20 * * * *", "2026-01-01T00:00:00Z", {"2026-01-01 00:05", "2026-01-01 00:25"}},
      {"50/20 * * * *", "2026-01-01T00:00:00Z", {"2026-01-01 00:50", "2026-01-01 01:50"}},
      {"7/99 * * * *", "2026-01-01T00:00:00Z", {"2026-01-01 00:07", "2026-01-01 01:07"}},
      {"0 9-17/4 * * *",
       "2026-01-01T00:00:00Z",
       {"2026-01-01 09:00", "2026-01-01 13:00", "2026-01-01 17:00", "2026-01-02 09:00"}},
      {"15,45 8,20 * * *",
       "2026-01-01T08:15:00Z",
       {"2026-01-01 08:45", "2026-01-01 20:15", "2026-01-01 20:45", "2026-01-02 08:15"}},
      {"0 0 31 * *",
       "2026-01-31T00:00:00Z",
       {"2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00"}},
      {"0 12 1 jan,JUL *", "2026-01-01T12:00:00Z", {"2026-07-01 12:00", "2027-01-01 12:00"}},
      {"30 6 * * mon-fri", "2026-01-01T06:30:00Z", {"2026-01-02 06:30", "2026-01-05 06:30"}},
      {"0 0 * * 0", "2026-01-01T00:00:00Z", {"2026-01-04 00:00", "2026-01-11 00:00"}},
      {"0 0 * * 7", "2026-01-01T00:00:00Z", {"2026-01-04 00:00", "2026-01-11 00:00"}},
      {"0 0 * * SUN", "2026-01-01T00:00:00Z", {"2026-01-04 00:00", "2026-01-11 00:00"}},
      {"0 0 * * 6-7", "2026-01-01T00:00:00Z", {"2026-01-03 00:00", "2026-01-04 00:00"}},
      {"0 0 * * sat-sun", "2026-01-01T00:00:00Z", {"2026-01-03 00:00", "2026-01-04 00:00"}},
      {"0 0 * * 5/1", "2026-01-01T00:00:00Z", {"2026-01-02 00:00", "2026-01-03 00:00"}},
      {"  0\t0  1 1 ?  ", "2026-01-01T00:00:00Z", {"2027-01-01 00:00", "2028-01-01 00:00"}},
      {"59 23 31 12 *", "2026-01-01T00:00:00Z", {"2026-12-31 23:59", "2027-12-31 23:59"}},
      // The time of day does not stay that of the first day, of a month or of a day that is
      // skipped.
      {"0 3 1 2 *", "2026-01-15T05:00:00Z", {"2026-02-01 03:00", "2027-02-01 03:00"}},
      {"0 3 16 1 *", "2026-01-15T05:00:00Z", {"2026-01-16 03:00", "2027-01-16 03:00"}},
  });
}

TEST(Cron, TicksOnADayThatMatchesEitherDayFieldIfBothAreRestricted) {
  expect_all({
      // The 13th, and every Friday.
      {"0 0 13 * 5",
       "2026-01-01T00:00:00Z",
       {"2026-01-02 00:00", "2026-01-09 00:00", "2026-01-13 00:00", "2026-01-16 00:00"}},
      {"0 0 ? * 5", "2026-01-01T00:00:00Z", {"2026-01-02 00:00", "2026-01-09 00:00"}},
      {"0 0 13 * ?", "2026-01-01T00:00:00Z", {"2026-01-13 00:00", "2026-02-13 00:00"}},
      {"0 0 */1 * 5", "2026-01-01T00:00:00Z", {"2026-01-02 00:00", "2026-01-09 00:00"}},
      // As in robfig/cron, a star with a step restricts its field.
      {"0 0 */10 * 5",
       "2026-01-01T00:00:00Z",
       {"2026-01-02 00:00", "2026-01-09 00:00", "2026-01-11 00:00"}},
      // 30 February does not exist, but February has Mondays.
      {"0 0 30 2 1", "2026-01-01T00:00:00Z", {"2026-02-02 00:00", "2026-02-09 00:00"}},
  });
}

TEST(Cron, TicksOn29FebruaryInLeapYearsOnly) {
  expect_all({
      {"0 0 29 2 *", "2026-01-01T00:00:00Z", {"2028-02-29 00:00", "2032-02-29 00:00"}},
      {"0 0 29 2 *", "2096-02-29T00:00:00Z", {"2104-02-29 00:00"}},
      {"0 0 29 2 *", "1999-01-01T00:00:00Z", {"2000-02-29 00:00"}},
      {"0 0 28-31 2 *", "2027-02-28T00:00:00Z", {"2028-02-28 00:00", "2028-02-29 00:00"}},
  });
}

TEST(Cron, ReadsMacrosAndTimeZones) {
  expect_all({
      {"@hourly", "2026-01-01T00:30:00Z", {"2026-01-01 01:00", "2026-01-01 02:00"}},
      {"@daily", "2026-01-01T00:00:00Z", {"2026-01-02 00:00", "2026-01-03 00:00"}},
      {"@midnight", "2026-01-01T00:00:00Z", {"2026-01-02 00:00", "2026-01-03 00:00"}},
      {"@weekly", "2026-01-01T00:00:00Z", {"2026-01-04 00:00", "2026-01-11 00:00"}},
      {"@monthly", "2026-01-01T00:00:00Z", {"2026-02-01 00:00", "2026-03-01 00:00"}},
      {"@yearly", "2026-01-01T00:00:00Z", {"2027-01-01 00:00", "2028-01-01 00:00"}},
      {"@annually", "2026-01-01T00:00:00Z", {"2027-01-01 00:00", "2028-01-01 00:00"}},
      {"CRON_TZ=Asia/Tokyo @daily", "2026-01-01T00:00:00Z", {"2026-01-01 15:00"}},
      {"TZ=Asia/Kathmandu 0 9 * * *", "2026-01-01T00:00:00Z", {"2026-01-01 03:15"}},
      {"CRON_TZ=UTC 0 9 * * *", "2026-01-01T00:00:00Z", {"2026-01-01 09:00"}},
  });
}

TEST(Cron, CountsTheIntervalOfTheMacroEveryFromTheGivenTime) {
  const Cron every = cron("@every 1h30m");
  EXPECT_EQ(every.next(at("2026-01-01T00:00:07.123Z")), at("2026-01-01T01:30:07.123Z"));
  EXPECT_EQ(cron("@every PT90S").next(at("2026-01-01T00:00:00Z")), at("2026-01-01T00:01:30Z"));
  EXPECT_EQ(cron("CRON_TZ=Asia/Tokyo @every 1d").next(at("2026-01-01T00:00:00Z")),
            at("2026-01-02T00:00:00Z"));
}

TEST(Cron, TicksStrictlyAfterTheGivenTime) {
  const Cron daily = cron("0 12 * * *");
  EXPECT_EQ(daily.next(at("2026-01-01T11:59:59.999Z")), at("2026-01-01T12:00:00Z"));
  EXPECT_EQ(daily.next(at("2026-01-01T12:00:00.000Z")), at("2026-01-02T12:00:00Z"));
  EXPECT_EQ(daily.next(at("2026-01-01T12:00:00.001Z")), at("2026-01-02T12:00:00Z"));
}

TEST(Cron, MakesUpForMissedTicksWithOneTick) {
  const TimePoint tick = at("2026-01-01T12:00:00Z");
  const Cron daily = cron("0 12 * * *");
  EXPECT_EQ(daily.next(daily.caught_up(tick, tick)), at("2026-01-02T12:00:00Z"));
  EXPECT_EQ(daily.next(daily.caught_up(tick, at("2026-01-04T18:00:00Z"))),
            at("2026-01-05T12:00:00Z"));
  // A tick that is due right now counts as missed.
  EXPECT_EQ(daily.next(daily.caught_up(tick, at("2026-01-04T12:00:00Z"))),
            at("2026-01-05T12:00:00Z"));

  const Cron every = cron("@every 10m");
  EXPECT_EQ(every.next(every.caught_up(tick, tick + 3s)), tick + 10min)
      << "the interval starts at the last tick, not at the current time";
  EXPECT_EQ(every.next(every.caught_up(tick, tick + 25min)), tick + 30min);
  EXPECT_EQ(every.next(every.caught_up(tick, tick + 30min)), tick + 40min);
}

TEST(Cron, TicksAtTheEndOfTheYear9999AtTheLatest) {
  EXPECT_EQ(cron("0 0 1 1 *").next(at("9999-06-01T00:00:00Z")), at("9999-12-31T23:59:59.999Z"));
  EXPECT_EQ(cron("CRON_TZ=Europe/Vienna 0 * * * *").next(at("9999-12-31T23:59:00Z")),
            at("9999-12-31T23:59:59.999Z"));
}

struct Bad {
  const char* cron;
  const char* code;
  const char* message;
};

TEST(Cron, ReportsWhatIsWrongAndWhere) {
  const std::vector<Bad> rows = {
      {"", "cron.malformed", "minute \"\" is missing: a schedule has five fields"},
      {"* * *", "cron.malformed", "month \"\" is missing"},
      {"* * * * * *", "cron.malformed",
       "\"*\" is one field too many: a schedule has five fields, without one for seconds (byte "
       "10)"},
      {"60 * * * *", "cron.range", "minute \"60\" is not within 0 to 59 (byte 0)"},
      {"0 24 * * *", "cron.range", "hour \"24\" is not within 0 to 23 (byte 2)"},
      {"0 0 0 * *", "cron.range", "day of month \"0\" is not within 1 to 31 (byte 4)"},
      {"0 0 1-32 * *", "cron.range", "day of month \"32\" is not within 1 to 31 (byte 6)"},
      {"0 0 * 13 *", "cron.range", "month \"13\" is not within 1 to 12 (byte 6)"},
      {"0 0 * * 8", "cron.range", "day of week \"8\" is not within 0 to 7 (byte 8)"},
      {"0 0 * * monday", "cron.malformed",
       "day of week \"monday\" is neither a number nor a name (byte 8)"},
      {"0 0 mon * *", "cron.malformed", "day of month \"mon\" is not a number (byte 4)"},
      {"? * * * *", "cron.malformed", "minute \"?\" is not a number (byte 0)"},
      {"5-1 * * * *", "cron.range", "minute \"5-1\" ends before it begins (byte 0)"},
      {"0 0 * * 5-0", "cron.range", "day of week \"5-0\" ends before it begins (byte 8)"},
      {"*/0 * * * *", "cron.range", "minute \"0\" is not a step of 1 or more (byte 2)"},
      {"*/x * * * *", "cron.malformed", "minute \"x\" is not a number (byte 2)"},
      {"1/2/3 * * * *", "cron.malformed", "minute \"2/3\" is not a number (byte 2)"},
      {"1,,2 * * * *", "cron.malformed", "minute \"\" is not a number (byte 2)"},
      {"1, * * * *", "cron.malformed", "minute \"\" is not a number (byte 2)"},
      {"-1 * * * *", "cron.malformed", "minute \"\" is not a number (byte 0)"},
      {"1- * * * *", "cron.malformed", "minute \"\" is not a number (byte 2)"},
      {"+1 * * * *", "cron.malformed", "minute \"+1\" is not a number (byte 0)"},
      {"1.5 * * * *", "cron.malformed", "minute \"1.5\" is not a number (byte 0)"},
      {"L * * * *", "cron.malformed", "minute \"L\" is not a number (byte 0)"},
      {"99999999999999999999 * * * *", "cron.range", "is too large (byte 0)"},
      {"0 0 30 2 *", "cron.never", "names a day that does not exist in any of its months (byte 0)"},
      {"0 0 31 4,6,9,11 ?", "cron.never", "names a day that does not exist in any of its months"},
      {"CRON_TZ=UTC 0 0 30 2 *", "cron.never", "(byte 12)"},
      {"@reboot", "cron.malformed", "\"@reboot\" is not a known macro; use @hourly, @daily"},
      {"@Hourly", "cron.malformed", "\"@Hourly\" is not a known macro"},
      {"@hourly *", "cron.malformed", "\"@hourly *\" is not a known macro"},
      {"@every", "duration.malformed", "it is empty"},
      {"@every 1x", "duration.unit", "1x"},
      {"@every 500ms", "cron.range", "@every \"500ms\" must be one second or longer"},
      {"@every 0s", "cron.range", "must be one second or longer"},
      {"@every P1M", "cron.range", "without months"},
      {"CRON_TZ=Europe/Wien 0 0 * * *", "zone.unknown", "there is no time zone \"Europe/Wien\""},
      {"CRON_TZ= 0 0 * * *", "zone.unknown", "there is no time zone \"\""},
      {"CRON_TZ=../../etc/passwd 0 0 * * *", "zone.unknown", "there is no time zone"},
      {"CRON_TZ=localtime 0 0 * * *", "zone.unknown", "there is no time zone"},
      {"CRON_TZ=Local 0 0 * * *", "zone.unknown", "there is no time zone \"Local\""},
      {"CRON_TZ=Europe/Vienna", "cron.malformed", "minute \"\" is missing"},
      {"TZ=UTC TZ=UTC * * * * *", "cron.malformed", "minute \"TZ=UTC\" is not a number (byte 7)"},
  };
  for (const Bad& row : rows) {
    const Result<Cron> parsed = Cron::parse(row.cron);
    ASSERT_FALSE(parsed) << row.cron;
    EXPECT_EQ(parsed.error().code, row.code) << row.cron;
    EXPECT_THAT(parsed.error().message, HasSubstr(row.message)) << row.cron;
  }
}

TEST(Cron, ShowsInvalidBytesAsQuestionMarksInAnError) {
  const Result<Cron> parsed = Cron::parse("\xff\x01" + std::string(5000, '*'));
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("\"??****"));
  EXPECT_LT(parsed.error().message.size(), 300U);
}

TEST(Cron, FindsLaterTicksForAnyScheduleThatItAccepts) {
  const std::vector<std::string> pieces = {
      "*", "?",  "/",  "-",  ",", " ",   " ",   " ",      "0",           "1",   "5",
      "7", "31", "59", "60", "2", "sun", "feb", "@every", "CRON_TZ=UTC", "\xff"};
  std::mt19937 random(1);
  int taken = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (size_t count = random() % 16; count > 0; --count) text += pieces[random() % pieces.size()];
    if (random() % 2 == 0) text += " * * * 1";
    const Result<Cron> parsed = Cron::parse(text);
    if (!parsed) continue;
    ++taken;
    const TimePoint first = parsed->next(at("2026-01-01T00:00:00Z"));
    EXPECT_GT(first, at("2026-01-01T00:00:00Z")) << text;
    EXPECT_GT(parsed->next(first), first) << text;
    EXPECT_LT(first, at("2035-01-01T00:00:00Z")) << text;
  }
  EXPECT_GT(taken, 100);
}

TEST(Cron, ReturnsItsTimeZone) {
  EXPECT_EQ(cron("0 0 * * *").zone(), "UTC");
  EXPECT_EQ(cron("CRON_TZ=Europe/Vienna 0 0 * * *").zone(), "Europe/Vienna");
  EXPECT_EQ(Cron::zone_in(" CRON_TZ=Europe/Wien 0 0 * * *"), "Europe/Wien");
  EXPECT_EQ(Cron::zone_in("0 0 * * *"), "");
  EXPECT_THAT(TimeZone::names(), Contains("Europe/Vienna"));
  EXPECT_THAT(TimeZone::names(), Contains("UTC").Times(1));
  EXPECT_THAT(TimeZone::names(), testing::Not(Contains("localtime")));
}

// Summer time. In New York the clocks go from 02:00 to 03:00 on 8 March 2026 (07:00 UTC), and from
// 02:00 to 01:00 on 1 November 2026 (06:00 UTC).

TEST(Cron, TicksOnceForTheTimesThatTheClocksSkip) {
  expect_all({
      {"CRON_TZ=America/New_York 30 2 * * *",
       "2026-03-06T12:00:00Z",
       {"2026-03-07 07:30", "2026-03-08 07:00", "2026-03-09 06:30"}},
      {"CRON_TZ=America/New_York */10 2 * * *",
       "2026-03-08T00:00:00Z",
       {"2026-03-08 07:00", "2026-03-09 06:00"}},
      {"CRON_TZ=America/New_York 0 2,3 * * *",
       "2026-03-08T00:00:00Z",
       {"2026-03-08 07:00", "2026-03-09 06:00"}},
      // On Lord Howe the clocks go forward by half an hour, from 02:00 to 02:30.
      {"CRON_TZ=Australia/Lord_Howe 15 2 * * *",
       "2026-10-02T00:00:00Z",
       {"2026-10-02 15:45", "2026-10-03 15:30", "2026-10-04 15:15"}},
      // Samoa crossed the date line: 30 December 2011 did not exist there.
      {"CRON_TZ=Pacific/Apia 0 12 * * *",
       "2011-12-29T00:00:00Z",
       {"2011-12-29 22:00", "2011-12-30 10:00", "2011-12-30 22:00"}},
  });
}

TEST(Cron, TicksAtTheFirstOccurrenceIfALocalTimeOccursTwice) {
  expect_all({
      {"CRON_TZ=America/New_York 30 1 * * *",
       "2026-10-31T12:00:00Z",
       {"2026-11-01 05:30", "2026-11-02 06:30"}},
      {"CRON_TZ=America/New_York 15,45 1-2 * * *",
       "2026-11-01T00:00:00Z",
       {"2026-11-01 05:15", "2026-11-01 05:45", "2026-11-01 07:15", "2026-11-01 07:45"}},
      // The given time is between the first and the second occurrence of 01:30.
      {"CRON_TZ=America/New_York 30 1 * * *", "2026-11-01T06:10:00Z", {"2026-11-02 06:30"}},
      {"CRON_TZ=Australia/Lord_Howe 45 1 * * *",
       "2026-04-04T00:00:00Z",
       {"2026-04-04 14:45", "2026-04-05 15:15"}},
  });
}

TEST(Cron, TicksInEachHourWhenTheClocksChangeIfItsHourFieldIsAStar) {
  expect_all({
      {"CRON_TZ=America/New_York 30 * * * *",
       "2026-03-08T05:45:00Z",
       {"2026-03-08 06:30", "2026-03-08 07:30", "2026-03-08 08:30"}},
      {"CRON_TZ=America/New_York 30 * * * *",
       "2026-11-01T04:45:00Z",
       {"2026-11-01 05:30", "2026-11-01 06:30", "2026-11-01 07:30"}},
      {"CRON_TZ=America/New_York 0 */1 * * *",
       "2026-11-01T04:45:00Z",
       {"2026-11-01 05:00", "2026-11-01 06:00", "2026-11-01 07:00"}},
      {"CRON_TZ=Australia/Lord_Howe */30 * * * *",
       "2026-10-03T15:00:00Z",
       {"2026-10-03 15:30", "2026-10-03 16:00"}},
      // The schedule follows the local time: after the change the next full hour is 90 minutes
      // later.
      {"CRON_TZ=Australia/Lord_Howe 0 * * * *",
       "2026-04-04T13:30:00Z",
       {"2026-04-04 14:00", "2026-04-04 15:30", "2026-04-04 16:30"}},
  });
}

/// The local time of each minute of a period, by the clock of libc.
class LocalClock {
 public:
  LocalClock(const char* zone, TimePoint begin, TimePoint end) {
    setenv("TZ", zone, 1);
    tzset();
    int64_t latest = local(begin - 1min);
    for (TimePoint time = begin; time < end; time += 1min) {
      const int64_t now = local(time);
      shown_.emplace_back(now, time);
      for (int64_t skipped = latest + 1; skipped <= now; ++skipped) {
        first_.emplace_back(skipped, time);
      }
      latest = std::max(latest, now);
    }
    unsetenv("TZ");
    tzset();
  }

  /// The ticks of a schedule for the given minute of the given hour (-1: of every hour).
  std::set<TimePoint> ticks(int hour, int minute) const {
    std::set<TimePoint> found;
    for (const auto& [local, time] : hour < 0 ? shown_ : first_) {
      if (hour < 0 ? local % 60 == minute : local % 1440 == hour * 60 + minute) found.insert(time);
    }
    return found;
  }

 private:
  /// The local time, in minutes since 1970 as if it were UTC.
  static int64_t local(TimePoint time) {
    const std::time_t seconds = to_millis(time) / 1000;
    std::tm parts{};
    localtime_r(&seconds, &parts);
    return (seconds + parts.tm_gmtoff) / 60;
  }

  std::vector<std::pair<int64_t, TimePoint>> shown_;  ///< the local time of each minute
  std::vector<std::pair<int64_t, TimePoint>> first_;  ///< each local time, shown or skipped, once
};

struct Zone {
  const char* name;
  int year;
};

std::ostream& operator<<(std::ostream& out, const Zone& zone) {
  return out << zone.name << " " << zone.year;
}

class CronInTimeZone : public testing::TestWithParam<Zone> {};

TEST_P(CronInTimeZone, TicksAtTheTimesThatLibcComputes) {
  const auto [name, year] = GetParam();
  const TimePoint begin = at(fmt::format("{}-01-01T00:00:00Z", year));
  const TimePoint end = at(fmt::format("{}-01-01T00:00:00Z", year + 1));
  const LocalClock local_clock(name, begin, end);
  for (const auto& [hour, minute] : std::vector<std::pair<int, int>>{
           {0, 0}, {1, 30}, {2, 0}, {2, 15}, {2, 59}, {3, 0}, {23, 30}, {-1, 0}, {-1, 45}}) {
    const std::string hours = hour < 0 ? "*" : std::to_string(hour);
    const Cron schedule = cron(fmt::format("CRON_TZ={} {} {} * * *", name, minute, hours));
    std::set<TimePoint> found;
    for (TimePoint time = schedule.next(begin - 1ms); time < end; time = schedule.next(time)) {
      EXPECT_TRUE(found.insert(time).second);
    }
    EXPECT_EQ(found, local_clock.ticks(hour, minute)) << hours << ":" << minute;
    EXPECT_GE(found.size(), 364U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllZones, CronInTimeZone,
    testing::Values(Zone{"America/New_York", 2026}, Zone{"America/Chicago", 2027},
                    Zone{"America/Denver", 2026}, Zone{"America/Los_Angeles", 2030},
                    Zone{"America/St_Johns", 2026},  // an offset with half an hour
                    Zone{"America/Havana", 2026},    // changes at midnight
                    Zone{"America/Santiago", 2026},  // southern hemisphere, changes at midnight
                    Zone{"America/Asuncion", 2023}, Zone{"America/Asuncion", 2026},
                    Zone{"America/Nuuk", 2026},       // changes on the evening before
                    Zone{"America/Sao_Paulo", 2018},  // the last year with summer time
                    Zone{"America/Sao_Paulo", 2026},  // without summer time
                    Zone{"America/Mexico_City", 2022}, Zone{"America/Phoenix", 2026},
                    Zone{"Europe/London", 2026},
                    Zone{"Europe/Dublin", 2026},  // winter time is the exception in its rules
                    Zone{"Europe/Vienna", 2026}, Zone{"Europe/Kyiv", 2026},
                    Zone{"Europe/Chisinau", 2026},
                    Zone{"Europe/Moscow", 2014},  // changed its offset permanently
                    Zone{"Europe/Istanbul", 2016}, Zone{"Africa/Cairo", 2026},
                    Zone{"Africa/Casablanca", 2026},  // changes for Ramadan
                    Zone{"Asia/Beirut", 2026}, Zone{"Asia/Jerusalem", 2026},
                    Zone{"Asia/Tehran", 2022}, Zone{"Asia/Kolkata", 2026},
                    Zone{"Asia/Kathmandu", 2026}, Zone{"Asia/Tokyo", 2026},
                    Zone{"Asia/Pyongyang", 2018},       // changed its offset once, by half an hour
                    Zone{"Antarctica/Troll", 2026},     // changes by two hours
                    Zone{"Australia/Lord_Howe", 2026},  // changes by half an hour
                    Zone{"Australia/Sydney", 2026}, Zone{"Australia/Adelaide", 2026},
                    Zone{"Australia/Eucla", 2026},  // an offset with 45 minutes
                    Zone{"Pacific/Auckland", 2026},
                    Zone{"Pacific/Chatham", 2026},  // an offset with 45 minutes, and summer time
                    Zone{"Pacific/Apia", 2026}, Zone{"Pacific/Norfolk", 2026},
                    Zone{"Pacific/Easter", 2026}, Zone{"UTC", 2026}, Zone{"Etc/GMT+12", 2026}));

}  // namespace
}  // namespace millrace
