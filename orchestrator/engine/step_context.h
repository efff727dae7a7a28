// StepContext: the state of one call of step(), shared by the sources of the engine, and the
// operations that they share: record, raise, go to a state, end. Private to the engine; engine.cc,
// errors.cc and leaving.cc implement it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "model/history.h"
#include "model/instance.h"
#include "model/lookup.h"
#include "orchestrator/engine/engine.h"
#include "states/state.h"
#include "states/visit.h"
#include "states/workflow.h"

namespace millrace {

/// The inputs of a step and its result so far.
struct StepContext {
  const Workflow& workflow;
  Instance& instance;
  TimePoint now;
  const Lookup& lookup;
  const EngineLimits& limits;

  StepResult result = {};
  const EarlyEvents* early = nullptr;  ///< what the first visit of the step has asked for, or null
  std::optional<TimePoint> asked_at = std::nullopt;  ///< when it asked; visit() takes it
  bool cancels_at_once = true;  ///< also stop the tasks of subflows that the step cancels
  uint32_t transitions = 0;     ///< transitions that the step has made so far
  /// Whether the step may make further calls of an instance that makes_calls(): its stimulus
  /// continues the instance, or the instance has entered another state since.
  bool makes_more = false;
  size_t call_timeouts = 0;  ///< about how many passed timeouts of calls the step has handled
  bool has_noted = false;    ///< the compensation of the state that is left is noted
  bool fired_calls = false;  ///< the step has fired the timer of the calls, so it is not armed now

  /// Whether the step has handled as many passed timeouts of calls as one step should. The timer of
  /// the calls then brings the others.
  bool has_enough_timeouts() const { return call_timeouts >= limits.calls_per_step.calls; }

  /// The current state of the instance.
  const State& state() const;
  /// Makes a visit of the current state. `results` are the results of the evaluations that the
  /// visit has requested.
  Visit visit(std::span<const EvaluationResult> results = {});

  /// Adds a record of the current state to the history.
  void record(HistoryKind kind, LazyJson detail = {});
  void record_error(HistoryKind kind, const Error& error);
};

/// Whether an error may be retried by the `retries` of the state and of the workflow.
enum class Retries { kNo, kYes };

/// Runs through states until the instance waits, asks for an evaluation, ends or reaches the limit
/// of one step. `results` are the results that the current state waited for.
void proceed(StepContext& step, std::span<const EvaluationResult> results = {});

/// Keeps `data`, the data before the visit, if the state changed it and is being left: if its
/// transform fails, the next attempt, automatic or manual, starts with this data.
void keep_found(Instance& instance, const Visit& visit, const LazyJson& data);

/// Gives the waiting instance an event that its listeners with these entries match.
void take_event(StepContext& step, const Event& event, std::span<const size_t> entries);

/// Adds the effects and records of a visit to the result, then applies its outcome.
void apply_outcome(StepContext& step, Visit& visit, const Outcome& outcome);

/// Raises an error in the current state. If the state's retry policy allows another attempt, the
/// state is entered again; in Direktiv's vocabulary only if no `catch` matches the error. Otherwise
/// the first matching `catch` is followed, and without a match the instance fails.
void raise(StepContext& step, Error error, Retries retries = Retries::kYes);

/// Adds the effects and the history records of a visit to the result.
void take_notes(StepContext& step, Visit& visit);

/// Leaves the current state by the way `exit` of the instance (StateCommon::is_way_out): evaluates
/// the transform, and goes to another state, ends, or ends the run (StepResult::next_run).
void leave(StepContext& step, Visit& visit);

/// Goes to the state `next`, at its first attempt; nullopt: the instance ends.
void go_to(StepContext& step, std::optional<StateIndex> next);

/// Starts the current state, at the current attempt. The timeout of the state counts from now, and
/// includes the time for the evaluation of expressions.
void begin_state(Instance& instance, const StateCommon& common, TimePoint now);

/// To be called when the instance begins to wait, after its listeners, timers and calls are set. If
/// no timer can end the wait before kLongWait has passed, the count of transitions begins again,
/// and without listeners also the count of hops. How long calls need is not known yet:
/// clear_waits() decides about a wait for calls.
void begin_wait(StepContext& step);

/// Begins the count of transitions again (EngineLimits). The transition into the current state
/// stays in the count, because 0 transitions mean the first state of a run.
void count_again(Instance& instance);

/// Makes the instance wait until the next attempt of the state, or the next run, is due.
void wait_for_attempt(StepContext& step, TimePoint at);

/// Ends the instance with `status`, and with `error` unless the instance already has an error.
void fail(StepContext& step, const Error& error, InstanceStatus status = InstanceStatus::kFailed,
          Retries retries = Retries::kYes);

/// Ends the instance with `status`, and with instance.error if that is set. A failed instance may
/// get another run, or enter the state `on_failure`, instead; one that does not complete may make
/// its compensations first.
void end(StepContext& step, InstanceStatus status, Retries retries = Retries::kYes);

/// Ends the instance with `status`, whatever else it might do.
void finish(StepContext& step, InstanceStatus status);

/// Removes everything that the current state waits for, and stops and removes its calls. If the
/// wait for calls was long, the count of transitions begins again.
void clear_waits(StepContext& step);

/// Fails an instance that made too many transitions. `catch` is not applied: an instance that
/// caught this error could run for ever.
void exceed_transitions(StepContext& step, StateIndex next);

/// Writes the error into the data as `.error`.
void put_error(Instance& instance, const Error& error);

}  // namespace millrace
