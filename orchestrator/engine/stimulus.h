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

#include "base/bytes.h"
#include "base/event.h"
#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "model/answered_by.h"
#include "model/definition.h"
#include "model/early_events.h"
#include "model/instance.h"
#include "states/state.h"

namespace millrace {

// Continuation.

/// Continues an instance that is in a transient phase: a new instance, one that reached the limit
/// of a step, or one that a starting process found in such a phase. No effect while the instance
/// waits.
struct Proceed {};
/// The instance gets the slot for which it waits: its first run begins now, with its timeouts, and
/// Proceed starts it; or it waits for the throttle of its workflow. No effect on an instance that
/// does not wait for a slot.
struct Admitted {
  uint64_t number = 0;     ///< of its row among those that hold a slot
  uint64_t throttled = 0;  ///< of its row among those that wait for the throttle; 0: it does not
};
/// The throttle permits the start of the instance: its first run begins now, as for Admitted. No
/// effect on an instance that does not wait for the throttle.
struct Released {};
/// The results of an Evaluate or LookBack effect. Ignored unless the instance waits for the results
/// of the step with the number `step`.
struct EvaluationDone {
  uint64_t step = 0;
  std::span<const EvaluationResult> results;
  const EarlyEvents* early = nullptr;  ///< the result of a LookBack effect, or null
  /// The time of the step that asked: the result of `now` also when the visit is repeated with the
  /// results. nullopt: the time of the step that gets them.
  std::optional<TimePoint> asked_at = std::nullopt;
};

// Events and timers.

/// An event that matches some of the instance's listeners.
struct Matched {
  const Event* event = nullptr;
  std::vector<size_t> entries;  ///< the entries of the matching listeners; ascending
  ListenFrom position;          ///< the instance then listens to events after this position
  Fingerprint known_as{};       ///< the fingerprint of its namespace, source and id
};
/// A due timer. Ignored unless the instance has a timer of that kind and deadline.
struct Fired {
  TimerKind kind{};
  TimePoint deadline;
};
/// Fires all passed timeouts of the calls, the state and the instance. Applied before a report.
struct Overdue {};

// Reports of a call. Each is ignored unless the instance waits for this attempt of the call and no
// timeout that would have ended the call has passed.

/// The call ended.
struct Returned {
  Caller call;
  CallResult result;
  Sealing sealed;  ///< whether the instance holds secret data from now on
  /// If the call failed: the Retry-After that the service of the function sent.
  std::optional<Duration> retry_after = {};
  AnsweredBy by = AnsweredBy::kRunner;
};
/// A worker started the call.
struct CallStarted {
  Caller call;
};
/// The service of the call has said how far it is.
struct Progressed {
  Caller call;
  std::string json;  ///< CallProgress::json
  Sealing sealed;    ///< whether it may contain data of a secret: the instance becomes sealed
};
/// The worker of the call missed its heartbeat.
struct HeartbeatMissed {
  Caller call;
};
/// The call printed output, which goes to the history.
struct Printed {
  Caller call;
  std::string text;
  Sealing sealed;  ///< whether the text may contain data of a secret: the instance becomes sealed
};

// Operations of an operator (docs/operating.md).

/// Ends the instance: at once, or when its running tasks have ended. If the instance makes its
/// compensations, ends it at once with the status of its cause. In the second case the tasks
/// are not stopped, and their results go only to the history.
struct Cancel {
  Error error;
  bool at_once = true;
  bool by_caller = false;   ///< the caller of a subflow: this does not stop compensations
  bool compensates = true;  ///< false: the instance makes no compensation; only if `at_once`
  /// Its workflow or namespace is being deleted: no start that waits gets its slot.
  bool deletes = false;
};
/// Pauses the instance: it starts nothing new, but events and results are still accepted.
struct Pause {};
/// Resumes a paused instance and restarts the timeouts of the current state and its calls.
struct Resume {};
/// Some paused services were resumed; State::services_resumed handles the stimulus.
struct ServicesResumed {
  const ServiceNames* names = nullptr;  ///< the resumed services; null: all services
};

/// Fails an instance whose steps made the process die repeatedly, or that would write far beyond a
/// quota of bytes. The states of the instance cannot catch or retry the error.
struct Abandon {
  Error error;
  /// The store has no room: if the instance has no row with the data of an earlier failure, it gets
  /// none. A manual retry then starts with the data that the history has.
  bool writes_little = false;
};

// Stimuli after a step whose result has `next_run` (engine.h), in the same batch.

/// Begins the next run of the instance, whose `revision` is already that of `step()`'s workflow.
struct NextRun {
  uint32_t ended_revision = 0;  ///< the number of the revision of the run that ends
  LazyJson input;               ///< the input of the next run; not always an object
};
/// The next run cannot begin: the error is raised in the state that the instance leaves. If an
/// entry of `catch` leads to the next run, the instance fails.
struct NextRunRefused {
  Error error;
};

// Stimuli that continue an ended instance; an ended instance accepts no other stimuli. All but
// Compensate start a new run.

/// Starts the failed state again, with the data with which it was entered.
struct Retry {
  /// The data to start with if the instance has no failed_data; nullopt: its current data.
  std::optional<LazyJson> data;
  bool extend = false;  ///< restart the execution timeout
  bool paused = false;  ///< the workflow is paused: the run starts after a Resume
};
/// Starts a new run from the start of the workflow.
struct Restart {
  bool paused = false;  ///< as in Retry
};
/// Starts a new run in the state `state` with the data `data`.
struct Rerun {
  StateIndex state = 0;
  LazyJson data;
  bool paused = false;  ///< as in Retry
};
/// Makes the compensations that are left, the newest one first. No effect without one.
struct Compensate {
  bool passes_over = false;  ///< the newest one, which failed, is not made
  bool paused = false;       ///< as in Retry
};

using Stimulus = std::variant<Matched, Fired, Returned, CallStarted, Progressed, HeartbeatMissed,
                              Printed, Overdue, EvaluationDone, Proceed, Admitted, Released, Cancel,
                              Pause, Resume, ServicesResumed, Retry, Restart, Rerun, Compensate,
                              Abandon, NextRun, NextRunRefused>;

/// Whether the stimulus is only for ended instances.
inline bool revives(const Stimulus& stimulus) {
  return std::holds_alternative<Retry>(stimulus) || std::holds_alternative<Restart>(stimulus) ||
         std::holds_alternative<Rerun>(stimulus) || std::holds_alternative<Compensate>(stimulus);
}

}  // namespace millrace
