// The number of attempts, the waits and the error codes of a policy, and examples from the
// documents of Steep and Stevora.
#include "policies/retry_policy.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const TimePoint kNow = from_millis(1'704'067'200'000);  // 2024-01-01T00:00:00Z

RetryPolicy policy(std::string_view delay, double factor, uint32_t attempts = 5) {
  return {.attempts = attempts, .delay = *Span::parse(delay), .factor = factor};
}

std::vector<int64_t> waits(const RetryPolicy& policy) {
  std::vector<int64_t> all;
  for (uint32_t attempt = 1; policy.allows_after(attempt); ++attempt) {
    all.push_back((policy.next_at(attempt, kNow) - kNow).count());
  }
  return all;
}

RetryPolicy covering(std::initializer_list<std::string_view> codes) {
  RetryPolicy policy;
  for (const std::string_view code : codes) policy.only.push_back(*CodePattern::compile(code));
  return policy;
}

TEST(RetryPolicy, WaitsTheSameTimeAfterEachAttemptWithoutAMultiplier) {
  EXPECT_EQ(waits(policy("PT5S", 1, 4)), (std::vector<int64_t>{5000, 5000, 5000}));
}

TEST(RetryPolicy, MultipliesTheDelayAfterEachAttempt) {
  EXPECT_EQ(waits(policy("PT2S", 2)), (std::vector<int64_t>{2000, 4000, 8000, 16000}));
}

TEST(RetryPolicy, RoundsTheWaitDownToTheMillisecond) {
  EXPECT_EQ(waits(policy("PT0.001S", 1.5)), (std::vector<int64_t>{1, 1, 2, 3}));
}

TEST(RetryPolicy, ShortensTheWaitIfTheMultiplierIsBelowOne) {
  EXPECT_EQ(waits(policy("PT8S", 0.5)), (std::vector<int64_t>{8000, 4000, 2000, 1000}));
}

TEST(RetryPolicy, DoesNotWaitIfTheDelayIsZero) {
  EXPECT_EQ(policy("PT0S", 1e300, 1'000'000).next_at(999'999, kNow), kNow);
}

TEST(RetryPolicy, WaitsAHundredYearsIfTheWaitOverflows) {
  const RetryPolicy steep = policy("P1D", 10, 1'000);
  EXPECT_EQ(steep.next_at(900, kNow) - kNow, std::chrono::hours(24) * 36'525);
}

TEST(RetryPolicy, CountsAMonthByTheCalendarFromTheFailure) {
  EXPECT_EQ(format_rfc3339(policy("P1M", 1).next_at(1, kNow)), "2024-02-01T00:00:00.000Z");
}

TEST(RetryPolicy, AllowsNoRetryIfTheLimitIsOneAttempt) {
  EXPECT_TRUE(waits(policy("PT1S", 1, 1)).empty());
}

TEST(RetryPolicy, AllowsAnyNumberOfAttemptsWithoutALimit) {
  RetryPolicy endless = policy("PT1S", 1);
  endless.attempts.reset();
  EXPECT_TRUE(endless.allows_after(1));
  EXPECT_TRUE(endless.allows_after(UINT32_MAX));
}

TEST(RetryPolicy, AllowsNoAttemptIfTheLimitIsZero) {
  EXPECT_FALSE(policy("PT1S", 1, 0).allows_after(0));
  EXPECT_FALSE(policy("PT1S", 1, 0).allows_after(1));
}

TEST(RetryPolicy, WaitsNoLongerThanTheMaximumDelay) {
  RetryPolicy bounded = policy("PT8S", 2);
  bounded.max_delay = *Span::parse("PT5S");
  EXPECT_EQ(waits(bounded), (std::vector<int64_t>{5000, 5000, 5000, 5000}));
  bounded.max_delay = *Span::parse("P1M");
  EXPECT_EQ(waits(bounded), (std::vector<int64_t>{8000, 16000, 32000, 64000}));
}

TEST(RetryPolicy, WaitsTheMaximumDelayIfTheWaitOverflows) {
  RetryPolicy bounded = policy("P1D", 10, 1'000);
  bounded.max_delay = *Span::parse("PT1H");
  EXPECT_EQ(bounded.next_at(900, kNow) - kNow, std::chrono::hours(1));
}

// Steep, "Retry policies": delay 1s, exponentialBackoff 2, maxDelay 10s.
TEST(RetryPolicy, WaitsAsInTheExampleInTheDocumentsOfSteep) {
  RetryPolicy steep = policy("1s", 2, 7);
  steep.max_delay = *Span::parse("10s");
  EXPECT_EQ(waits(steep), (std::vector<int64_t>{1000, 2000, 4000, 8000, 10000, 10000}));
}

// Stevora, "Exponential Backoff with Jitter": the table of ranges, backoffMs 1000 and
// backoffMultiplier 2.
TEST(RetryPolicy, WaitsWithinTheRangesInTheDocumentsOfStevora) {
  RetryPolicy stevora = policy("1000", 2, 20);
  stevora.max_delay = *Span::parse("300000");
  stevora.jitter = 0.25;
  const std::pair<int64_t, int64_t> ranges[] = {
      {750, 1000}, {1500, 2000}, {3000, 4000}, {6000, 8000}};
  uint32_t attempt = 0;
  for (const auto& [least, most] : ranges) {
    ++attempt;
    EXPECT_EQ((stevora.next_at(attempt, kNow, 0) - kNow).count(), most);
    EXPECT_EQ((stevora.next_at(attempt, kNow, 0.5) - kNow).count(), (least + most) / 2);
    EXPECT_EQ((stevora.next_at(attempt, kNow, 1) - kNow).count(), least);
  }
  EXPECT_EQ((stevora.next_at(19, kNow, 0) - kNow).count(), 300'000);
  EXPECT_EQ((stevora.next_at(19, kNow, 1) - kNow).count(), 225'000);
}

TEST(RetryPolicy, MatchesAPatternAnywhereInAnErrorCode) {
  EXPECT_TRUE(covering({"timeout"}).covers("db.timeout.read"));
  EXPECT_FALSE(covering({"^timeout"}).covers("db.timeout.read"));
}

TEST(RetryPolicy, CoversEveryErrorCodeIfOneOfItsPatternsIsAStar) {
  EXPECT_TRUE(covering({"*"}).covers("direktiv.schema.failed"));
  EXPECT_TRUE(covering({"^a$", "*"}).covers("b"));
}

TEST(RetryPolicy, CoversAnErrorCodeThatMatchesOneOfThePatterns) {
  const RetryPolicy two = covering({"^http\\.5", "^net\\."});
  EXPECT_TRUE(two.covers("http.503"));
  EXPECT_TRUE(two.covers("net.reset"));
  EXPECT_FALSE(two.covers("http.404"));
}

TEST(RetryPolicy, RefusesAMalformedPattern) {
  EXPECT_EQ(CodePattern::compile("(").error().code, "pattern.malformed");
}

}  // namespace
}  // namespace millrace
