// TimerInputs: applies due timers. By its owner, a due timer steps an instance, publishes a delayed
// event, ends the lifespan of an event in a group, applies a tick of a schedule, begins pending
// starts, or lets throttled starts and calls begin. Engine thread only.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/fan_outs.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/schedules.h"
#include "orchestrator/memory/due_timer.h"

namespace millrace {

class TimerInputs {
 public:
  TimerInputs(BatchState& batch, Instances& instances, const FanOuts& fan_outs, Groups& groups,
              Schedules& schedules)
      : batch_(batch),
        instances_(instances),
        fan_outs_(fan_outs),
        groups_(groups),
        schedules_(schedules) {}

  /// Fires a due timer. The timer of an instance or a group for which a match is undecided does not
  /// fire; it is armed again when the match is decided. The same is true of the timeout of a state
  /// that had passed when the process started, if the state had asked for early events: they came
  /// before the timeout, and the search was lost with the process before. Errors: those of the
  /// store.
  Status apply_input(TimePoint now, const TimerInput& input);

  /// Fires a timer of an instance; no effect if the instance no longer has that timer.
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner);

  /// Whether an event that is still in the stream may have to be applied before this timer: an
  /// event that the broker stamped before the deadline comes before the timeout of a wait for
  /// events and before the end of a lifespan. No other timer waits for the stream. Errors: those of
  /// the store.
  Result<bool> may_be_overtaken(TimePoint now, const TimerInput& timer);

 private:
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfDelayedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfGroupedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfSchedule& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfPendingStarts& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfThrottledStarts& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfThrottledCalls& owner);
  Result<bool> awaits_match(const TimerInput& input);
  Result<bool> awaits_early_events(const Timer& timer, const Instance& instance);

  BatchState& batch_;
  Instances& instances_;
  const FanOuts& fan_outs_;
  Groups& groups_;
  Schedules& schedules_;
};

}  // namespace millrace
