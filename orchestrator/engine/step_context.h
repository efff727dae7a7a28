// StepContext: one call of step(), as the units of the engine share it, and the moves that all of
// them make: record, raise, go to a state, end. Private to the engine; engine.cc implements it.
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

/// What a step works on, and what it has found so far.
struct StepContext {
  const Workflow& workflow;
  Instance& instance;
  TimePoint now;
  const Lookup& lookup;
  const EngineLimits& limits;

  StepResult result = {};
  bool cancels_at_once = true;  ///< the tasks of children that it cancels are stopped as well
  size_t variable_bytes = 0;    ///< of the variables that the step has set so far

  /// The state that the instance is in.
  const State& state() const;
  /// A visit of that state. `results` are those of the evaluations that it has asked for.
  Visit visit(std::span<const EvaluationResult> results = {});

  /// Adds a record of the state to the history.
  void record(HistoryKind kind, LazyJson detail = {});
  void record_error(HistoryKind kind, const Error& error);
};

/// Whether the `retries` of the state, and of the workflow, are asked after an error.
enum class Retries { kNo, kYes };

/// Runs through states until the instance waits, asks for an evaluation, ends or reaches the bound
/// on a step. `results` are those that the state has waited for.
void proceed(StepContext& step, std::span<const EvaluationResult> results = {});

/// Takes over what a visit has noted, then does what its outcome says.
void settle(StepContext& step, Visit& visit, const Outcome& outcome);

/// An error in the present state: its retry policy may have it entered again, before a `catch` is
/// looked for or because none matches; else the first `catch` that matches decides; else the
/// instance fails.
void raise(StepContext& step, Error error, Retries retries = Retries::kYes);

/// Goes to that state, with its first attempt; none: the instance ends.
void go_to(StepContext& step, std::optional<StateIndex> next);

/// The present state begins, at this attempt. Its timeout counts from now, expressions included.
void begin_state(Instance& instance, const StateCommon& common, TimePoint now);

/// Waits until the next attempt of the state or the next run is due.
void wait_for_attempt(StepContext& step, TimePoint at);

/// Ends the instance, failed by that error unless it has one already.
void fail(StepContext& step, const Error& error, InstanceStatus status = InstanceStatus::kFailed,
          Retries retries = Retries::kYes);

/// Ends the instance, with instance.error if there is one; a failed one may get another run or its
/// `on_failure` instead.
void end(StepContext& step, InstanceStatus status, Retries retries = Retries::kYes);

/// Nothing of the present state is waited for any more; its calls are stopped.
void clear_waits(StepContext& step);

/// Puts the error into the data, as `.error`.
void put_error(Instance& instance, const Error& error);

}  // namespace millrace
