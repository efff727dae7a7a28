// The calls of an instance as the part `functions` of a scenario: what each function did in each of
// its attempts, as far as the history of the instance shows it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "orchestrator/made_scenario/made_scenario.h"
#include "orchestrator/made_scenario/observed_data.h"
#include "orchestrator/made_scenario/play_times.h"

namespace millrace {

struct MadeCalls {
  /// For each attempt of a function, in order, a mapping of the format: by the id of the function.
  std::map<std::string, std::vector<Json>> functions;
  /// Definitions that stand for the workflows of subflows: each calls a function of `functions`.
  std::vector<Json> subflows;
  /// `attempts` of the expectations; empty: no call was tried again.
  std::vector<std::string> attempts;
  /// An operator cancelled tasks at once. In the scenario they end a millisecond later.
  bool stops_tasks = false;
  /// A task has ended with a result after a cancel, and a compensation was made with it; here it is
  /// null.
  bool loses_result = false;
};

/// Errors: `scenario.not_recorded`, `scenario.not_expressible`.
Result<MadeCalls> made_calls(const PlayedInstance& played, const ReadDefinition& definition,
                             const PlayTimes& times, const ObservedData& data);

}  // namespace millrace
