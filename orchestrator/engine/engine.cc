#include "orchestrator/engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "language/own_policy.h"
#include "model/hops.h"
#include "orchestrator/engine/compensation.h"
#include "orchestrator/engine/control.h"
#include "orchestrator/engine/early_events.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/state_entry.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/timeouts.h"
#include "states/compensation.h"

namespace millrace {
namespace {

/// Whether the state waits for calls, the first of which was handed out at least kLongWait ago. A
/// call that an early release stored may not have that time.
bool waited_long_for_calls(const Instance& instance, TimePoint now) {
  return std::any_of(instance.calls.begin(), instance.calls.end(), [&](const Call& call) {
    return call.first_at && now - *call.first_at >= kLongWait;
  });
}

// Stimuli other than timers (timeouts.h) and operations of an operator (control.h).

void apply(StepContext& step, const Proceed&) {
  const Instance& instance = step.instance;
  if (instance.phase == Phase::kWaiting || instance.paused || waits_to_start(instance)) return;
  const bool removes = instance.phase == Phase::kLeaving && !instance.calls.empty();
  const uint64_t entered = instance.entered;
  step.makes_more = true;
  proceed(step);
  // The instance is still in the state that it leaves, so nothing else has happened.
  const bool is_there = instance.entered == entered;
  step.result.only_removes_calls = removes && is_there && step.result.unfinished;
}

void apply(StepContext& step, const EvaluationDone& resumed) {
  const Instance& instance = step.instance;
  const bool awaits = instance.parked || takes_early_events(instance);
  if (!awaits || instance.paused || evaluation_of(instance) != resumed.step) return;
  step.makes_more = true;
  step.early = resumed.early;
  step.asked_at = resumed.asked_at;
  const uint64_t entered = instance.entered;
  proceed(step, resumed.results);
  if (resumed.early != nullptr && *resumed.early) offer_early(step, **resumed.early, entered);
}

void apply(StepContext& step, const Matched& matched) {
  Instance& instance = step.instance;
  if (instance.phase != Phase::kWaiting) return;
  instance.listen_from = matched.position;
  if (step.workflow.looks_back) instance.consumed.add(matched.position.event, matched.known_as);
  take_event(step, *matched.event, matched.entries);
}

void apply(StepContext& step, const Returned& returned) {
  if (!still_waits_for(step, returned.call)) return;
  Instance& instance = step.instance;
  instance.sealed |= returned.sealed;
  if (instance.cancelling) return finish_task(step, returned);
  const LazyJson found = instance.data.without_tree();
  const bool is_first_change = !step.result.changed;
  Visit visit = step.visit();
  const Outcome outcome =
      step.state().returned(visit, returned.call.index,
                            {.result = returned.result,
                             .retry_from = step.now + returned.retry_after.value_or(Duration(0)),
                             .by = returned.by});
  if (returned.result) note_call(step, visit, *returned.result);
  apply_outcome(step, visit, outcome);
  if (is_first_change) step.result.only_call = visit.only_call();
  keep_found(instance, visit, found);
  proceed(step);
}

void apply(StepContext& step, const CallStarted& started) {
  // A worker that has the task took it in time, even if the report of the start comes late: before
  // a schedule-to-start deadline counts, millrace asks the runner.
  if (waits_for(step.instance, started.call)) {
    auto& deadlines = step.instance.calls[started.call.index].deadlines;
    deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)].reset();
  }
  if (!still_waits_for(step, started.call)) return;
  Visit visit = step.visit();
  if (step.state().started(visit, started.call.index)) step.result.changed = true;
}

void apply(StepContext& step, const Progressed& progressed) {
  if (!waits_for(step.instance, progressed.call)) return;
  step.instance.sealed |= progressed.sealed;
  step.instance.calls[progressed.call.index].progress = {.json = progressed.json, .at = step.now};
  if (!step.result.changed) step.result.only_call = progressed.call.index;
  step.result.changed = true;
}

void apply(StepContext& step, const HeartbeatMissed& missed) {
  if (step.instance.paused || !still_waits_for(step, missed.call)) return;
  if (step.instance.cancelling) return stop_task(step, missed.call.index, TimeoutKind::kHeartbeat);
  Visit visit = step.visit();
  apply_outcome(step, visit, step.state().heartbeat_missed(visit, missed.call.index));
  proceed(step);
}

void apply(StepContext& step, const Printed& printed) {
  if (!waits_for(step.instance, printed.call)) return;
  step.instance.sealed |= printed.sealed;
  step.record(HistoryKind::kOutput, Json{{"index", printed.call.index}, {"text", printed.text}});
  step.result.changed = true;
}

