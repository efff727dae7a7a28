// The engine: one instance, one stimulus → the changed instance and effects. Pure: time is given,
// nothing is read or written but the instance, and variables through a Lookup. What an Input
// (model/input.h) means for which instances is found by orchestrator/batch; this is what happens
// in each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/effect.h"
#include "model/history.h"
#include "model/input.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "model/workflow.h"
#include "states/state.h"

namespace millrace {

/// An event that some of the instance's listeners match.
struct Matched {
  const Event* event = nullptr;
  std::vector<size_t> entries;  ///< ascending
  uint64_t position = 0;        ///< of the event in the stream
};
/// A timer is due; ignored unless the instance has just this one.
struct Fired {
  TimerKind kind{};
  TimePoint deadline;
};
/// A call has ended; ignored unless the instance waits for just this attempt of it, and no timeout
/// that would have ended it has passed.
struct Returned {
  Caller call;
  CallResult result;
  bool sealed = false;  ///< the instance holds something of a secret from now on
  /// Of a failure: the Retry-After of the function's service.
  std::optional<Duration> retry_after = {};
};
/// Somebody has begun with a call; ignored like Returned.
struct Begun {
  Caller call;
};
/// Whoever works on a call has been silent for too long; ignored like Returned.
struct Silent {
  Caller call;
};
/// What a call prints, for the history; ignored like Returned.
struct Printed {
  Caller call;
  std::string text;
};
/// Timeouts of the step and of the whole that have passed come now, before what is told next.
struct Overdue {};
/// The results of an Evaluate; ignored unless it is this step that waits for them.
struct Resumed {
  uint64_t step = 0;
  std::span<const EvaluationResult> results;
};
/// Go on from a passing phase: a new instance, one that reached the bound on a step, or one that
/// a restart found there.
struct Proceed {};
/// End it: now, or once the tasks that run have ended. They are not stopped; what they return goes
/// to the history alone.
struct Cancel {
  WorkflowError error;
  bool at_once = true;
};

// What an operator does about it.

/// Do nothing new; what comes is taken.
struct Pause {};
/// Go on; the timeouts of the current step count anew.
struct Resume {};
/// Services that were paused go on: State::services_resumed.
struct ServicesResumed {
  const ServiceNames* names = nullptr;  ///< null: all
};
/// It has ended; the state that failed begins again, with the data that it found.
struct Retry {
  std::optional<LazyJson> data;  ///< where the instance has not kept it; none: as it ended
  bool extend = false;           ///< the execution's deadline counts anew
  bool paused = false;           ///< its workflow is: nothing begins before a Resume
};
/// It has ended, and is run anew from the beginning.
struct Restart {
  bool paused = false;  ///< as in Retry
};
/// It has ended, and is run anew from that state with that data.
struct Rerun {
  StateIndex state = 0;
  LazyJson data;
  bool paused = false;  ///< as in Retry
};

/// Give it up: it is failed, whatever its states would make of the error.
struct Abandon {
  WorkflowError error;
};

using Stimulus =
    std::variant<Matched, Fired, Returned, Begun, Silent, Printed, Overdue, Resumed, Proceed,
                 Cancel, Pause, Resume, ServicesResumed, Retry, Restart, Rerun, Abandon>;

/// Whether it is for one that has ended.
inline bool revives(const Stimulus& stimulus) {
  return std::holds_alternative<Retry>(stimulus) || std::holds_alternative<Restart>(stimulus) ||
         std::holds_alternative<Rerun>(stimulus);
}

/// ARCHITECTURE, decision 9.
struct EngineLimits {
  uint32_t transitions_per_step = 1'000;
  uint32_t transitions_per_instance = 100'000;
  size_t variable_bytes_per_step = size_t{16} << 20;  ///< once more are to be set, it is enough
};

struct StepResult {
  std::vector<Effect> effects;
  std::vector<HistoryRecord> history;
  bool changed = false;     ///< false: the stimulus was stale and the instance is as it was
  bool unfinished = false;  ///< the bound on one step was reached: give it Proceed again
};

/// What an instance may bring beside its input.
struct Origin {
  std::string own_policy = {};                             ///< own_policy.h
  std::optional<TimePoint> execution_from = std::nullopt;  ///< none: from now
};

/// An instance that has not yet entered its first state. `input` is an object (the data) or, for
/// other JSON, becomes {"input": …}.
/// `position` is where in the stream it begins to listen.
Instance make_instance(InstanceId id, NamespaceNumber space, Revision revision,
                       const Workflow& workflow, Json input, TimePoint now, uint64_t position,
                       const Origin& origin = {});

/// The state that a manual retry of an instance that has failed begins again.
StateIndex failed_state_of(const Workflow& workflow, const Instance& instance);

/// Until when the execution of an instance may go on if it does not count anew.
std::optional<TimePoint> execution_deadline(const Workflow& workflow, const Instance& instance);

/// The timers of the run and of the execution as a run that began at `began` is given them, by the
/// workflow and by what the start of the instance said. Which of them are still there depends on
/// what has fired since.
std::vector<Timer> timers_of_run(const Workflow& workflow, const Instance& instance,
                                 TimePoint began);

/// Steps `instance` on `workflow`, its own revision.
StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits = {});

}  // namespace millrace
