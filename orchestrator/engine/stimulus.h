// Stimulus: an input for one instance; a closed list. orchestrator/batch finds the instances that
// an event, a timer, a result or a command concerns, and gives each of them its stimulus; step()
// (engine.h) applies it. A stale stimulus (a timer that the instance no longer has, a result that
// it no longer waits for) changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "model/definition.h"
#include "model/instance.h"
#include "states/state.h"

namespace millrace {

// Continuation.

/// Continues an instance in a passing phase: a new instance, one that reached the limit of a step,
/// or one that a restart found in that phase. No effect while the instance waits.
struct Proceed {};
/// The results of an Evaluate effect. Ignored unless the instance waits for them at that step
/// number.
struct EvaluationDone {
  uint64_t step = 0;
  std::span<const EvaluationResult> results;
};

// Events and timers.

/// An event that matches some of the instance's listeners.
struct Matched {
  const Event* event = nullptr;
  std::vector<size_t> entries;  ///< entries of the listeners; ascending
  uint64_t position = 0;        ///< number of the last kept event: the instance listens from there
};
/// A due timer. Ignored unless the instance has a timer of that kind and deadline.
struct Fired {
  TimerKind kind{};
  TimePoint deadline;
};
/// Fires the timeouts of the calls, the state and the instance that have passed, before a report
/// that follows is applied.
struct Overdue {};

// Reports of a call. Each is ignored unless the instance waits for this attempt of the call and no
// timeout that would have ended the call has passed.

/// The call ended.
struct Returned {
  Caller call;
  CallResult result;
  bool sealed = false;  ///< the instance holds secret data from now on
  /// For a failure: the Retry-After of the function's service.
  std::optional<Duration> retry_after = {};
};
/// A worker started the call.
struct CallStarted {
  Caller call;
};
/// The worker of the call missed its heartbeat.
struct HeartbeatMissed {
  Caller call;
};
/// The call printed output, which goes to the history.
struct Printed {
  Caller call;
  std::string text;
};

// Operations of an operator (docs/operating.md).

/// Ends the instance: at once, or when its running tasks have ended. In the second case the tasks
/// are not stopped, and their results go only to the history.
struct Cancel {
  Error error;
  bool at_once = true;
};
/// Pauses the instance: it starts nothing new, but events and results are still accepted.
struct Pause {};
/// Resumes a paused instance and restarts the timeouts of the current step.
struct Resume {};
/// Paused services were resumed: State::services_resumed.
struct ServicesResumed {
  const ServiceNames* names = nullptr;  ///< null: all
};

/// Fails an instance of which the process died repeatedly. Its states cannot catch or retry the
/// error.
struct Abandon {
  Error error;
};

// Stimuli that start a new run of an ended instance; it accepts no others.

/// Starts the failed state again, with the data with which it was entered.
struct Retry {
  std::optional<LazyJson> data;  ///< if it has no failed_data; none: its data at the end
  bool extend = false;           ///< restart the execution timeout
  bool paused = false;           ///< its workflow is paused: the run starts after a Resume
};
/// Starts a new run from the start of the workflow.
struct Restart {
  bool paused = false;  ///< as in Retry
};
/// Starts a new run in that state with that data.
struct Rerun {
  StateIndex state = 0;
  LazyJson data;
  bool paused = false;  ///< as in Retry
};

using Stimulus = std::variant<Matched, Fired, Returned, CallStarted, HeartbeatMissed, Printed,
                              Overdue, EvaluationDone, Proceed, Cancel, Pause, Resume,
                              ServicesResumed, Retry, Restart, Rerun, Abandon>;

/// Whether the stimulus is only for ended instances.
inline bool revives(const Stimulus& stimulus) {
  return std::holds_alternative<Retry>(stimulus) || std::holds_alternative<Restart>(stimulus) ||
         std::holds_alternative<Rerun>(stimulus);
}

}  // namespace millrace
