// TimerInput: a timer whose deadline has passed, and its owner.
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// A due timer of an instance, of a delayed event, of an event in an eventsAnd group, of a
/// workflow's schedule, whose tick is the deadline, of the pending starts, or of the starts or the
/// calls that wait for a throttle.
struct TimerInput {
  struct OfInstance {
    NamespaceNumber ns{};
    InstanceId instance;
    TimerKind kind{};
    WorkflowNumber workflow{};  ///< for the turns of DueQueues
  };
  struct OfDelayedEvent {
    uint64_t number = 0;
  };
  struct OfGroupedEvent {
    uint64_t number = 0;
  };
  struct OfSchedule {
    WorkflowNumber workflow{};
  };
  /// The first of the starts that `debounce` or `batch` has put off is due.
  struct OfPendingStarts {};
  /// A key of a `throttle` permits a start again, the first of those for which starts wait.
  struct OfThrottledStarts {};
  /// Likewise for calls; or the wait of a call for its throttle ends with an error.
  struct OfThrottledCalls {};
  TimePoint deadline;
  std::variant<OfInstance, OfDelayedEvent, OfGroupedEvent, OfSchedule, OfPendingStarts,
               OfThrottledStarts, OfThrottledCalls>
      owner;
};

}  // namespace millrace
