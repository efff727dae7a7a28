// The rate limit: how long to wait after how many bytes.
#include "orchestrator/backup/rate_limit.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(RateLimitTest, SpreadsBytesOverTime) {
  RateLimit limit(1'000);
  EXPECT_EQ(limit.count(500, Duration(0)), Duration(500));
  EXPECT_EQ(limit.count(500, Duration(500)), Duration(500));
  EXPECT_EQ(limit.count(500, Duration(900)), Duration(600)) << "the time before was not used up";
}

TEST(RateLimitTest, MakesUpForNoTimeInWhichNothingWasProcessed) {
  RateLimit limit(1'000);
  limit.count(1, Duration(0));
  EXPECT_EQ(limit.count(100, Duration(60'000)), Duration(100));
}

TEST(RateLimitTest, IsOffAtZero) {
  RateLimit limit(0);
  EXPECT_EQ(limit.count(uint64_t{1} << 40, Duration(0)), Duration(0));
}

}  // namespace
}  // namespace millrace
