#include "orchestrator/engine/runs.h"

#include <algorithm>
#include <utility>

#include "language/own_policy.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/timeouts.h"
#include "states/retrying.h"

namespace millrace {
namespace {

/// Arms the timeouts of one run.
void arm_run(Instance& instance, const Workflow& workflow, TimePoint now) {
  arm(instance, TimerKind::kInterrupt, workflow.timeouts.interrupt, now);
  arm(instance, TimerKind::kKill, workflow.timeouts.kill, now);
  const OwnPolicy own = read_own_policy(instance.own_policy);
  arm(instance, TimerKind::kRun, own.run ? own.run : workflow.timeouts.run, now);
}

void arm_execution(Instance& instance, const Workflow& workflow) {
  const auto deadline = execution_deadline(workflow, instance);
  if (deadline) instance.timers.push_back({TimerKind::kExecution, *deadline});
}

/// Removes all timers except timers of the kind `kind`.
void keep_timers(Instance& instance, TimerKind kind) {
  const auto ends = [&](const Timer& timer) { return timer.kind != kind; };
  std::erase_if(instance.timers, ends);
  std::erase_if(instance.held_timers, ends);
}

}  // namespace

LazyJson as_input(LazyJson value) {
  LazyJson input = value.is_object() ? std::move(value) : LazyJson::of_members({{"input", value}});
  input.text();  // make the text now, so that the data shares it
  return input;
}

Instance make_instance(InstanceId id, NamespaceNumber ns, Revision revision,
                       const Workflow& workflow, LazyJson input, TimePoint now,
                       const ListenFrom& position, const Origin& origin) {
  Instance instance{.id = id, .ns = ns, .revision = revision};
  instance.state = workflow.start.state;
  instance.started_at = now;
  instance.runs_from = now;
  instance.state_from = now;
  instance.execution_from = origin.execution_from.value_or(now);
  instance.own_policy = origin.own_policy;
  instance.listen_from = position;
  instance.input = as_input(std::move(input));
  instance.data = instance.input;
  arm_run(instance, workflow, now);
  arm_execution(instance, workflow);
  begin_state(instance, workflow.states[instance.state]->common(), now);
  return instance;
}

void begin_first_run(Instance& instance, const Workflow& workflow, TimePoint now) {
  // A schedule may have set the time from which the execution counts.
  if (instance.execution_from == instance.started_at) instance.execution_from = now;
  instance.runs_from = now;
  instance.state_from = now;
  arm_run(instance, workflow, now);
  arm_execution(instance, workflow);
  begin_state(instance, workflow.states[instance.state]->common(), now);
}

StateIndex failed_state_of(const Workflow& workflow, const Instance& instance) {
  const auto& states = workflow.states;
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
    return state->common().id == instance.failed_state;
  });
  // Earlier releases did not record the failed state if an error state had set the error.
  if (found == states.end()) return instance.state;
  return static_cast<StateIndex>(found - states.begin());
}

std::optional<TimePoint> execution_deadline(const Workflow& workflow, const Instance& instance) {
  const OwnPolicy own = read_own_policy(instance.own_policy);
  const auto& span = own.execution ? own.execution : workflow.timeouts.execution;
  if (!span) return std::nullopt;
  return span->after(instance.execution_from);
}

std::vector<Timer> timers_of_run(const Workflow& workflow, const Instance& instance,
                                 TimePoint began) {
  Instance fresh{.execution_from = instance.execution_from, .own_policy = instance.own_policy};
  arm_run(fresh, workflow, began);
  arm_execution(fresh, workflow);
  return std::move(fresh.timers);
}

void begin_run_at(StepContext& step, StateIndex at) {
  Instance& instance = step.instance;
  instance.state = at;
  instance.attempt = 1;
  instance.transitions = 0;
  instance.over_bytes = false;
  instance.compensates = false;
  instance.retried = false;
  forget_failure(instance);
  instance.found_data.reset();
  instance.state_from = step.now;
  ++instance.step;
  arm_run(instance, step.workflow, step.now);
  begin_state(instance, step.state().common(), step.now);
}

void begin_next_run(StepContext& step) {
  Instance& instance = step.instance;
  instance.awaits_run = false;
  ++instance.run;
  step.record(HistoryKind::kRun, Json{{"run", instance.run}});
  const Result<LazyJson> input = step.lookup.input(instance);
  if (!input) {
    const Error error{std::string(kDamagedStore), input.error().message};
    step.record_error(HistoryKind::kRaised, error);
    return fail(step, error, InstanceStatus::kFailed, Retries::kNo);
  }
  instance.data = *input;
  begin_run_at(step, step.workflow.start.state);
}

