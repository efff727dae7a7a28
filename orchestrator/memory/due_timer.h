// TimerInput: a timer whose deadline has come, and what it belongs to.
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

/// What a due timer belongs to: a timer of an instance, a delayed event, an event that waits in an
/// eventsAnd group, the schedule of a workflow, whose tick is the deadline.
struct TimerInput {
  struct OfInstance {
    NamespaceNumber space{};
    InstanceId instance;
    TimerKind kind{};
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
  TimePoint deadline;
  std::variant<OfInstance, OfDelayedEvent, OfGroupedEvent, OfSchedule> owner;
};

}  // namespace millrace
