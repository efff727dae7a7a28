// Plays a scenario on a stage of its own, from 0 s until nothing is due any more, as fast as
// possible: the virtual clock jumps from each deadline to the next. For use by one thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "expressions/evaluation.h"
#include "orchestrator/ports/evaluator.h"
#include "scenarios/comparison.h"
#include "scenarios/scenario_file.h"

namespace millrace {

/// The result of a scenario.
struct PlayOutcome {
  std::vector<Mismatch> mismatches;  ///< empty: the scenario passed
  /// If the scenario failed: the functions whose tasks nothing answers, as lines of text.
  std::vector<std::string> unanswered;
  /// If the scenario failed: the histories of the instances with a mismatch, as lines of text.
  std::vector<std::string> story;
  Duration real_time{0};

  bool passed() const { return mismatches.empty(); }
};

/// Limits that end every scenario.
struct PlayLimits {
  int jumps = 100'000;         ///< jumps of the virtual time; even a far deadline needs only a few
  Duration real_time{60'000};  ///< 60 s
  std::function<bool()> interrupted;  ///< returns true to abandon the scenario; may be empty
};

/// Plays the scenario with these workflows. `evaluate` must deliver its results before it returns.
PlayOutcome play(const Scenario& scenario, const std::vector<ApplyWorkflow>& workflows,
                 const Evaluator& evaluate, const PlayLimits& limits = {});

}  // namespace millrace
