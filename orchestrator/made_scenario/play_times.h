// The times of a scenario: when each record of a history happens if `millrace test` plays it. In a
// scenario only waits take time. Evaluations, commits and timers that fired late took time when the
// history was made, and take none in the scenario. Pure.
#pragma once

#include <vector>

#include "base/time.h"
#include "model/history.h"
#include "orchestrator/made_scenario/read_definition.h"
#include "states/workflow.h"

namespace millrace {

struct PlayTimes {
  std::vector<Duration> at;  ///< of each record, since the start of the instance; ascending
  /// false: the length of a wait is not known to the millisecond, so that a time may be too late.
  bool exact = true;
};

/// When the clock of a scenario starts.
inline constexpr TimePoint kScenarioStart{Duration(1'630'497'600'000)};  // 2021-09-01T12:00:00Z

/// The times of the records of a complete history.
PlayTimes play_times(const Workflow& workflow, const ReadDefinition& definition,
                     const std::vector<HistoryRecord>& history);

/// Whether the record says that an operator, the caller of the instance, or another start that took
/// its place (`onLimit: replace`) cancelled it.
bool is_cancel(const HistoryRecord& record);

}  // namespace millrace
