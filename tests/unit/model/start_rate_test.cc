#include "model/start_rate.h"

#include <algorithm>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;

TimePoint at(int64_t millis) { return from_millis(1'700'000'000'000 + millis); }

StartLimit limit_of(uint32_t limit, std::string_view period) {
  return {.limit = limit, .period = Span::parse(period).value(), .key = std::nullopt};
}

/// Starts whenever the limit permits it; returns the times of the starts, in ms.
std::vector<int64_t> starts_of(const StartLimit& limit, const std::vector<int64_t>& asked) {
  StartUse use;
  std::vector<int64_t> started;
  for (const int64_t one : asked) {
    if (refused_until(limit, use, at(one))) continue;
    count_start(limit, use, at(one));
    started.push_back(one);
  }
  return started;
}

TEST(StartRate, PermitsAsManyAtOnceAndTheNextAfterThePeriod) {
  EXPECT_THAT(starts_of(limit_of(2, "PT1S"), {0, 0, 0, 999, 1'000, 1'000, 1'000}),
              ElementsAre(0, 0, 1'000, 1'000));
  EXPECT_THAT(starts_of(limit_of(2, "PT1S"), {0, 900, 1'000, 1'100, 1'899, 1'900, 1'999, 2'000}),
              ElementsAre(0, 900, 1'000, 1'900, 2'000));
  EXPECT_THAT(starts_of(limit_of(1, "PT1S"), {0, 500, 999, 1'000, 1'999}), ElementsAre(0, 1'000));
}

TEST(StartRate, SaysWhenTheNextStartIsPermitted) {
  const StartLimit two = limit_of(2, "PT1H");
  StartUse use;
  EXPECT_EQ(refused_until(two, use, at(0)), std::nullopt);
  count_start(two, use, at(0));
  count_start(two, use, at(60'000));
  EXPECT_EQ(refused_until(two, use, at(60'000)), at(3'600'000));
  EXPECT_EQ(refused_until(two, use, at(3'599'999)), at(3'600'000));
  EXPECT_EQ(refused_until(two, use, at(3'600'000)), std::nullopt);
  EXPECT_EQ(end_of(two, use), at(3'660'000));
  EXPECT_EQ(refused_until(limit_of(1, "PT1H"), use, at(60'000)), at(3'660'000))
      << "of a lower limit, both starts count";
  EXPECT_EQ(refused_until(limit_of(3, "PT1H"), use, at(60'000)), std::nullopt);
}

TEST(StartRate, CountsCalendarMonths) {
  const StartLimit monthly = limit_of(1, "P1M");
  StartUse use;
  const TimePoint end_of_january = parse_rfc3339("2023-01-31T12:00:00Z").value();
  count_start(monthly, use, end_of_january);
  EXPECT_EQ(refused_until(monthly, use, end_of_january),
            parse_rfc3339("2023-02-28T12:00:00Z").value());
}

/// The most starts in any time of the length of the period.
size_t most_in_a_period(const std::vector<int64_t>& started, int64_t period) {
  size_t most = 0;
  size_t first = 0;
  for (size_t i = 0; i < started.size(); ++i) {
    while (started[i] - started[first] >= period) ++first;
    most = std::max(most, i - first + 1);
  }
  return most;
}

TEST(StartRate, NeverPermitsMoreThanTheLimitInAPeriod) {
  constexpr int64_t kPeriod = 10'000;
  std::mt19937_64 random(11);
  for (const uint32_t most : {1U, 2U, 7U, 64U, 65U, 100U, 1'000U}) {
    const StartLimit limit = limit_of(most, "PT10S");
    StartUse use;
    std::vector<int64_t> started;
    int64_t now = 0;
    for (int i = 0; i < 20'000; ++i) {
      // Bursts, and pauses of up to two periods.
      const bool is_pause = random() % 500 == 0;
      now += static_cast<int64_t>(random() % (is_pause ? 2 * kPeriod : kPeriod / most + 1));
      const auto until = refused_until(limit, use, at(now));
      if (until) {
        EXPECT_GT(*until, at(now));
        EXPECT_EQ(refused_until(limit, use, *until), std::nullopt);
        EXPECT_NE(refused_until(limit, use, *until - Duration(1)), std::nullopt);
        continue;
      }
      count_start(limit, use, at(now));
      started.push_back(now);
      ASSERT_LE(use.entries.size(), kMostRateEntries);
    }
    EXPECT_EQ(most_in_a_period(started, kPeriod), most) << "the limit is reached, not exceeded";
  }
}

TEST(StartRate, IsExactUpToTheNumberOfParts) {
  constexpr int64_t kPeriod = 10'000;
  std::mt19937_64 random(12);
  for (const uint32_t most : {1U, 3U, 64U}) {
    const StartLimit limit = limit_of(most, "PT10S");
    StartUse use;
    std::vector<int64_t> started;
    int64_t now = 0;
    for (int i = 0; i < 5'000; ++i) {
      now += static_cast<int64_t>(random() % 200);
      const auto counted = std::count_if(started.begin(), started.end(),
                                         [&](int64_t one) { return one + kPeriod > now; });
      const bool is_permitted = static_cast<uint32_t>(counted) < most;
      ASSERT_EQ(!refused_until(limit, use, at(now)), is_permitted) << most << " at " << now;
      if (!is_permitted) continue;
      count_start(limit, use, at(now));
      started.push_back(now);
    }
  }
}

TEST(StartRate, KeepsFewEntriesWhateverTheLimitBecomes) {
  StartUse use;
  for (int i = 0; i < 300; ++i) {
    count_start(limit_of(i % 2 == 0 ? 1'000 : 10, i % 3 == 0 ? "P1D" : "PT1S"), use, at(i * 10));
    ASSERT_LE(use.entries.size(), kMostRateEntries);
    ASSERT_TRUE(std::is_sorted(use.entries.begin(), use.entries.end(),
                               [](const auto& a, const auto& b) { return a.last < b.last; }));
  }
}

}  // namespace
}  // namespace millrace
