// Schedules: starts that come by the clock. A workflow with a cron has a
// row that says from when its next tick is counted, and a timer for that tick in Waiting. What was
// missed, for whatever reason, is made up for by one start. Engine thread only.
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
  Schedules(Draft& draft, Instances& instances) : draft_(draft), instances_(instances) {}

  /// A new revision has that cron, or none, in place of the one before; one that is the same goes
  /// on as it was.
  void set(TimePoint now, WorkflowNumber workflow, const std::optional<Cron>& before,
           const std::optional<Cron>& cron);

  /// The workflow is gone.
  void remove(WorkflowNumber workflow);

  /// That tick has come: starts an instance, and arms the next.
  Status tick(TimePoint now, WorkflowNumber workflow, TimePoint tick);

 private:
  Draft& draft_;
  Instances& instances_;
};

}  // namespace millrace
