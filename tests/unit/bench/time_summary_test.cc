// The percentiles of few and of many times.
#include "bench/time_summary.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// The times 1 to `count`, in another order.
std::vector<double> times_up_to(size_t count) {
  std::vector<double> times(count);
  std::iota(times.begin(), times.end(), 1.0);
  std::reverse(times.begin(), times.end());
  return times;
}

TEST(TimeSummary, IsMissingWithoutTimes) { EXPECT_FALSE(summarize({})); }

TEST(TimeSummary, HasTheTimesAtTheNearestRanks) {
  const auto summary = summarize(times_up_to(1'000));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->p50, 500);
  EXPECT_EQ(summary->p99, 990);
  EXPECT_EQ(summary->longest, 1'000);
}

TEST(TimeSummary, HasTheLongestTimeAsP99OfFewTimes) {
  EXPECT_EQ(summarize({1, 9'000})->p99, 9'000);
  EXPECT_EQ(summarize({1, 9'000})->p50, 1);
  EXPECT_EQ(summarize({3})->p50, 3);
  EXPECT_EQ(summarize({3})->p99, 3);
  EXPECT_EQ(summarize(times_up_to(99))->p99, 99);
  EXPECT_EQ(summarize(times_up_to(100))->p99, 99);
}

TEST(TimeSummary, IsComparedWithAnAim) {
  EXPECT_EQ(beside_aim({.p50 = 1, .p99 = 42, .longest = 90}, 50), "50 ms: 0.84, kept");
  EXPECT_EQ(beside_aim({.p50 = 1, .p99 = 50, .longest = 90}, 50), "50 ms: 1.00, kept");
  EXPECT_EQ(beside_aim({.p50 = 1, .p99 = 51, .longest = 90}, 50), "50 ms: 1.02, missed");
}

TEST(TimeSummary, IsComparedWithAnAimThatWasMeasured) {
  EXPECT_EQ(aim_verdict({.p50 = 1, .p99 = 5.08, .longest = 90}, 5.094),
            "within the aim of 5.09 ms");
  EXPECT_EQ(aim_verdict({.p50 = 1, .p99 = 5.094, .longest = 90}, 5.094),
            "within the aim of 5.09 ms");
  EXPECT_EQ(aim_verdict({.p50 = 1, .p99 = 6.12, .longest = 90}, 5.094), "above the aim of 5.09 ms");
}

}  // namespace
}  // namespace millrace
