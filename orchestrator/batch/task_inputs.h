// TaskInputs: what is reported of tasks: that a worker has begun, is alive, has printed something,
// has ended; or that nothing was heard for too long. Reports of a task that has ended, or that is
// not known, are late and of no use. Engine thread only.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/timer_inputs.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

class TaskInputs {
 public:
  TaskInputs(Draft& draft, Instances& instances, TimerInputs& timers)
      : draft_(draft), instances_(instances), timers_(timers) {}

  /// Each steps the instance that waits for the task, if one does. Errors: those of the store.
  Status take(TimePoint now, const TaskInput& input);
  Status take(TimePoint now, const SilenceInput& input);

 private:
  Status hear(TimePoint now, const InstanceId& task, const TaskInHand& known,
              const TaskEnded& told);
  bool is_space(NamespaceNumber space, std::string_view name) const;
  Status tell_caller(TimePoint now, const TaskInHand& task, const Stimulus& stimulus);
  Status fire_calls(TimePoint now, const TaskInHand& task);

  Draft& draft_;
  Instances& instances_;
  TimerInputs& timers_;
};

}  // namespace millrace
