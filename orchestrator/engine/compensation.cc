#include "orchestrator/engine/compensation.h"

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orchestrator/engine/control.h"
#include "states/compensation.h"

namespace millrace {
namespace {

/// Whether an end with `status` makes the compensations first.
bool demands_compensations(const StepContext& step, InstanceStatus status) {
  const Instance& instance = step.instance;
  const Workflow& workflow = step.workflow;
  if (status == InstanceStatus::kComplete || instance.compensations == 0) return false;
  const bool by_on_failure = instance.failing && workflow.timeouts.on_failure_compensates;
  return workflow.compensates || instance.compensates || by_on_failure;
}

/// Ends the instance as its cause said.
void end_as_pending(StepContext& step) {
  const PendingEnd pending = *std::exchange(step.instance.compensating, std::nullopt);
  clear_waits(step);
  step.instance.state = pending.state;
  finish(step, pending.status);
}

/// Enters the CompensationState of the newest compensation. Without one, ends the instance.
void enter_newest(StepContext& step) {
  Instance& instance = step.instance;
  if (instance.compensations == 0) return end_as_pending(step);
  // Also a damaged compensation was entered: its failure ends the instance.
  ++instance.step;
  instance.entered = instance.step;
  auto newest = step.visit().newest_compensation();
  if (!newest) return fail_compensating(step, std::get<Raise>(newest.error()).error);
  if (compensation_of(step.workflow, newest->state) == nullptr) {
    return fail_compensating(
        step, {std::string(kDamagedStore),
               fmt::format("compensation {} undoes state {} (counted from 0), which has none",
                           instance.compensations, newest->state)});
  }
  ++step.transitions;
  instance.state = newest->state;
  instance.attempt = 1;
  instance.retried = false;
  instance.state_from = step.now;
  instance.phase = Phase::kEntering;
}

/// Sets what is the same for every instance that makes its compensations: nothing else bounds them.
/// An instance that is paused stays so, and starts the first one when it is resumed.
void begin(StepContext& step, const PendingEnd& pending) {
  Instance& instance = step.instance;
  clear_waits(step);
  instance.timers.clear();
  instance.held_timers.clear();
  instance.found_data.reset();
  instance.cancelling = false;
  instance.awaits_run = false;
  instance.compensating = pending;
  instance.status = instance.paused ? InstanceStatus::kPaused : InstanceStatus::kRunning;
  step.result.changed = true;
}

/// Notes a compensation of the current state, which has them.
void note_as(StepContext& step, LazyJson input, bool of_call) {
  Instance& instance = step.instance;
  const CompensationState& state = *compensation_of(step.workflow, instance.state);
  step.result.bytes += input.text().size();
  note_compensation(instance,
                    {.state = instance.state, .input = std::move(input), .of_call = of_call});
  step.record(HistoryKind::kNoted,
              Json{{"function", state.function()}, {"number", instance.compensations}});
}

Json start_detail(const Instance& instance, InstanceStatus status) {
  return {{"left", instance.compensations}, {"status", to_string(status)}};
}

}  // namespace

bool exceeds_compensations(StepContext& step) {
  const Instance& instance = step.instance;
  const bool notes = compensation_of(step.workflow, instance.state) != nullptr;
  if (!notes || instance.compensations < kMostCompensations) return false;
  step.record(HistoryKind::kEntered);
  raise(step, too_many_compensations().error, Retries::kNo);
  return true;
}

Evaluated<std::optional<LazyJson>> compensation_input(const StepContext& step, Visit& visit) {
  const CompensationState* const state = compensation_of(step.workflow, step.instance.state);
  if (state == nullptr || state->undoes_calls()) return std::nullopt;
  auto input = state->input(visit);
  if (!input) return tl::unexpected(std::move(input).error());
  return std::optional(std::move(*input));
}

void note(StepContext& step, std::optional<LazyJson> input) {
  if (!input) return;
  step.has_noted = true;
  note_as(step, *std::move(input), false);
}

void note_call(StepContext& step, Visit& visit, const LazyJson& result) {
  const Instance& instance = step.instance;
  const CompensationState* const state = compensation_of(step.workflow, instance.state);
  if (state == nullptr || !state->undoes_calls() || instance.compensating) return;
  take_notes(step, visit);  // the record of the result comes first
  note_as(step, LazyJson::of_members({{"return", result}}), true);
}

void note_finished(StepContext& step, const LazyJson& result) {
  const CompensationState* const state = compensation_of(step.workflow, step.instance.state);
  if (state == nullptr) return;
  Visit visit = step.visit();
  if (state->undoes_calls()) return note_call(step, visit, result);
  const LazyJson data = step.instance.data;
  if (!visit.put("return", result)) {
    auto input = compensation_input(step, visit);
    if (input) note(step, *std::move(input));
  }
  step.instance.data = data;
}

void note_left(StepContext& step) {
  const Instance& instance = step.instance;
  const bool is_left = instance.phase == Phase::kLeaving && !instance.compensating;
  if (!is_left || step.has_noted) return;
  if (instance.exit >= step.state().common().exits.size()) return;
  Visit visit = step.visit();
  auto input = compensation_input(step, visit);
  if (input) note(step, std::move(*input));
}

bool begin_compensating(StepContext& step, InstanceStatus status) {
  if (!demands_compensations(step, status)) return false;
  step.record(HistoryKind::kCompensating, start_detail(step.instance, status));
  begin(step, {.status = status, .state = step.instance.state});
  enter_newest(step);
  return true;
}

void make_newest(StepContext& step, Visit& visit) {
  const Instance& instance = step.instance;
  const CompensationState& state = *compensation_of(step.workflow, instance.state);
  const Outcome outcome = state.enter(visit);
  // A visit that waits for an evaluation is repeated from its beginning.
  if (!std::holds_alternative<Park>(outcome)) {
    step.record(HistoryKind::kUndoing,
                Json{{"function", state.function()}, {"number", instance.compensations}});
  }
  apply_outcome(step, visit, outcome);
}

void go_on_compensating(StepContext& step) {
  Instance& instance = step.instance;
  step.record(HistoryKind::kUndone, Json{{"number", instance.compensations}});
  remove_compensation(instance);
  enter_newest(step);
}

void fail_compensating(StepContext& step, const Error& error) {
  step.record_error(HistoryKind::kRaised, error);
  step.instance.compensation_error = error;
  stop_compensating(step);
}

void cancel_compensating(StepContext& step, const Cancel& cancel) {
  if (cancel.by_caller) return;
  step.record_error(HistoryKind::kCancelled, cancel.error);
  step.instance.compensation_error = cancel.error;
  step.cancels_at_once = cancel.at_once;
  stop_compensating(step);
}

void stop_compensating(StepContext& step) {
  step.record(HistoryKind::kCompensationStopped, Json{{"left", step.instance.compensations}});
  end_as_pending(step);
}

/// The status and the error of the instance stay those of the cause. Its caller has got them.
void apply(StepContext& step, const Compensate& compensate) {
  Instance& instance = step.instance;
  if (instance.compensations == 0) return;
  Json detail = start_detail(instance, instance.status);
  detail["by"] = "operator";
  if (compensate.passes_over) detail["past"] = instance.compensations;
  step.record(HistoryKind::kCompensating, std::move(detail));
  begin(step, {.status = instance.status, .state = instance.state});
  instance.ended_at.reset();
  instance.compensation_error.reset();
  instance.caller.reset();
  instance.depth = 0;
  instance.hops = 0;
  if (compensate.passes_over) remove_compensation(instance);
  enter_newest(step);
  if (compensate.paused && instance.compensating) apply(step, Pause{});
  proceed(step);
}

}  // namespace millrace
