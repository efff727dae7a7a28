#include "orchestrator/engine/timeouts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/engine/compensation.h"
#include "orchestrator/engine/control.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/step_context.h"

namespace millrace {
namespace {

/// For how many timeouts a look at the calls counts at least: it may only move deadlines.
constexpr size_t kLeastTimeouts = 25;

Error timed_out(std::string_view which, TimePoint deadline) {
  return {"direktiv.cancels.timeout", fmt::format("the workflow's `timeouts.{}` ran out at {}",
                                                  which, format_rfc3339(deadline))};
}

/// The earliest passed timeout of the state or of the instance, if there is one. At equal deadlines
/// the execution timer comes first.
std::optional<Timer> first_overdue(const Instance& instance, TimePoint now) {
  std::optional<Timer> first;
  const auto rank = [](const Timer& timer) {
    return std::pair(timer.deadline, timer.kind != TimerKind::kExecution);
  };
  for (const Timer& timer : instance.timers) {
    const bool is_timeout = timer.kind == TimerKind::kStateTimeout || !is_of_state(timer.kind);
    if (!is_timeout || timer.deadline > now) continue;
    if (!first || rank(timer) < rank(*first)) first = timer;
  }
  return first;
}

/// The earliest passed deadline of the calls, if there is one.
std::optional<TimePoint> first_overdue_call(const StepContext& step) {
  const Instance& instance = step.instance;
  std::optional<TimePoint> first;
  if (instance.paused) return first;
  const auto timer_of = [&](TimerKind kind) {
    return std::find_if(instance.timers.begin(), instance.timers.end(),
                        [kind](const Timer& one) { return one.kind == kind; });
  };
  // The timer of the calls is not later than any of their deadlines. If there is none, no deadline
  // counts; so the result of one of ten thousand calls does not look at all others.
  const auto timer = timer_of(TimerKind::kCalls);
  if (timer != instance.timers.end()) {
    if (timer->deadline > step.now) return first;
  } else if (!step.fired_calls && timer_of(TimerKind::kRetry) == instance.timers.end()) {
    return first;  // store format 4 used the timer kRetry for calls, too
  }
  for (const Call& call : instance.calls) {
    for (const auto& deadline : call.deadlines) {
      if (deadline && *deadline <= step.now) first = std::min(first.value_or(*deadline), *deadline);
    }
  }
  return first;
}

/// Ends the instance after one of its timeouts has passed.
void run_out(StepContext& step, const Error& error, InstanceStatus status) {
  if (step.instance.cancelling) status = InstanceStatus::kCancelled;
  step.record_error(HistoryKind::kRaised, error);
  note_failure(step);
  fail(step, error, status, Retries::kNo);
}

/// In Zart's vocabulary an execution fails at its deadline, and `on_failure` can clean up. In
/// Temporal's vocabulary the execution ends as timed out, without `on_failure`.
void execution_ran_out(StepContext& step, const Error& error) {
  Instance& instance = step.instance;
  const WorkflowTimeouts& timeouts = step.workflow.timeouts;
  if (!timeouts.fails || instance.cancelling) {
    return run_out(step, error, InstanceStatus::kTimedOut);
  }
  if (!timeouts.on_failure || instance.failing) {
    instance.failing = true;
    return run_out(step, error, InstanceStatus::kFailed);
  }
  step.record_error(HistoryKind::kRaised, error);
  note_failure(step);
  if (!instance.error) instance.error = error;
  go_through_on_failure(step, error);
}

/// Fires passed timeouts in order, then starts due attempts. As in Zart, an attempt that becomes
/// due after a deadline has passed is not started.
void fire_calls(StepContext& step) {
  while (waits_for_calls(step.instance) && !step.has_enough_timeouts() && fire_overdue(step)) {
  }
  if (!waits_for_calls(step.instance)) return;
  // The task that the timer was for may have ended, and the others have later deadlines.
  if (step.instance.cancelling) return step.visit().arm_calls();
  if (step.has_enough_timeouts()) return;
  const LazyJson found = step.instance.data.without_tree();
  Visit visit = step.visit();
  apply_outcome(step, visit, step.state().attempts_due(visit));
  keep_found(step.instance, visit, found);
}

/// Starts the next attempt of the state.
void enter_again(StepContext& step) {
  ++step.instance.attempt;
  ++step.instance.step;
  begin_state(step.instance, step.state().common(), step.now);
}

void fire(StepContext& step, const Timer& timer) {
  const Instance& instance = step.instance;
  // The history gets a record of each entry into a state, even if the instance leaves the state
  // while it evaluates.
  const bool is_entering =
      instance.phase == Phase::kEntering && !makes_calls(instance) && !takes_early_events(instance);
  if (instance.parked && is_entering) step.record(HistoryKind::kEntered);
  note_left(step);
  switch (timer.kind) {
    case TimerKind::kStateTimeout:
      return raise(step, {"direktiv.stateTimeout",
                          fmt::format("state \"{}\" timed out at {}", step.state().common().id,
                                      format_rfc3339(timer.deadline))});
    case TimerKind::kDelay: {
      step.record(HistoryKind::kElapsed);
      Visit visit = step.visit();
      return apply_outcome(step, visit, step.state().elapsed(visit));
    }
    case TimerKind::kRetry:
      if (instance.awaits_run) return begin_next_run(step);
      if (instance.calls.empty()) return enter_again(step);
      [[fallthrough]];  // store format 4 used this timer kind for calls, too
    case TimerKind::kCalls:
      return fire_calls(step);
    case TimerKind::kInterrupt:
      return raise(step, timed_out("interrupt", timer.deadline), Retries::kNo);
    case TimerKind::kKill:
      return run_out(step, timed_out("kill", timer.deadline), InstanceStatus::kTimedOut);
    case TimerKind::kRun:
      return run_out(step,
                     {"millrace.timeout.run",
                      fmt::format("the run timed out at {}", format_rfc3339(timer.deadline))},
                     InstanceStatus::kTimedOut);
    case TimerKind::kExecution:
      return execution_ran_out(
          step, {"millrace.timeout.execution",
                 fmt::format("the execution's deadline was {}", format_rfc3339(timer.deadline))});
    case TimerKind::kQueue:
      return give_up_slot(step, timer.deadline);
    case TimerKind::kThrottle:
      return give_up_throttle(step, timer.deadline);
  }
}

}  // namespace

void arm(Instance& instance, const Timer& timer) {
  const bool is_held = instance.paused && waits_for_resume(timer.kind);
  (is_held ? instance.held_timers : instance.timers).push_back(timer);
}

void arm(Instance& instance, TimerKind kind, const std::optional<Span>& span, TimePoint now) {
  if (span) arm(instance, {kind, span->after(now)});
}

bool waits_for_resume(TimerKind kind) {
  return is_of_state(kind) || kind == TimerKind::kInterrupt || kind == TimerKind::kQueue ||
         kind == TimerKind::kThrottle;
}

void apply(StepContext& step, const Fired& fired) {
  auto& timers = step.instance.timers;
  Timer timer{fired.kind, fired.deadline};
  if (std::find(timers.begin(), timers.end(), timer) == timers.end()) return;
  const auto execution = std::find_if(timers.begin(), timers.end(), [&](const Timer& one) {
    return one.kind == TimerKind::kExecution && one.deadline <= fired.deadline;
  });
  if (execution != timers.end()) {
    timer = *execution;  // at equal deadlines the execution's timer is first
  } else if (fired.kind == TimerKind::kRetry) {
    // No attempt starts after a deadline has passed.
    timer = first_overdue(step.instance, step.now).value_or(timer);
  }
  timers.erase(std::find(timers.begin(), timers.end(), timer));
  step.fired_calls = timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry;
  fire(step, timer);
  proceed(step);
}

void apply(StepContext& step, const Overdue&) {
  while (waits_for_calls(step.instance) && fire_overdue(step)) {
  }
  if (step.result.changed) proceed(step);
}

bool fire_overdue(StepContext& step) {
  Instance& instance = step.instance;
  const std::optional<Timer> timer = first_overdue(instance, step.now);
  const std::optional<TimePoint> call = first_overdue_call(step);
  if (!timer && !call) return false;
  step.result.changed = true;
  step.result.only_call.reset();
  if (timer && (!call || timer->deadline <= *call)) {
    std::erase(instance.timers, *timer);
    fire(step, *timer);
  } else if (instance.cancelling) {
    stop_overdue_tasks(step);
  } else {
    const size_t before = step.result.history.size();
    Visit visit = step.visit();
    apply_outcome(step, visit, step.state().overdue(visit, *call));
    step.call_timeouts += std::max(step.result.history.size() - before, kLeastTimeouts);
  }
  return true;
}

bool still_waits_for(StepContext& step, const Caller& call) {
  while (waits_for(step.instance, call) && fire_overdue(step)) {
  }
  if (waits_for(step.instance, call)) return true;
  if (step.result.changed) proceed(step);
  return false;
}

}  // namespace millrace