// Running through a state.

void enter(StepContext& step, Visit& visit) {
  Instance& instance = step.instance;
  const LazyJson data = instance.data.without_tree();
  step.makes_more = true;
  if (instance.compensating) return make_newest(step, visit);
  if (makes_calls(instance)) {
    apply_outcome(step, visit, step.state().make_calls(visit));
    return keep_found(instance, visit, data);
  }
  if (takes_early_events(instance)) return apply_outcome(step, visit, enter_further(step, visit));
  if (exceeds_compensations(step)) return;
  const bool had_error = instance.error.has_value();
  const Outcome outcome = log_and_enter(step, visit);
  if (!std::holds_alternative<Park>(outcome)) {
    step.record(HistoryKind::kEntered);
    const bool waits =
        std::holds_alternative<Wait>(outcome) || std::holds_alternative<MakeMore>(outcome);
    if (waits || visit.has_effects()) {
      step.result.history.back().data = data;
      step.result.bytes += data.known_size();
    }
  }
  if (instance.error && !had_error) note_failure(step, data);
  apply_outcome(step, visit, outcome);
  keep_found(instance, visit, data);
}

/// The timeout of the evaluations of one state; nullopt: the default of millrace.
std::optional<Duration> task_timeout(const StepContext& step) {
  const OwnPolicy own = read_own_policy(step.instance.own_policy);
  const auto& span = own.task ? own.task : step.workflow.timeouts.task;
  if (!span) return std::nullopt;
  return span->after(step.now) - step.now;
}

/// The size of what the effect writes, without the fields that are always short.
size_t size_of(const Effect& effect) {
  if (const auto* const set = std::get_if<SetVariable>(&effect)) {
    return set->value ? set->value->bytes.size() : 0;
  }
  if (const auto* const published = std::get_if<Publish>(&effect)) {
    return published->event.data ? published->event.data->size() : 0;
  }
  if (const auto* const task = std::get_if<StartTask>(&effect)) return task->input.known_size();
  if (const auto* const child = std::get_if<StartChild>(&effect)) return child->input.known_size();
  return 0;
}

/// Whether the instance keeps its calls when it leaves their state, until further steps remove
/// them: to erase the rows of all of them is too much for one step. No subflow and no task of them
/// runs.
bool removes_calls_later(const StepContext& step) {
  const auto& calls = step.instance.calls;
  return calls.size() > step.limits.calls_per_step.removed &&
         std::all_of(calls.begin(), calls.end(), [](const Call& call) { return has_ended(call); });
}

/// Removes calls of the state that the instance leaves, the last ones first, as many as one step
/// removes.
void remove_some_calls(StepContext& step) {
  auto& calls = step.instance.calls;
  const size_t removed = std::min(calls.size(), step.limits.calls_per_step.removed);
  calls.erase(calls.end() - static_cast<std::ptrdiff_t>(removed), calls.end());
  step.result.unfinished = !calls.empty();
}

/// Removes everything that the current state waits for, except its calls. If the wait for them was
/// long, the count of transitions begins again.
void end_waits(StepContext& step) {
  Instance& instance = step.instance;
  if (waited_long_for_calls(instance, step.now)) count_again(instance);
  instance.parked = false;
  instance.listeners.clear();
  const auto is_states = [](const Timer& timer) { return is_of_state(timer.kind); };
  std::erase_if(instance.timers, is_states);
  std::erase_if(instance.held_timers, is_states);
  instance.slots.clear();
  instance.state_timeout.reset();
  // A state with calls has no attempts of its own: the instance shows the highest attempt of its
  // calls.
  for (const Call& call : instance.calls) {
    instance.attempt = std::max(instance.attempt, call.attempt);
  }
}

/// `transitions`: the transitions to count for the limit of the step.
bool has_reached_bound(const StepContext& step, uint32_t transitions) {
  if (transitions >= step.limits.transitions_per_step) return true;
  const size_t bytes = step.result.bytes;
  if (bytes >= step.limits.bytes_per_step) return true;
  // A step makes at least one transition, so that every instance goes on.
  return transitions > 0 && step.limits.budget != nullptr && step.limits.budget->is_spent(bytes);
}

/// Returns the result to the caller of the instance; does nothing if the instance has no caller.
void return_result(StepContext& step) {
  const Instance& instance = step.instance;
  if (!instance.caller) return;
  ReturnResult returned{.ns = instance.ns,
                        .to = *instance.caller,
                        .result = instance.data,
                        .sealed = instance.sealed};
  if (instance.error) returned.result = tl::unexpected(*instance.error);
  step.result.effects.emplace_back(std::move(returned));
}

}  // namespace

