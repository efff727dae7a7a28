// TaskInputs: applies reports of tasks (started, heartbeat, output, ended) and missed heartbeats. A
// report of a task that has ended, or is not known, is late and has no effect. Engine thread only.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/answered_by.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/timer_inputs.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

class TaskInputs {
 public:
  TaskInputs(BatchState& batch, Instances& instances, TimerInputs& timers)
      : batch_(batch), instances_(instances), timers_(timers) {}

  /// Both overloads step the instance that waits for the task, if there is one. Errors: those of
  /// the store.
  Status apply_input(TimePoint now, const TaskInput& input);
  Status apply_input(TimePoint now, const MissedHeartbeatInput& input);

  /// Applies what a service says by a callback about a task of the namespace, also before its
  /// answer that it has accepted the task: an end stops the runner then. Returns false, and changes
  /// nothing of the task, if the task has ended or is not one of that namespace; a passed deadline
  /// ends the task first. Errors: those of the store.
  Result<bool> answer(TimePoint now, NamespaceNumber ns, const AnswerTask& answer);

 private:
  Result<bool> apply_end(TimePoint now, const InstanceId& task, const OpenTask& known,
                         const TaskEnded& ended, AnsweredBy by);
  Status apply_acceptance(TimePoint now, const InstanceId& task, const OpenTask& known);
  Result<std::optional<Error>> set_variables(const OpenTask& known, const TaskEnded& ended,
                                             const std::optional<StagedGroup>& staged);
  bool is_space(NamespaceNumber ns, std::string_view name) const;
  Status step_caller(TimePoint now, const OpenTask& task, const Stimulus& stimulus);
  Status fire_calls(TimePoint now, const OpenTask& task);

  BatchState& batch_;
  Instances& instances_;
  TimerInputs& timers_;
};

}  // namespace millrace
