#include "orchestrator/engine/control.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/excerpt.h"
#include "orchestrator/engine/compensation.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/engine/state_entry.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/timeouts.h"

namespace millrace {
namespace {

bool is_running_task(const Call& call) {
  return call.status == Call::Status::kRunning && call.outside;
}

bool has_tasks(const Instance& instance) {
  return std::any_of(instance.calls.begin(), instance.calls.end(), is_running_task);
}

/// The services of the calls of the state whose calls are held.
ServiceNames held_services(const StepContext& step) {
  ServiceNames held;
  const NamespaceNumber ns = step.instance.ns;
  for (const std::string& name : step.state().services()) {
    const bool is_held = step.lookup.is_held(ns, {.name = name}) ||
                         step.lookup.is_held(ns, {.name = name, .global = true});
    if (is_held) held.insert(name);
  }
  return held;
}

/// Cancels an instance as Zart does: the running tasks of the instance may finish, and no other
/// task is started. The timeouts that the pause of a service holds begin again, and from now on no
/// pause of a service holds them.
void let_tasks_finish(StepContext& step) {
  Instance& instance = step.instance;
  instance.cancelling = true;
  if (makes_calls(instance)) {  // the instance makes no further calls
    instance.phase = Phase::kWaiting;
    instance.parked = false;
    ++instance.step;
  }
  instance.paused = false;
  instance.status = InstanceStatus::kWaiting;
  instance.held_timers.clear();
  std::erase_if(instance.timers, [](const Timer& timer) { return waits_for_resume(timer.kind); });
  for (Call& call : instance.calls) {
    if (is_running_task(call)) continue;
    if (call.status == Call::Status::kRunning) {
      step.result.effects.push_back(stopping(instance, call, false));
    }
    if (call.status != Call::Status::kDone) call.status = Call::Status::kFailed;
    call.retry_at.reset();
    call.deadlines = {};
  }
  Visit visit = step.visit();
  const ServiceNames held = held_services(step);
  step.state().services_resumed(visit, &held);
  visit.arm_calls();
  step.result.changed = true;
}

/// The task of the call has ended, with that error if it has failed; after the last task the
/// instance ends.
void end_task(StepContext& step, size_t index, const std::optional<Error>& error) {
  Call& call = step.instance.calls[index];
  if (error) {
    call.last_error = {.error = {error->code, shorten(error->message, kMostCallFailureBytes)},
                       .at = step.now};
  }
  call.status = Call::Status::kFailed;
  call.deadlines = {};
  step.result.changed = true;
  if (has_tasks(step.instance)) return;
  end(step, InstanceStatus::kCancelled);
  proceed(step);  // it may make its compensations first
}

/// Ends the instance without its compensations, which would write more. They stay noted.
void end_without_room(StepContext& step, const Error& error) {
  if (!step.instance.error) step.instance.error = error;
  finish(step, InstanceStatus::kFailed);
}

void go_on_revived(StepContext& step, bool paused) {
  if (paused) apply(step, Pause{});
  proceed(step);
}

}  // namespace

void apply(StepContext& step, const Cancel& cancel) {
  Instance& instance = step.instance;
  if (instance.compensating) return cancel_compensating(step, cancel);
  if (instance.cancelling && !cancel.at_once) return;
  note_left(step);
  step.record_error(HistoryKind::kCancelled, cancel.error);
  if (!instance.error) instance.error = cancel.error;
  instance.paused = false;  // nothing that follows waits for a resume
  step.cancels_at_once = cancel.at_once;
  if (!cancel.compensates) return finish(step, InstanceStatus::kCancelled);
  if (!cancel.at_once && has_tasks(instance)) return let_tasks_finish(step);
  end(step, InstanceStatus::kCancelled);
  proceed(step);  // it may make its compensations first
}

void apply(StepContext& step, const Pause&) {
  Instance& instance = step.instance;
  if (instance.paused || instance.cancelling) return;
  step.record(HistoryKind::kPaused);
  instance.paused = true;
  instance.status = InstanceStatus::kPaused;
  const auto holds = [](const Timer& timer) { return waits_for_resume(timer.kind); };
  std::copy_if(instance.timers.begin(), instance.timers.end(),
               std::back_inserter(instance.held_timers), holds);
  std::erase_if(instance.timers, holds);
  step.result.changed = true;
}

/// The timeouts of the state and its calls restart, and so does the timeout of a start that waits
/// for a slot or the throttle. A delay, and the wait for another attempt, end
/// at the time that was set before the pause, and so does a wait with `until`.
void apply(StepContext& step, const Resume&) {
  Instance& instance = step.instance;
  if (!instance.paused) return;
  step.record(HistoryKind::kResumed);
  instance.paused = false;
  instance.parked = false;
  for (const Timer& timer : std::exchange(instance.held_timers, {})) {
    if (timer.kind == TimerKind::kStateTimeout) {
      arm_timeout_again(step, timer);
    } else if (timer.kind == TimerKind::kQueue) {
      arm_queue(instance, step.workflow, step.now);
    } else if (timer.kind == TimerKind::kThrottle) {
      arm_throttle(instance, step.workflow, step.now);
    } else if (timer.kind != TimerKind::kCalls) {
      instance.timers.push_back(timer);
    }
  }
  step.result.changed = true;
  if (instance.phase == Phase::kWaiting) {
    instance.status = status_of_wait(instance);
    if (instance.calls.empty()) return;
  }
  if (waits_for_calls(instance)) {
    Visit visit = step.visit();
    apply_outcome(step, visit, step.state().resumed(visit));
    step.makes_more = true;
  }
  proceed(step);
}

void apply(StepContext& step, const ServicesResumed& resumed) {
  const Instance& instance = step.instance;
  if (!waits_for_calls(instance) || instance.cancelling) return;
  Visit visit = step.visit();
  if (step.state().services_resumed(visit, resumed.names)) step.result.changed = true;
}

void apply(StepContext& step, const Retry& retry) {
  Instance& instance = step.instance;
  const StateIndex at = failed_state_of(step.workflow, instance);
  const auto& data = instance.failed_data ? instance.failed_data : retry.data;
  if (data) instance.data = *data;
  if (retry.extend) instance.execution_from = step.now;
  revive(step, "retry", at);
  instance.retried = true;
  go_on_revived(step, retry.paused);
}

void apply(StepContext& step, const Restart& restart) {
  Instance& instance = step.instance;
  instance.data = instance.input;
  instance.execution_from = step.now;
  ++instance.run;
  remove_compensations(instance);
  revive(step, "restart", step.workflow.start.state);
  go_on_revived(step, restart.paused);
}

void apply(StepContext& step, const Rerun& rerun) {
  Instance& instance = step.instance;
  instance.data = rerun.data;
  instance.execution_from = step.now;
  ++instance.run;
  revive(step, "rerun", rerun.state);
  go_on_revived(step, rerun.paused);
}

void apply(StepContext& step, const Abandon& abandon) {
  Instance& instance = step.instance;
  if (instance.compensating) return fail_compensating(step, abandon.error);
  step.record_error(HistoryKind::kRaised, abandon.error);
  // The row of the found data is erased at the end, so the failed data may have as many bytes.
  const bool has_room = !abandon.writes_little || instance.found_data || instance.failed_data;
  note_failure(step);
  if (!has_room) instance.failed_data.reset();
  // So that no other run starts, and the instance does not enter `on_failure`.
  instance.failing = true;
  if (abandon.writes_little) return end_without_room(step, abandon.error);
  fail(step, abandon.error);
  // A later step begins with the compensations: they may be what the process dies of.
  step.result.unfinished = instance.phase != Phase::kEnded;
}

void finish_task(StepContext& step, const Returned& returned) {
  const size_t index = returned.call.index;
  const Call& call = step.instance.calls[index];
  Json detail{{"task", to_string(call.id)}, {"index", index}, {"attempt", call.attempt}};
  if (!returned.result) {
    detail["code"] = returned.result.error().code;
    detail["msg"] = returned.result.error().message;
  }
  if (returned.by != AnsweredBy::kRunner) detail["by"] = to_string(returned.by);
  step.record(HistoryKind::kReturned, std::move(detail));
  if (returned.result) note_finished(step, *returned.result);
  end_task(step, index, returned.result ? std::nullopt : std::optional(returned.result.error()));
}

void stop_task(StepContext& step, size_t index, TimeoutKind kind) {
  const Call& call = step.instance.calls[index];
  step.result.effects.push_back(stopping(step.instance, call));
  step.record(HistoryKind::kTimedOut,
              Json{{"index", index}, {"attempt", call.attempt}, {"code", error_code(kind)}});
  end_task(step, index,
           Error{std::string(error_code(kind)), "the timeout passed after the cancel"});
}

void stop_overdue_tasks(StepContext& step) {
  Instance& instance = step.instance;
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const auto& deadlines = instance.calls[i].deadlines;
    const auto over = std::find_if(deadlines.begin(), deadlines.end(), [&](const auto& deadline) {
      return deadline && *deadline <= step.now;
    });
    if (over == deadlines.end()) continue;
    stop_task(step, i, static_cast<TimeoutKind>(over - deadlines.begin()));
    if (!instance.cancelling || instance.phase == Phase::kEnded) return;
  }
  step.visit().arm_calls();
}

}  // namespace millrace