const State& StepContext::state() const { return *state_of(workflow, instance); }

Visit StepContext::visit(std::span<const EvaluationResult> results) {
  return Visit(instance, now, results, lookup, result.effects, limits.calls_per_step, early,
               &workflow, std::exchange(asked_at, std::nullopt));
}

void StepContext::record(HistoryKind kind, LazyJson detail) {
  result.history.push_back(
      {.time = now, .kind = kind, .state = state().common().id, .detail = std::move(detail)});
  if (kind == HistoryKind::kEntered) result.history.back().event = instance.listen_from.event;
}

void StepContext::record_error(HistoryKind kind, const Error& error) {
  record(kind, LazyJson::object({{"code", error.code}, {"msg", error.message}}));
}

void count_again(Instance& instance) {
  instance.transitions = std::min(instance.transitions, uint32_t{1});
}

void proceed(StepContext& step, std::span<const EvaluationResult> results) {
  Instance& instance = step.instance;
  step.result.changed = true;
  if (instance.paused && instance.phase != Phase::kEnded) {
    instance.status = InstanceStatus::kPaused;
    return;
  }
  if (waits_to_start(instance) && instance.phase != Phase::kEnded) {
    instance.status = InstanceStatus::kPending;
    return;
  }
  // A later step, or the result of the evaluation, makes the calls that are left.
  if (makes_calls(instance) && !step.makes_more) return;
  const uint32_t begin = step.transitions;
  do {
    if (instance.phase != Phase::kEntering && instance.phase != Phase::kLeaving) {
      // An event that came in time may have brought the instance into this state after a deadline
      // of the instance has passed: then the deadline fires before a call is handed out. While the
      // instance listens for events, the deadline does not fire here, because another event may
      // still come that the broker stamped before the deadline.
      const bool rests = instance.phase == Phase::kWaiting && instance.listeners.empty();
      if (!rests || step.has_enough_timeouts() || !fire_overdue(step)) return;
      continue;
    }
    if (has_reached_bound(step, step.transitions - begin)) {
      step.result.unfinished = true;
      return;
    }
    instance.parked = false;
    instance.status = InstanceStatus::kRunning;
    if (instance.phase == Phase::kLeaving && !instance.calls.empty()) {
      remove_some_calls(step);
      continue;
    }
    Visit visit = step.visit(results);
    if (instance.phase == Phase::kEntering) {
      enter(step, visit);
    } else {
      leave(step, visit);
    }
    results = {};  // the results are for the first visit in this loop only
    step.early = nullptr;
  } while (!instance.parked && !step.result.unfinished && !step.result.next_run);
}

void apply_outcome(StepContext& step, Visit& visit, const Outcome& outcome) {
  Instance& instance = step.instance;
  // A visit that waits for an evaluation is repeated from its beginning, and makes its records
  // again.
  if (std::holds_alternative<Park>(outcome)) visit.take_history();
  take_notes(step, visit);
  if (const auto* out = std::get_if<Leave>(&outcome)) {
    if (removes_calls_later(step)) {
      end_waits(step);
    } else {
      clear_waits(step);
    }
    instance.phase = Phase::kLeaving;
    instance.exit = out->exit;
    ++instance.step;
  } else if (const auto* raised = std::get_if<Raise>(&outcome)) {
    raise(step, raised->error);
  } else if (const auto* given_up = std::get_if<GiveUp>(&outcome)) {
    if (instance.compensating) return fail_compensating(step, given_up->error);
    step.record_error(HistoryKind::kCancelled, given_up->error);
    note_failure(step);
    if (!instance.error) instance.error = given_up->error;
    end(step, InstanceStatus::kCancelled);
  } else if (std::holds_alternative<Park>(outcome)) {
    instance.parked = true;
  } else if (std::holds_alternative<MakeMore>(outcome)) {
    step.result.unfinished = true;
  } else if (!makes_calls(instance) || step.makes_more) {
    const bool begins = instance.phase != Phase::kWaiting;
    instance.phase = Phase::kWaiting;
    instance.status = status_of_wait(instance);
    if (!begins) return;
    ++instance.step;
    begin_wait(step);
  }
}

void take_event(StepContext& step, const Event& event, std::span<const size_t> entries) {
  Instance& instance = step.instance;
  instance.hops = hops_of(event);
  // The instance cannot wake itself for ever: a chain of generated events ends at kMaxHops.
  count_again(instance);
  step.record(HistoryKind::kWoken,
              LazyJson::object({{"type", event.type}, {"source", event.source}, {"id", event.id}}));
  const LazyJson found = instance.data.without_tree();
  Visit visit = step.visit();
  apply_outcome(step, visit, step.state().take(visit, event, entries));
  keep_found(instance, visit, found);
  proceed(step);
}

