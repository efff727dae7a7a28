// Compensation: notes the calls that undo what states have done, and makes them, the newest one
// first, before an instance ends. While it makes them, the instance is in the CompensationState of
// one state after the other (states/compensation.h), and each step that ends one starts the next
// one. Private to the engine.
#pragma once

#include <optional>

#include "base/lazy_json.h"
#include "model/instance.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/stimulus.h"
#include "states/visit.h"

namespace millrace {

/// Raises millrace.limits.compensations if the state that the instance enters would note one
/// compensation too many. Returns whether it did.
bool exceeds_compensations(StepContext& step);

/// The input of the compensation that the instance notes when it leaves its state; nullopt: it
/// notes none.
Evaluated<std::optional<LazyJson>> compensation_input(const StepContext& step, Visit& visit);

/// Notes the compensation of the current state; does nothing without an input.
void note(StepContext& step, std::optional<LazyJson> input);

/// Notes the compensation of a call with that result, if the current state notes one for each of
/// its calls. Adds the effects and records of the visit to the result of the step first.
void note_call(StepContext& step, Visit& visit, const LazyJson& result);

/// Notes the compensation of a task that has ended with that result while its instance is being
/// cancelled. The result is used for that only, and stays out of the data. An input that a jq
/// worker would have to evaluate is not known in time, so then nothing is noted.
void note_finished(StepContext& step, const LazyJson& result);

/// Notes the compensation of a state that has done its work but is not left yet, because something
/// else ends it now. An input that a jq worker would have to evaluate is not known in time, so then
/// nothing is noted.
void note_left(StepContext& step);

/// Starts to make the compensations if an end with `status` demands it and there are some. Returns
/// whether it did: then the instance ends later.
bool begin_compensating(StepContext& step, InstanceStatus status);

/// Makes the newest compensation. To be called when the instance enters its CompensationState.
void make_newest(StepContext& step, Visit& visit);

/// The newest compensation has succeeded: makes the one before it, or ends the instance.
void go_on_compensating(StepContext& step);

/// The newest compensation has failed for good: ends the instance; the compensations that are left
/// stay noted.
void fail_compensating(StepContext& step, const Error& error);

/// An operator cancels the instance while it makes its compensations. A caller that no longer waits
/// for the instance does not stop them.
void cancel_compensating(StepContext& step, const Cancel& cancel);

/// Ends the instance with the status of its cause, and stops the compensation that is made.
void stop_compensating(StepContext& step);

void apply(StepContext& step, const Compensate& compensate);

}  // namespace millrace
