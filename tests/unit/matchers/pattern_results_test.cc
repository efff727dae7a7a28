// PatternResults: filters and kept events within a budget; each pattern runs once for an event.
#include "matchers/pattern_results.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/matchers/filter_maker.h"

namespace millrace {
namespace {

constexpr const char* kSlow = "^(?=(a+)+$)";

class PatternResultsTest : public ::testing::Test {
 protected:
  Decision decide(const EventFilter& filter, MatchBudget& budget, uint64_t number = 1) {
    const auto decision = results_.decide(filter, number, event_, budget, over_limit_);
    EXPECT_TRUE(decision) << decision.error().message;
    return decision.value_or(Decision::kUndecided);
  }
  static MatchBudget portion(uint32_t steps) {
    return {.has_long_runs = true, .steps = steps, .bytes = 1'000};
  }
  /// An event whose subject is slow to match.
  static Event slow_event() {
    Event event = order_event();
    event.subject = fmt::format("{}!", std::string(100, 'a'));
    return event;
  }

  PatternResults results_;
  uint64_t over_limit_ = 0;
  Attributes event_{slow_event()};
};

TEST_F(PatternResultsTest, DecideAFilterAsTheMatchersDo) {
  MatchBudget budget = MatchBudget::unlimited();
  EXPECT_EQ(decide({"order.paid", {}}, budget), Decision::kYes);
  EXPECT_EQ(decide({"order", {}}, budget), Decision::kNo);
  EXPECT_EQ(
      decide({"order.paid", {equals("customer", "c7"), pattern("source", "^https?:")}}, budget),
      Decision::kYes);
  EXPECT_EQ(decide({"order.paid", {equals("customer", "c8")}}, budget), Decision::kNo);
  EXPECT_EQ(decide({"order.paid", {pattern("missing", "")}}, budget), Decision::kNo);
  EXPECT_EQ(decide({"order.paid", {pattern("subject", "^b")}}, budget), Decision::kNo);
}

TEST_F(PatternResultsTest, RememberWhatWasDecided) {
  const EventFilter slow{"order.paid", {pattern("subject", kSlow)}};
  MatchBudget budget = portion(1);
  EXPECT_EQ(decide(slow, budget), Decision::kUndecided) << "the pattern was only compiled";
  budget = portion(20'000);
  EXPECT_EQ(decide(slow, budget), Decision::kNo);
  EXPECT_LT(budget.steps, 10'000U);
  EXPECT_EQ(over_limit_, 1U);
  budget = portion(0);
  EXPECT_EQ(decide(slow, budget), Decision::kNo) << "it does not run again for this event";
  EXPECT_EQ(decide(slow, budget, 2), Decision::kUndecided) << "it must run for another event";
  results_.clear();
  EXPECT_EQ(decide(slow, budget), Decision::kUndecided);
}

TEST_F(PatternResultsTest, RunNoPatternIfAnotherPredicateExcludesTheEvent) {
  MatchBudget budget = portion(20'000);
  EXPECT_EQ(decide({"order.paid", {pattern("subject", kSlow), equals("customer", "c8")}}, budget),
            Decision::kNo);
  EXPECT_EQ(budget.steps, 20'000U);
}

TEST_F(PatternResultsTest, GiveResultsOfOneAttributeToNoOther) {
  MatchBudget budget = MatchBudget::unlimited();
  EXPECT_EQ(decide({"order.paid", {pattern("customer", "^(?=c)")}}, budget), Decision::kYes);
  EXPECT_EQ(decide({"order.paid", {pattern("subject", "^(?=c)")}}, budget), Decision::kNo);
}

TEST_F(PatternResultsTest, ReportTheAttributeOfAMalformedPattern) {
  MatchBudget budget = MatchBudget::unlimited();
  const auto decision =
      results_.decide({"order.paid", {pattern("subject", "(a")}}, 1, event_, budget, over_limit_);
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, "pattern.malformed");
  EXPECT_TRUE(decision.error().message.starts_with("attribute subject: "))
      << decision.error().message;
}

}  // namespace
}  // namespace millrace
