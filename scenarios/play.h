// Plays a scenario: on a stage of its own, from 0 s to the end of all that it leads to, as fast as
// it goes. Time jumps to whatever is due next. One thread.
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

/// What came of a scenario.
struct PlayOutcome {
  std::vector<Mismatch> mismatches;  ///< none: all came true
  /// For people, where something did not: line by line what happened to the instances concerned.
  std::vector<std::string> story;
  Duration real_time{0};

  bool passed() const { return mismatches.empty(); }
};

/// What bounds a scenario, so that none goes on for ever.
struct PlayLimits {
  int jumps = 100'000;  ///< of the time; a far deadline is reached in a few
  Duration real_time{60'000};
  std::function<bool()>
      interrupted;  ///< whether nobody wants to know any more; empty: somebody does
};

/// `evaluate` answers within its call.
PlayOutcome play(const Scenario& scenario, const std::vector<ApplyWorkflow>& workflows,
                 const Evaluator& evaluate, const PlayLimits& limits = {});

}  // namespace millrace
