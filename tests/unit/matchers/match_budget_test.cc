// decide: one pattern and one value within a budget.
#include "matchers/match_budget.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// A value for which the pattern `^(?=(a+)+$)` needs about 2^`size` steps.
std::string slow_value(size_t size) { return std::string(size, 'a') + "!"; }

TEST(MatchBudget, DecidesAPatternAsFarAsTheBudgetAllows) {
  constexpr const char* kSlow = "^(?=(a+)+$)";
  struct Row {
    const char* what;
    const char* pattern;
    std::string value;
    MatchBudget budget;
    Decision decision;
    uint32_t steps_left;
    size_t bytes_left;
    uint64_t over_limit;
  };
  const Row rows[] = {
      {"plain text is free", "^abc$", "abc", {.steps = 0, .bytes = 0}, Decision::kYes, 0, 0, 0},
      {"a linear pattern takes bytes",
       "^a+$",
       "aaa",
       {.steps = 0, .bytes = 100},
       Decision::kYes,
       0,
       100 - 3 - kBytesOfARun,
       0},
      {"too few bytes are left",
       "^a+$",
       "aaa",
       {.steps = 0, .bytes = 10},
       Decision::kUndecided,
       0,
       10,
       0},
      {"the last linear pattern may take more",
       "^a+$",
       "aab",
       {.has_long_runs = true, .steps = 0, .bytes = 10},
       Decision::kNo,
       0,
       0,
       0},
      {"the first run takes its limit",
       kSlow,
       "aaa",
       {.steps = 400, .bytes = 0},
       Decision::kYes,
       400 - MatchBudget::kFirstRun,
       0,
       0},
      {"the last run may take more", kSlow, "b", {.steps = 1, .bytes = 0}, Decision::kNo, 0, 0, 0},
      {"no step is left", kSlow, "b", {.steps = 0, .bytes = 0}, Decision::kUndecided, 0, 0, 0},
      {"a short run does not decide",
       kSlow,
       slow_value(9),
       {.short_run = 100, .steps = 400, .bytes = 0},
       Decision::kUndecided,
       300 - MatchBudget::kFirstRun,
       0,
       0},
      {"a long run decides",
       kSlow,
       slow_value(9),
       {.short_run = 100, .has_long_runs = true, .steps = 20'000, .bytes = 0},
       Decision::kNo,
       9'900 - MatchBudget::kFirstRun,
       0,
       0},
      {"a first run that is a short run is not repeated",
       kSlow,
       slow_value(9),
       {.short_run = 20, .steps = 400, .bytes = 0},
       Decision::kUndecided,
       380,
       0,
       0},
      {"no step is left for a long run",
       kSlow,
       slow_value(9),
       {.short_run = 100, .has_long_runs = true, .steps = 100, .bytes = 0},
       Decision::kUndecided,
       0,
       0,
       0},
      {"a long run over the limit",
       kSlow,
       slow_value(100),
       {.short_run = 100, .has_long_runs = true, .steps = 20'000, .bytes = 0},
       Decision::kNo,
       9'900 - MatchBudget::kFirstRun,
       0,
       1},
  };
  for (const Row& row : rows) {
    const auto pattern = Pattern::compile(row.pattern);
    ASSERT_TRUE(pattern) << pattern.error().message;
    MatchBudget budget = row.budget;
    uint64_t over_limit = 0;
    EXPECT_EQ(decide(**pattern, row.value, budget, over_limit), row.decision) << row.what;
    EXPECT_EQ(budget.steps, row.steps_left) << row.what;
    EXPECT_EQ(budget.bytes, row.bytes_left) << row.what;
    EXPECT_EQ(over_limit, row.over_limit) << row.what;
  }
}

TEST(MatchBudget, IsNotUsedUpIfItIsUnlimited) {
  MatchBudget budget = MatchBudget::unlimited();
  const MatchBudget before = budget;
  EXPECT_TRUE(budget.take_steps(1'000));
  EXPECT_TRUE(budget.take_bytes(1'000));
  EXPECT_EQ(budget.steps, before.steps);
  EXPECT_EQ(budget.bytes, before.bytes);
}

}  // namespace
}  // namespace millrace
