// Stimulus: everything that can happen to one instance. orchestrator/batch finds which instances an
// event, a timer, a result or a command concerns, and gives each of them its stimulus; step()
// (engine.h) says what comes of it. A stimulus that is stale (a timer that the instance no longer
// has, a result that it no longer waits for) changes nothing.
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

// What goes on by itself.

/// Go on from a passing phase: a new instance, one that reached the bound on a step, or one that
/// a restart found there. Without effect while the instance waits.
struct Proceed {};
/// The results of an Evaluate effect. Ignored unless the instance waits for them in this step.
struct Resumed {
  uint64_t step = 0;
  std::span<const EvaluationResult> results;
};

// Events and timers.

/// An event that some of the instance's listeners match.
struct Matched {
  const Event* event = nullptr;
  std::vector<size_t> entries;  ///< of the listeners; ascending
  uint64_t position = 0;        ///< of the event in the stream
};
/// A timer is due. Ignored unless the instance has just this one.
struct Fired {
  TimerKind kind{};
  TimePoint deadline;
};
/// Timeouts of the step and of the whole that have passed fire now, before the report that follows.
struct Overdue {};

// Reports of a call. Each is ignored unless the instance waits for just this attempt of the call,
// and no timeout that would have ended it has passed.

/// The call has ended.
struct Returned {
  Caller call;
  CallResult result;
  bool sealed = false;  ///< the instance holds something of a secret from now on
  /// Of a failure: the Retry-After of the function's service.
  std::optional<Duration> retry_after = {};
};
/// A worker has begun with the call.
struct Begun {
  Caller call;
};
/// The worker of the call has missed its heartbeat.
struct Silent {
  Caller call;
};
/// The call has printed something, which goes to the history.
struct Printed {
  Caller call;
  std::string text;
};

// What an operator does (docs/operating.md).

/// End it: now, or once the tasks that run have ended. They are not stopped; their results go to
/// the history alone.
struct Cancel {
  Error error;
  bool at_once = true;
};
/// Begin nothing new; events and results are still accepted.
struct Pause {};
/// Go on after a Pause; the timeouts of the current step count anew.
struct Resume {};
/// Services that were paused go on: State::services_resumed.
struct ServicesResumed {
  const ServiceNames* names = nullptr;  ///< null: all
};

/// What ends the process again and again is given up: the instance has failed, whatever its states
/// would make of the error.
struct Abandon {
  Error error;
};

// What brings back an instance that has ended; the only stimuli that one takes.

/// The state that failed begins again, with the data that it found.
struct Retry {
  std::optional<LazyJson> data;  ///< where the instance has not kept it; none: as it ended
  bool extend = false;           ///< the execution's deadline counts anew
  bool paused = false;           ///< its workflow is paused: nothing begins before a Resume
};
/// It is run anew from the beginning.
struct Restart {
  bool paused = false;  ///< as in Retry
};
/// It is run anew from that state with that data.
struct Rerun {
  StateIndex state = 0;
  LazyJson data;
  bool paused = false;  ///< as in Retry
};

using Stimulus =
    std::variant<Matched, Fired, Returned, Begun, Silent, Printed, Overdue, Resumed, Proceed,
                 Cancel, Pause, Resume, ServicesResumed, Retry, Restart, Rerun, Abandon>;

/// Whether the stimulus is for an instance that has ended, and for no other.
inline bool revives(const Stimulus& stimulus) {
  return std::holds_alternative<Retry>(stimulus) || std::holds_alternative<Restart>(stimulus) ||
         std::holds_alternative<Rerun>(stimulus);
}

}  // namespace millrace
