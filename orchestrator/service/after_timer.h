// After a timer: the state that follows when a timer of an instance fires, as far as the definition
// decides it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// What the state after a timer depends on, besides the definition.
struct TimedInstance {
  explicit TimedInstance(const Instance& instance)
      : state(instance.state),
        awaits_run(instance.awaits_run),
        has_calls(!instance.calls.empty()),
        failing(instance.failing),
        cancelling(instance.cancelling) {}

  size_t state = 0;
  bool awaits_run = false;
  bool has_calls = false;
  bool failing = false;
  bool cancelling = false;
};

/// The id of the state that the instance goes to: the one of a `catch`, the one after a delay, the
/// same one for its next attempt, the first one for the next run, or `on_failure`. nullopt: the
/// instance ends, stays in its state, or a retry policy decides.
std::optional<std::string> state_after(TimerKind kind, const TimedInstance& instance,
                                       const Workflow& workflow);

}  // namespace millrace
