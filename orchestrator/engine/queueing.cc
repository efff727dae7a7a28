#include "orchestrator/engine/queueing.h"

#include <utility>

#include <fmt/format.h>

#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/timeouts.h"

namespace millrace {

namespace {

/// Ends an instance of which nothing has run.
void end_unstarted(StepContext& step, const Error& error) {
  step.record_error(HistoryKind::kRaised, error);
  note_failure(step);
  if (!step.instance.error) step.instance.error = error;
  finish(step, InstanceStatus::kFailed);
}

void begin_after_wait(StepContext& step) {
  Instance& instance = step.instance;
  instance.throttled.reset();
  instance.timers.clear();
  instance.held_timers.clear();
  begin_first_run(instance, step.workflow, step.now);
}

}  // namespace

void hold_in_queue(Instance& instance, const Workflow& workflow, Slot slot, TimePoint now) {
  instance.slot = std::move(slot);
  instance.timers.clear();
  arm_queue(instance, workflow, now);
}

void arm_queue(Instance& instance, const Workflow& workflow, TimePoint now) {
  if (workflow.concurrency) arm(instance, TimerKind::kQueue, workflow.concurrency->timeout, now);
}

void hold_for_throttle(Instance& instance, const Workflow& workflow, uint64_t number,
                       TimePoint now) {
  instance.throttled->number = number;
  instance.timers.clear();
  instance.held_timers.clear();
  arm_throttle(instance, workflow, now);  // of a paused instance the resume arms it again
}

Json wait_detail(int32_t priority, const std::string& key) {
  Json detail{{"priority", priority}};
  if (!key.empty()) detail["key"] = key;
  return detail;
}

void arm_throttle(Instance& instance, const Workflow& workflow, TimePoint now) {
  if (workflow.throttle) arm(instance, TimerKind::kThrottle, workflow.throttle->timeout, now);
}

void give_up_slot(StepContext& step, TimePoint deadline) {
  end_unstarted(step,
                {std::string(kSlotTimeout),
                 fmt::format("the start waited for a slot of its workflow from {} until {}, which "
                             "is as long as `concurrency.timeout` permits",
                             format_rfc3339(step.instance.started_at), format_rfc3339(deadline))});
}

void give_up_throttle(StepContext& step, TimePoint deadline) {
  end_unstarted(step,
                {std::string(kThrottleTimeout),
                 fmt::format("the start waited for the throttle of its workflow until {}, which is "
                             "as long as `throttle.timeout` permits",
                             format_rfc3339(deadline))});
}

void apply(StepContext& step, const Admitted& admitted) {
  Instance& instance = step.instance;
  if (!is_queued(instance)) return;
  step.record(HistoryKind::kAdmitted);
  instance.slot->is_queued = false;
  instance.slot->number = admitted.number;
  step.result.changed = true;
  if (admitted.throttled == 0) return begin_after_wait(step);
  const Throttled& throttled = *instance.throttled;
  step.record(HistoryKind::kThrottled, wait_detail(throttled.priority, throttled.key));
  hold_for_throttle(instance, step.workflow, admitted.throttled, step.now);
}

void apply(StepContext& step, const Released&) {
  if (!is_throttled(step.instance)) return;
  step.record(HistoryKind::kReleased);
  step.result.changed = true;
  begin_after_wait(step);
}

}  // namespace millrace
