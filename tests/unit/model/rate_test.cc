// Rate: how many tokens a bucket gives at which times.
#include "model/rate.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr TimePoint kStart = TimePoint(Duration(1'600'000'000'000));

/// How many single tokens the bucket gives at that time.
int drain(const Rate& rate, RateUse& use, TimePoint now) {
  int taken = 0;
  while (taken < 100'000 && rate.take(use, now)) ++taken;
  return taken;
}

TEST(Rate, GivesABurstAndThenTheRate) {
  for (const uint64_t per_second : {1U, 3U, 10U, 999U, 1'000U, 7'001U}) {
    const Rate rate{.per_second = per_second, .seconds = 2};
    RateUse use;
    EXPECT_EQ(drain(rate, use, kStart), 2 * static_cast<int>(per_second)) << per_second;
    EXPECT_EQ(drain(rate, use, kStart), 0) << per_second;
    int taken = 0;
    for (int i = 1; i <= 10'000; ++i) taken += drain(rate, use, kStart + Duration(i));
    EXPECT_EQ(taken, 10 * static_cast<int>(per_second)) << per_second;
  }
}

TEST(Rate, IsFullAfterAPause) {
  const Rate rate{.per_second = 1'000'000, .seconds = 1};
  RateUse use;
  ASSERT_TRUE(rate.take(use, kStart, 1'000'000));
  EXPECT_FALSE(rate.take(use, kStart));
  EXPECT_TRUE(rate.take(use, kStart + std::chrono::years(5'000), 1'000'000));
}

TEST(Rate, IsNotChangedByARefusal) {
  const Rate rate{.per_second = 10};
  RateUse use;
  ASSERT_TRUE(rate.take(use, kStart, 6));
  const RateUse before = use;
  EXPECT_FALSE(rate.take(use, kStart, 5));
  EXPECT_FALSE(rate.take(use, kStart, 11));
  EXPECT_FALSE(rate.take(use, kStart, UINT64_MAX));
  EXPECT_EQ(use, before);
  EXPECT_TRUE(rate.take(use, kStart, 4));
}

TEST(Rate, TakesAnEarlierTimeForTheSameTime) {
  const Rate rate{.per_second = 10};
  RateUse use;
  ASSERT_TRUE(rate.take(use, kStart, 10));
  EXPECT_FALSE(rate.take(use, kStart - std::chrono::hours(1)));
  EXPECT_EQ(use.at, kStart);
}

TEST(Rate, FollowsALowerRateAtOnce) {
  RateUse use;
  ASSERT_TRUE((Rate{.per_second = 100}.take(use, kStart, 100)));
  EXPECT_FALSE((Rate{.per_second = 10}.take(use, kStart + Duration(500))));
}

}  // namespace
}  // namespace millrace
