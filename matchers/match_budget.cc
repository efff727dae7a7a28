#include "matchers/match_budget.h"

#include <algorithm>

namespace millrace {

Decision decide(const Pattern& pattern, std::string_view value, MatchBudget& budget,
                uint64_t& over_limit) {
  if (pattern.kind() != Pattern::Kind::kBacktracking) {
    const bool reads = pattern.kind() == Pattern::Kind::kLinear;
    if (reads && !budget.take_bytes(value.size() + kBytesOfARun)) return Decision::kUndecided;
    return pattern.matches(value) ? Decision::kYes : Decision::kNo;
  }
  uint32_t steps = std::min(MatchBudget::kFirstRun, budget.short_run);
  while (true) {
    if (!budget.take_steps(steps)) return Decision::kUndecided;
    const Pattern::Answer answer = pattern.match(value, steps);
    if (answer != Pattern::Answer::kOverLimit) {
      return answer == Pattern::Answer::kYes ? Decision::kYes : Decision::kNo;
    }
    if (steps == Pattern::kMatchLimit) break;
    if (steps < budget.short_run) {
      steps = budget.short_run;
    } else if (budget.has_long_runs) {
      steps = Pattern::kMatchLimit;
    } else {
      return Decision::kUndecided;
    }
  }
  ++over_limit;
  return Decision::kNo;
}

}  // namespace millrace
