// TimerInputs: what a timer does that is due. Of an instance it steps that instance; a delayed
// event is published, an event of a group expires, a schedule ticks. Engine thread only.
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
  TimerInputs(Draft& draft, Instances& instances, const FanOuts& fan_outs, Groups& groups,
              Schedules& schedules)
      : draft_(draft),
        instances_(instances),
        fan_outs_(fan_outs),
        groups_(groups),
        schedules_(schedules) {}

  /// Fires one that is due. Errors: those of the store.
  Status take(TimePoint now, const TimerInput& input);

  /// The same of an instance, which may no longer have that timer.
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner);

  /// Whether an event that the stream still holds may come before this timer: the timeout of a wait
  /// for events, or the end of a lifespan, is lost to an event that the broker stamped before its
  /// deadline. Nothing else waits for the stream. Errors: those of the store.
  Result<bool> may_be_overtaken(TimePoint now, const TimerInput& timer);

 private:
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfDelayedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfGroupedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfSchedule& owner);
  bool awaits_look(TimePoint now, const Instance& instance);

  Draft& draft_;
  Instances& instances_;
  const FanOuts& fan_outs_;
  Groups& groups_;
  Schedules& schedules_;
};

}  // namespace millrace