void take_notes(StepContext& step, Visit& visit) {
  const std::string& state = step.state().common().id;
  for (Effect& effect : visit.take_effects()) {
    if (auto* const task = std::get_if<StartTask>(&effect)) task->state = state;
    if (auto* const asked = std::get_if<Evaluate>(&effect)) {
      asked->evaluation.timeout = task_timeout(step);
    }
    step.result.bytes += size_of(effect);
    step.result.effects.push_back(std::move(effect));
  }
  for (HistoryRecord& record : visit.take_history()) {
    record.state = state;
    step.result.bytes += record.detail.known_size();
    step.result.history.push_back(std::move(record));
  }
}

void keep_found(Instance& instance, const Visit& visit, const LazyJson& data) {
  if (visit.has_changed_data() && instance.phase == Phase::kLeaving) instance.found_data = data;
}

void go_to(StepContext& step, std::optional<StateIndex> next) {
  Instance& instance = step.instance;
  if (!next) {
    return end(step, instance.error ? InstanceStatus::kFailed : InstanceStatus::kComplete);
  }
  ++step.transitions;
  if (++instance.transitions > step.limits.transitions_per_instance) {
    return exceed_transitions(step, *next);
  }
  instance.state = *next;
  instance.retried = false;
  instance.attempt = 1;
  instance.found_data.reset();
  instance.state_from = step.now;
  ++instance.step;
  begin_state(instance, step.state().common(), step.now);
}

void begin_state(Instance& instance, const StateCommon& common, TimePoint now) {
  instance.phase = Phase::kEntering;
  instance.entered = instance.step;
  if (common.timeout) arm(instance, TimerKind::kStateTimeout, common.timeout, now);
}

void begin_wait(StepContext& step) {
  Instance& instance = step.instance;
  if (!instance.calls.empty()) return;
  const auto ends_soon = [&](const Timer& timer) { return timer.deadline - step.now < kLongWait; };
  const bool is_short =
      std::any_of(instance.timers.begin(), instance.timers.end(), ends_soon) ||
      std::any_of(instance.held_timers.begin(), instance.held_timers.end(), ends_soon);
  if (is_short) return;
  count_again(instance);
  if (instance.listeners.empty()) instance.hops = 0;
}

void wait_for_attempt(StepContext& step, TimePoint at) {
  Instance& instance = step.instance;
  arm(instance, {TimerKind::kRetry, at});
  instance.phase = Phase::kWaiting;
  instance.status = InstanceStatus::kWaiting;
  ++instance.step;
  begin_wait(step);
}

void fail(StepContext& step, const Error& error, InstanceStatus status, Retries retries) {
  if (!step.instance.error) step.instance.error = error;
  end(step, status, retries);
}

void end(StepContext& step, InstanceStatus status, Retries retries) {
  Instance& instance = step.instance;
  if (instance.compensating) return stop_compensating(step);
  if (status == InstanceStatus::kFailed) {
    if (retries == Retries::kYes && awaits_next_run(step)) return;
    if (step.workflow.timeouts.on_any_failure && !instance.failing) {
      return go_through_on_failure(step, *instance.error);
    }
  }
  if (!begin_compensating(step, status)) finish(step, status);
}

void finish(StepContext& step, InstanceStatus status) {
  Instance& instance = step.instance;
  if (status == InstanceStatus::kComplete) remove_compensations(instance);
  clear_waits(step);
  instance.timers.clear();
  instance.held_timers.clear();
  instance.paused = false;
  instance.awaits_run = false;
  instance.found_data.reset();
  instance.phase = Phase::kEnded;
  instance.status = status;
  instance.ended_at = step.now;
  ++instance.step;
  step.record(HistoryKind::kEnded, LazyJson::object({{"status", to_string(status)}}));
  step.result.changed = true;
  return_result(step);
}

void clear_waits(StepContext& step) {
  end_waits(step);
  Instance& instance = step.instance;
  for (const Call& call : instance.calls) {
    if (call.status != Call::Status::kRunning) continue;
    step.result.effects.push_back(stopping(instance, call, step.cancels_at_once));
  }
  instance.calls.clear();
}

StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits) {
  StepContext context{
      .workflow = workflow, .instance = instance, .now = now, .lookup = lookup, .limits = limits};
  if (revives(stimulus) == (instance.phase == Phase::kEnded)) {
    std::visit([&](const auto& one) { apply(context, one); }, stimulus);
  }
  return std::move(context.result);
}

}  // namespace millrace