void apply(StepContext& step, const NextRun& next) {
  Instance& instance = step.instance;
  if (instance.phase != Phase::kLeaving) return;
  // The record has no state: the revision of the next run may not have the state that is left.
  step.result.history.push_back({.time = step.now,
                                 .kind = HistoryKind::kContinued,
                                 .detail = Json{{"run", instance.run},
                                                {"revision", next.ended_revision},
                                                {"nextRevision", instance.revision.number}}});
  instance.timers.clear();
  instance.held_timers.clear();
  remove_compensations(instance);  // the run that ends has completed
  instance.input = as_input(next.input);
  instance.data = instance.input;
  instance.exit = 0;
  instance.parked = false;
  instance.first_run = ++instance.run;
  instance.runs_from = step.now;
  if (!step.workflow.looks_back) instance.consumed = {};
  if (step.workflow.sealed) instance.sealed |= Sealing::kHidden;
  arm_execution(instance, step.workflow);
  begin_run_at(step, step.workflow.start.state);
  instance.status = InstanceStatus::kRunning;
  step.result.changed = true;
  step.result.unfinished = true;
}

void apply(StepContext& step, const NextRunRefused& refused) {
  if (step.instance.phase != Phase::kLeaving) return;
  step.has_noted = true;  // by the step that asked for the next run
  raise(step, refused.error);
  proceed(step);
}

bool awaits_next_run(StepContext& step) {
  Instance& instance = step.instance;
  if (instance.failing) return false;
  const OwnPolicy own = read_own_policy(instance.own_policy);
  const auto& policy = own.retries ? own.retries : step.workflow.retries;
  if (!policy) return false;
  AfterFailure next = after_failure(*policy, {.instance = instance.id,
                                              .state = instance.failed_state,
                                              .attempt = instance.run - instance.first_run + 1,
                                              .first_at = instance.runs_from,
                                              .now = step.now,
                                              .error = *instance.error,
                                              .data = instance.data});
  if (auto* const error = std::get_if<Error>(&next)) {
    if (*error != *instance.error) step.record_error(HistoryKind::kRaised, *error);
    instance.error = std::move(*error);
    return false;
  }
  const TimePoint at = std::get<TimePoint>(next);
  step.record(HistoryKind::kRetrying, Json{{"run", instance.run + 1}, {"at", format_rfc3339(at)}});
  clear_waits(step);
  keep_timers(instance, TimerKind::kExecution);
  instance.found_data.reset();
  instance.error.reset();
  instance.awaits_run = true;
  wait_for_attempt(step, at);
  return true;
}

void go_through_on_failure(StepContext& step, const Error& error) {
  Instance& instance = step.instance;
  instance.failing = true;
  clear_waits(step);
  keep_timers(instance, TimerKind::kKill);
  instance.awaits_run = false;
  instance.transitions = 0;
  put_error(instance, error);
  go_to(step, step.workflow.timeouts.on_failure);
}

void revive(StepContext& step, std::string_view how, StateIndex at) {
  Instance& instance = step.instance;
  step.record(HistoryKind::kRevived, LazyJson::object({{"how", how}}));
  instance.ended_at.reset();
  instance.error.reset();
  instance.failing = false;
  instance.compensation_error.reset();
  instance.cancelling = false;
  instance.awaits_run = false;
  instance.caller.reset();
  instance.depth = 0;
  instance.hops = 0;
  instance.first_run = instance.run;
  instance.runs_from = step.now;
  instance.status = InstanceStatus::kPending;
  arm_execution(instance, step.workflow);
  begin_run_at(step, at);
}

void note_failure(StepContext& step) {
  note_failure(step, step.instance.found_data.value_or(step.instance.data));
}

void note_failure(StepContext& step, const LazyJson& found) {
  Instance& instance = step.instance;
  const bool is_settled = instance.error || instance.awaits_run;
  if (is_settled && !instance.failed_state.empty()) return;
  instance.failed_state = step.state().common().id;
  instance.failed_data = found;
  instance.failed_attempt = instance.attempt;
  for (const Call& call : instance.calls) {
    instance.failed_attempt = std::max(instance.failed_attempt, call.attempt);
  }
}

void forget_failure(Instance& instance) {
  instance.failed_state.clear();
  instance.failed_data.reset();
  instance.failed_attempt = 0;
}

}  // namespace millrace
