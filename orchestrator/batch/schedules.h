// Schedules: starts by cron. A workflow with a cron has a row with the time from which its next
// tick is computed, and a timer for that tick in WaitIndex. One start replaces all ticks that a
// schedule has missed, for whatever reason. Engine thread only.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"
#include "policies/cron.h"

namespace millrace {

class Schedules {
 public:
  Schedules(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// Replaces the cron `before` of a workflow by the one of its new revision; nullopt: the revision
  /// has no cron. An unchanged cron keeps its row and timer.
  void set(TimePoint now, WorkflowNumber workflow, const std::optional<Cron>& before,
           const std::optional<Cron>& cron);

  /// Removes the schedule of a deleted workflow.
  void remove(WorkflowNumber workflow);

  /// Applies a due tick: starts an instance and arms the timer of the next tick.
  Status tick(TimePoint now, WorkflowNumber workflow, TimePoint tick);

 private:
  BatchState& batch_;
  Instances& instances_;
};

}  // namespace millrace
