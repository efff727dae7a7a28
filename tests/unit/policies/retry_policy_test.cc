// The direktiv column of POLICIES.md "The retry model": totals, waits and codes.
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
  for (const std::string_view code : codes) policy.codes.push_back(*CodePattern::compile(code));
  return policy;
}

TEST(RetryPolicy, WaitsTheSameWithoutAMultiplier) {
  EXPECT_EQ(waits(policy("PT5S", 1, 4)), (std::vector<int64_t>{5000, 5000, 5000}));
}

TEST(RetryPolicy, MultipliesTheDelayAfterEachAttempt) {
  EXPECT_EQ(waits(policy("PT2S", 2)), (std::vector<int64_t>{2000, 4000, 8000, 16000}));
}

TEST(RetryPolicy, CutsTheWaitToTheMillisecond) {
  EXPECT_EQ(waits(policy("PT0.001S", 1.5)), (std::vector<int64_t>{1, 1, 2, 3}));
}

TEST(RetryPolicy, AMultiplierBelowOneShortensTheWait) {
  EXPECT_EQ(waits(policy("PT8S", 0.5)), (std::vector<int64_t>{8000, 4000, 2000, 1000}));
}

TEST(RetryPolicy, NoDelayIsNoWaitWhateverTheMultiplier) {
  EXPECT_EQ(policy("PT0S", 1e300, 1'000'000).next_at(999'999, kNow), kNow);
}

TEST(RetryPolicy, AWaitThatOverflowsIsAHundredYears) {
  const RetryPolicy steep = policy("P1D", 10, 1'000);
  EXPECT_EQ(steep.next_at(900, kNow) - kNow, std::chrono::hours(24) * 36'525);
}

TEST(RetryPolicy, AMonthIsACalendarStepFromTheFailure) {
  EXPECT_EQ(format_rfc3339(policy("P1M", 1).next_at(1, kNow)), "2024-02-01T00:00:00.000Z");
}

TEST(RetryPolicy, OneAttemptAllowsNoOther) { EXPECT_TRUE(waits(policy("PT1S", 1, 1)).empty()); }

TEST(RetryPolicy, CodesAreSearchedNotAnchored) {
  EXPECT_TRUE(covering({"timeout"}).covers("db.timeout.read"));
  EXPECT_FALSE(covering({"^timeout"}).covers("db.timeout.read"));
}

TEST(RetryPolicy, ALoneStarIsAnyCode) {
  EXPECT_TRUE(covering({"*"}).covers("direktiv.schema.failed"));
  EXPECT_TRUE(covering({"^a$", "*"}).covers("b"));
}

TEST(RetryPolicy, AnyOfTheCodesWillDo) {
  const RetryPolicy two = covering({"^http\\.5", "^net\\."});
  EXPECT_TRUE(two.covers("http.503"));
  EXPECT_TRUE(two.covers("net.reset"));
  EXPECT_FALSE(two.covers("http.404"));
}

TEST(RetryPolicy, ACodeThatIsNoPatternIsAnError) {
  EXPECT_EQ(CodePattern::compile("(").error().code, "pattern.malformed");
}

}  // namespace
}  // namespace millrace
