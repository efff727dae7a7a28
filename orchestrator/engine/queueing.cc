#include "orchestrator/engine/queueing.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/timeouts.h"

namespace millrace {

void hold_in_queue(Instance& instance, const Workflow& workflow, Slot slot, TimePoint now) {
  instance.slot = std::move(slot);
  instance.timers.clear();
  arm_queue(instance, workflow, now);
}

void arm_queue(Instance& instance, const Workflow& workflow, TimePoint now) {
  if (workflow.concurrency) arm(instance, TimerKind::kQueue, workflow.concurrency->timeout, now);
}

void give_up_slot(StepContext& step, TimePoint deadline) {
  const Error error{"millrace.concurrency.timeout",
                    fmt::format("the start waited for a slot of its workflow until {}, which is as "
                                "long as `concurrency.timeout` permits",
                                format_rfc3339(deadline))};
  step.record_error(HistoryKind::kRaised, error);
  note_failure(step);
  if (!step.instance.error) step.instance.error = error;
  finish(step, InstanceStatus::kFailed);
}

void apply(StepContext& step, const Admitted& admitted) {
  Instance& instance = step.instance;
  if (!is_queued(instance)) return;
  step.record(HistoryKind::kAdmitted);
  instance.slot->is_queued = false;
  instance.slot->number = admitted.number;
  instance.timers.clear();
  instance.held_timers.clear();
  begin_first_run(instance, step.workflow, step.now);
  step.result.changed = true;
}

}  // namespace millrace
