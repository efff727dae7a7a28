#include "orchestrator/engine/after_timer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "language/own_policy.h"
#include "orchestrator/engine/step_context.h"
#include "policies/action_policy.h"
#include "states/compensation.h"
#include "states/retrying.h"
#include "states/state.h"

namespace millrace {
namespace {

using Causes = AfterTimer::Causes;

constexpr std::array<std::string_view, 6> kCauses = {"state", "attempt", "run",
                                                     "end",   "call",    "depends"};

/// A timer that fires, and what it finds.
struct FiredTimer {
  TimePoint at;
  const TimedInstance& instance;
  const Workflow& workflow;

  const StateCommon& common() const { return workflow.states[instance.state]->common(); }
  const std::string& id_of(StateIndex state) const { return workflow.states[state]->common().id; }
  /// The code with which the instance ends: an earlier error stays.
  std::string final_code(std::string_view code) const {
    return instance.error.value_or(std::string(code));
  }
};

AfterTimer decided_later(std::string error) {
  return {.causes = Causes::kDepends, .then = {}, .error = std::move(error)};
}

/// As after_failure(); nullopt: a `delay` that the data decides may raise another error.
std::optional<AfterFailure> known_after_failure(const RetryPolicy& policy,
                                                const FailedAttempt& failed) {
  const bool is_left_to_catch = policy.asked == RetryPolicy::Asked::kAfterCatch && failed.is_caught;
  const bool may_follow =
      policy.covers(failed.error.code) && policy.allows_after(failed.attempt) && !is_left_to_catch;
  if (policy.has_evaluated_delay() && may_follow) return std::nullopt;
  return after_failure(policy, failed);
}

bool makes_compensations(const FiredTimer& fired, bool failing) {
  const Workflow& workflow = fired.workflow;
  const bool by_on_failure = failing && workflow.timeouts.on_failure_compensates;
  return fired.instance.has_compensations &&
         (workflow.compensates || fired.instance.compensates || by_on_failure);
}

/// As the end of an instance with an error, whose workflow may begin another run or go to
/// `on_failure` (end() in step_context.h). `failing`: Instance::failing by then.
AfterTimer after_end(const FiredTimer& fired, InstanceStatus status, std::string code,
                     Retries retries, bool failing) {
  const TimedInstance& instance = fired.instance;
  const Workflow& workflow = fired.workflow;
  const OwnPolicy own = read_own_policy(instance.own_policy);
  const auto& policy = own.retries ? own.retries : workflow.retries;
  const bool has_failed = status == InstanceStatus::kFailed && !failing;
  if (has_failed && retries == Retries::kYes && policy) {
    const Error error{code, ""};
    const LazyJson no_data;
    const bool is_known = instance.error && !instance.failed_state.empty();
    const auto next =
        known_after_failure(*policy, {.instance = instance.id,
                                      .state = is_known ? std::string_view(instance.failed_state)
                                                        : std::string_view(fired.common().id),
                                      .attempt = instance.run_attempt,
                                      .first_at = instance.runs_from,
                                      .now = fired.at,
                                      .error = error,
                                      .data = no_data});
    if (!next) return decided_later(std::move(code));
    if (const auto* const at = std::get_if<TimePoint>(&*next)) {
      if (instance.execution_ends_at && *instance.execution_ends_at <= *at) {
        return decided_later(std::move(code));
      }
      return {.causes = Causes::kRun,
              .then = fired.id_of(workflow.start.state),
              .error = std::move(code)};
    }
    code = std::get<Error>(*next).code;
  }
  if (has_failed && workflow.timeouts.on_any_failure && workflow.timeouts.on_failure) {
    return {.causes = Causes::kState,
            .then = fired.id_of(*workflow.timeouts.on_failure),
            .error = std::move(code)};
  }
  const bool compensates =
      status != InstanceStatus::kComplete && makes_compensations(fired, failing);
  return {.causes = Causes::kEnd,
          .then = {},
          .error = std::move(code),
          .status = status,
          .compensates = compensates};
}

/// As an exit or an entry of `catch`, after an error of that code; empty: after none.
template <class Way>
AfterTimer after_way(const FiredTimer& fired, const Way& way, std::string code) {
  const TimedInstance& instance = fired.instance;
  if (way.continue_as_new && !instance.error) {
    return {.causes = Causes::kRun, .then = {}, .error = std::move(code)};
  }
  if (way.transition) {
    return {
        .causes = Causes::kState, .then = fired.id_of(*way.transition), .error = std::move(code)};
  }
  if (instance.error) {
    return after_end(fired, InstanceStatus::kFailed, *instance.error, Retries::kYes,
                     instance.failing);
  }
  return {.causes = Causes::kEnd, .then = {}, .error = std::move(code)};
}

/// As an error that the state raises (raise() in step_context.h).
AfterTimer after_error(const FiredTimer& fired, std::string code, Retries retries) {
  const TimedInstance& instance = fired.instance;
  const StateCommon& common = fired.common();
  const bool is_by_catch = instance.leaves_by_catch(common);
  if (retries == Retries::kYes && common.retries && !is_by_catch) {
    const Error error{code, ""};
    const LazyJson no_data;
    const auto next =
        known_after_failure(*common.retries, {.instance = instance.id,
                                              .state = common.id,
                                              .attempt = instance.attempt,
                                              .first_at = instance.state_from,
                                              .now = fired.at,
                                              .error = error,
                                              .data = no_data,
                                              .is_caught = find_catch(common, code) != nullptr});
    if (!next) return decided_later(std::move(code));
    if (const auto* const at = std::get_if<TimePoint>(&*next)) {
      if (instance.ends_at && *instance.ends_at <= *at) return decided_later(std::move(code));
      return {.causes = Causes::kAttempt, .then = common.id, .error = std::move(code)};
    }
    code = std::get<Error>(*next).code;
  }
  if (const Catch* const entry = is_by_catch ? nullptr : find_catch(common, code)) {
    return after_way(fired, *entry, std::move(code));
  }
  return after_end(fired, InstanceStatus::kFailed, fired.final_code(code), retries,
                   instance.failing);
}

/// As a timeout that ends the instance, whatever its state is.
AfterTimer after_run_out(const FiredTimer& fired, std::string_view code, InstanceStatus status,
                         bool failing) {
  if (fired.instance.cancelling) status = InstanceStatus::kCancelled;
  return after_end(fired, status, fired.final_code(code), Retries::kNo, failing);
}

AfterTimer after_execution(const FiredTimer& fired) {
  constexpr std::string_view kCode = "millrace.timeout.execution";
  const TimedInstance& instance = fired.instance;
  const WorkflowTimeouts& timeouts = fired.workflow.timeouts;
  if (!timeouts.fails || instance.cancelling) {
    return after_run_out(fired, kCode, InstanceStatus::kTimedOut, instance.failing);
  }
  if (!timeouts.on_failure || instance.failing) {
    return after_run_out(fired, kCode, InstanceStatus::kFailed, true);
  }
  return {.causes = Causes::kState,
          .then = fired.id_of(*timeouts.on_failure),
          .error = std::string(kCode)};
}

/// As the end of a start that has waited too long, of which nothing has run.
AfterTimer after_wait_to_start(std::string_view code) {
  return {.causes = Causes::kEnd,
          .then = {},
          .error = std::string(code),
          .status = InstanceStatus::kFailed};
}

AfterTimer after_retry(const FiredTimer& fired) {
  const TimedInstance& instance = fired.instance;
  if (instance.awaits_run) {
    return {.causes = Causes::kRun, .then = fired.id_of(fired.workflow.start.state), .error = {}};
  }
  if (instance.has_calls) return {.causes = Causes::kCall, .then = {}, .error = {}};
  return {.causes = Causes::kAttempt, .then = fired.common().id, .error = {}};
}

/// As a timer of the state that an instance which is cancelled, or makes its compensations, has
/// not.
AfterTimer after_state_timer(TimerKind kind, const FiredTimer& fired) {
  const TimedInstance& instance = fired.instance;
  if (instance.cancelling || instance.compensating) return {};
  if (kind == TimerKind::kStateTimeout) {
    return after_error(fired, "direktiv.stateTimeout", Retries::kYes);
  }
  if (kind == TimerKind::kInterrupt) {
    return after_error(fired, "direktiv.cancels.timeout", Retries::kNo);
  }
  const auto& exits = fired.common().exits;
  return exits.empty() ? AfterTimer() : after_way(fired, exits.front(), {});
}

}  // namespace

TimedInstance::TimedInstance(const Instance& instance)
    : id(instance.id),
      state(instance.state),
      attempt(instance.attempt),
      run_attempt(instance.run - instance.first_run + 1),
      state_from(instance.state_from),
      runs_from(instance.runs_from),
      awaits_run(instance.awaits_run),
      has_calls(!instance.calls.empty()),
      failing(instance.failing),
      cancelling(instance.cancelling),
      compensating(instance.compensating.has_value()),
      has_compensations(instance.compensations > 0),
      compensates(instance.compensates),
      own_policy(instance.own_policy) {
  if (instance.phase == Phase::kLeaving) exit = instance.exit;
  if (instance.error) {
    error = instance.error->code;
    failed_state = instance.failed_state;
  }
  for (const Timer& timer : instance.timers) {
    if (is_of_state(timer.kind)) continue;
    ends_at = std::min(ends_at.value_or(timer.deadline), timer.deadline);
    if (timer.kind == TimerKind::kExecution) execution_ends_at = timer.deadline;
  }
}

std::string_view to_string(AfterTimer::Causes causes) {
  return kCauses[static_cast<size_t>(causes)];
}

AfterTimer after_timer(const Timer& timer, const TimedInstance& instance,
                       const Workflow& workflow) {
  if (instance.state >= workflow.states.size()) return {};
  const FiredTimer fired{.at = timer.deadline, .instance = instance, .workflow = workflow};
  switch (timer.kind) {
    case TimerKind::kStateTimeout:
    case TimerKind::kInterrupt:
    case TimerKind::kDelay:
      return after_state_timer(timer.kind, fired);
    case TimerKind::kRetry:
      return after_retry(fired);
    case TimerKind::kCalls:
      return {.causes = Causes::kCall, .then = {}, .error = {}};
    case TimerKind::kKill:
      return after_run_out(fired, "direktiv.cancels.timeout", InstanceStatus::kTimedOut,
                           instance.failing);
    case TimerKind::kRun:
      return after_run_out(fired, "millrace.timeout.run", InstanceStatus::kTimedOut,
                           instance.failing);
    case TimerKind::kExecution:
      return after_execution(fired);
    case TimerKind::kQueue:
      return after_wait_to_start(kSlotTimeout);
    case TimerKind::kThrottle:
      return after_wait_to_start(kThrottleTimeout);
  }
  return {};
}

std::optional<bool> retries_call(const Workflow& workflow, const Instance& caller, size_t index,
                                 std::string_view code, TimePoint now,
                                 const RetryPolicy* otherwise) {
  const State* const state = state_of(workflow, caller);
  const ActionPolicy* const own = state == nullptr ? nullptr : state->policy_of_call(index);
  if (own == nullptr) return std::nullopt;
  const RetryPolicy* policy = own->retries ? &*own->retries : nullptr;
  if (policy == nullptr && !own->is_settled) policy = otherwise;
  if (policy == nullptr) return false;
  // Whether a `catch` comes first depends on the type of the state.
  const bool may_be_caught = find_catch(state->common(), code) != nullptr;
  if (policy->asked == RetryPolicy::Asked::kAfterCatch && may_be_caught) return std::nullopt;
  const Call& call = caller.calls[index];
  const Error error{std::string(code), ""};
  const LazyJson no_data;
  const auto next = known_after_failure(*policy, {.instance = caller.id,
                                                  .state = state->common().id,
                                                  .branch = index,
                                                  .attempt = call.attempt,
                                                  .first_at = call.first_at.value_or(now),
                                                  .now = now,
                                                  .error = error,
                                                  .data = no_data});
  if (!next) return std::nullopt;
  return std::holds_alternative<TimePoint>(*next);
}

}  // namespace millrace
