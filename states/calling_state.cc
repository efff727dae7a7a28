#include "states/calling_state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "states/held_timeouts.h"
#include "states/retrying.h"
#include "states/slot_values.h"
#include "states/state_fields.h"

namespace millrace {
namespace {

/// Removes the state's retry policy: in a calling state it applies to the actions, not to the
/// state.
StateCommon without_retries(StateCommon common) {
  common.retries.reset();
  return common;
}

/// Ends the call with `result` and clears everything that only a running call needs.
void finish(Call& call, LazyJson result) {
  call.status = Call::Status::kDone;
  call.retry_at.reset();
  call.deadlines = {};
  call.input = {};
  call.result = std::move(result);
}

/// What the attempt failed to do before the timeout, as a verb.
std::string_view missed_action(TimeoutKind kind) {
  switch (kind) {
    case TimeoutKind::kScheduleToStart:
      return "start";
    case TimeoutKind::kHeartbeat:
      return "send a heartbeat";
    default:
      return "end";
  }
}

/// The minimum delay until a suspended deadline is checked again. A resume of the service restarts
/// the timeout at once, independent of this delay.
constexpr Duration kHeldAgain = std::chrono::hours(1);

/// Whether a timer is armed for the due times of the calls. Store format 4 used the timer kRetry.
bool has_timer_for_calls(const Instance& instance) {
  return std::any_of(instance.timers.begin(), instance.timers.end(), [](const Timer& timer) {
    return timer.kind == TimerKind::kCalls || timer.kind == TimerKind::kRetry;
  });
}

/// Looks at the last calls first, which are usually the last ones to end.
bool has_running(std::span<const Call> calls) {
  return std::any_of(calls.rbegin(), calls.rend(),
                     [](const Call& call) { return call.status == Call::Status::kRunning; });
}

/// How many calls have each status.
struct CallCounts {
  std::array<size_t, 5> by_status{};
  bool has_succeeded = false;  ///< a call is done, and was not skipped

  size_t of(Call::Status status) const { return by_status[static_cast<size_t>(status)]; }
};

CallCounts count(std::span<const Call> calls) {
  CallCounts counts;
  for (const Call& call : calls) {
    ++counts.by_status[static_cast<size_t>(call.status)];
    // A call with attempt 0 was skipped.
    counts.has_succeeded |= call.status == Call::Status::kDone && call.attempt > 0;
  }
  return counts;
}

}  // namespace

Action Action::load(StateFields& fields, const std::optional<RetryPolicy>& retries) {
  Action action;
  action.function = fields.required_function("function");
  action.input = fields.command("input");
  action.secrets = fields.plain().strings("secrets");
  action.sealed = fields.plain().boolean("sealed").value_or(false);
  action.policy = fields.action_policy(action.function.get(), retries);
  action.flow = fields.call_flow(action.function.get());
  return action;
}

CallingState::CallingState(StateCommon common, Needs needs, size_t at_once)
    : State(without_retries(std::move(common))), needs_(needs), at_once_(at_once) {}

Evaluated<std::vector<Call>> CallingState::prepare(Visit& visit, std::span<const Wanted> wanted) {
  const auto raise = [](std::string code, std::string message) {
    return tl::unexpected<Outcome>(Raise{{std::move(code), std::move(message)}});
  };
  visit.data().text();  // see Visit::evaluate()
  // The data for each input: unchanged, or a copy that contains the secrets.
  std::vector<LazyJson> sources;
  sources.reserve(wanted.size());
  bool has_secrets = false;
  // In a foreach all calls have the same action, so its secrets are read only once.
  const Action* opened_for = nullptr;
  LazyJson secrets;
  for (const Wanted& one : wanted) {
    LazyJson& source = sources.emplace_back(*one.over);
    if (one.action->secrets.empty()) continue;
    has_secrets = true;
    if (!source.is_object()) {
      return raise(
          "direktiv.jq.notObject",
          fmt::format("secrets cannot be added to {}: it is not an object", source.type_name()));
    }
    if (opened_for != one.action) {
      opened_for = one.action;
      std::map<std::string, LazyJson> values;
      for (const std::string& name : one.action->secrets) {
        auto found = visit.secret(name);
        if (!found) return tl::unexpected(std::move(found).error());
        auto& value = *found;
        if (!value) {
          return raise("direktiv.secrets.notFound", fmt::format("there is no secret \"{}\"", name));
        }
        values[name] = Json(std::move(*value));
      }
      secrets = LazyJson::of_members(std::move(values));
    }
    source.set("secrets", secrets);
  }

  std::vector<Visit::Over> evaluated;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (const auto& input = wanted[i].action->input) evaluated.push_back({&*input, &sources[i]});
  }
  auto values = visit.evaluate(evaluated);
  if (!values) {
    auto* const raised = std::get_if<Raise>(&values.error());
    // An error message of jq often quotes its input, which contains secrets here.
    if (has_secrets && raised != nullptr) {
      raised->error.message = "a jq query that can read secrets failed; its message is not shown";
    }
    return tl::unexpected(std::move(values).error());
  }
  std::vector<Call> calls(wanted.size());
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Action& action = *wanted[i].action;
    calls[i].input = action.input ? std::move((*values)[next++]) : std::move(sources[i]);
    if (!action.secrets.empty()) calls[i].sealed = Sealing::kMasked;
    if (action.sealed) calls[i].sealed = Sealing::kHidden;
  }
  return calls;
}

std::optional<Raise> CallingState::store(Visit& visit, LazyJson gathered) const {
  return visit.put("return", std::move(gathered));
}

std::vector<std::string> CallingState::services() const {
  std::vector<std::string> names;
  for (const Action& action : actions()) {
    if (const auto* const service = std::get_if<NamedService>(&action.function->runs)) {
      names.push_back(service->name);
    }
  }
  return names;
}

LazyJson CallingState::results_of(std::span<const Call> calls, size_t total) {
  const LazyJson missing;
  std::vector<const LazyJson*> results;
  results.reserve(std::max(calls.size(), total));
  for (const Call& call : calls) results.push_back(&call.result);
  if (results.size() < total) results.resize(total, &missing);
  return LazyJson::of_pointers(results);
}

Outcome CallingState::call(Visit& visit, std::vector<Call> calls, size_t total) const {
  if (auto raised = visit.refuse_depth()) return *raised;
  auto& all = visit.calls();
  if (all.empty()) {
    if (auto raised = visit.refuse_compensations(total)) return *raised;
  }
  all.reserve(total);  // so that no portion moves the calls of all others
  size_t bytes = 0;
  for (Call& call : calls) {
    if (bytes >= visit.call_portion().bytes) break;
    bytes += call.input.text().size();
    all.push_back(std::move(call));
  }
  const bool has_all = all.size() >= total;
  Outcome outcome = go_on(visit, has_all, DueTimes::kInAnyWay);
  if (has_all || !std::holds_alternative<Wait>(outcome)) return outcome;
  return MakeMore{};
}

/// The action's policy. Retries and timeouts that the action does not set come from the settings of
/// its service. Without a retry policy there either, the default of the namespace applies.
ActionPolicy CallingState::policy(const Visit& visit, size_t index) const {
  ActionPolicy policy = action(index).policy;
  const ServicePolicy* const service = visit.service_policy(*action(index).function);
  if (service != nullptr) policy = policy.over(*service);
  const RetryPolicy* const otherwise = visit.default_retries();
  if (!policy.retries && !policy.is_settled && otherwise != nullptr) policy.retries = *otherwise;
  return policy;
}

TimeoutPolicy CallingState::timeouts(const Visit& visit, size_t index) const {
  const ActionPolicy& own = action(index).policy;
  const ServicePolicy* const service = visit.service_policy(*action(index).function);
  return service == nullptr ? own.timeouts : own.over(*service).timeouts;
}

void CallingState::start(Visit& visit, size_t index) const {
  const Action& called = action(index);
  const ActionPolicy policy = this->policy(visit, index);
  Call& call = visit.calls()[index];
  if (call.attempt == 0 && policy.retries && policy.retries->attempts == 0) {
    visit.record(HistoryKind::kSkipped, Json{{"function", called.function->id}, {"index", index}});
    return finish(call, {});
  }
  visit.start_call(index, *called.function, policy, called.flow);
}

Outcome CallingState::returned(Visit& visit, size_t index, CallEnd end) const {
  Call& call = visit.calls()[index];
  // The next attempt would have as long a result, and do again what this one has done.
  auto may_retry = MayRetry::kYes;
  if (end.result) {
    if (Status added = visit.add_result(*end.result); !added) {
      end.result = tl::unexpected(std::move(added).error());
      may_retry = MayRetry::kNo;
    }
  }
  if (!end.result) {
    Json detail{{call.outside ? "task" : "instance", to_string(call.id)},
                {"index", index},
                {"attempt", call.attempt},
                {"code", end.result.error().code},
                {"msg", end.result.error().message}};
    if (end.by != AnsweredBy::kRunner) detail["by"] = to_string(end.by);
    visit.record(HistoryKind::kReturned, std::move(detail));
    // A subflow may end with such an error of a call of its own.
    const bool is_final = call.outside && end.by == AnsweredBy::kRunner &&
                          is_call_flow_error(end.result.error().code);
    if (is_final) may_retry = MayRetry::kNo;
    return failed(visit, index, std::move(end.result).error(), may_retry, end.retry_from);
  }
  // The detail is made as text, with its keys sorted, as that of the start (Visit::start_call).
  const std::string by =
      end.by == AnsweredBy::kRunner ? "" : fmt::format(R"("by":"{}",)", to_string(end.by));
  visit.record(HistoryKind::kReturned,
               LazyJson::of_text(
                   fmt::format(R"({{"attempt":{},{}"index":{},"{}":"{}"}})", call.attempt, by,
                               index, call.outside ? "task" : "instance", to_string(call.id))));
  finish(call, *std::move(end.result));
  call.last_error.reset();
  call.progress.reset();
  if (must_await_others(visit, has_timer_for_calls(visit.instance()))) {
    visit.note_only_call(index);
    return Wait{};
  }
  return go_on(visit, DueTimes::kOnlyFewer);
}

bool CallingState::started(Visit& visit, size_t index) const {
  // Without a timeout nothing depends on the start of the call, so the start need not be stored.
  const TimeoutPolicy timeouts = this->timeouts(visit, index);
  const bool counts = std::any_of(timeouts.timeouts.begin(), timeouts.timeouts.end(),
                                  [](const auto& timeout) { return timeout.has_value(); });
  if (visit.calls()[index].started || !counts) return false;
  const bool was_held = is_held(visit, index);
  visit.begin_call(index, timeouts);
  if (was_held) visit.restart_timeout(index, TimeoutKind::kScheduleToClose, timeouts);
  visit.arm_calls();
  return true;
}

Outcome CallingState::heartbeat_missed(Visit& visit, size_t index) const {
  return timed_out(visit, index, TimeoutKind::kHeartbeat);
}

Outcome CallingState::timed_out(Visit& visit, size_t index, TimeoutKind kind) const {
  const Call& call = visit.calls()[index];
  // If the settings no longer have the timeout, the expired deadline is still an error, and that
  // error is not retried.
  const auto found = timeouts(visit, index)[kind];
  const Timeout timeout = found.value_or(Timeout{.span = {.text = "its timeout"}});
  visit.record(HistoryKind::kTimedOut,
               Json{{"index", index}, {"attempt", call.attempt}, {"code", error_code(kind)}});
  const std::string awaited = waits_for_begin(call) ? visit.awaited_limit(call) : std::string();
  if (call.status == Call::Status::kRunning) visit.stop_call(index);
  Error error{std::string(error_code(kind)),
              fmt::format("attempt {} of function \"{}\" did not {} within {}{}{}", call.attempt,
                          action(index).function->id, missed_action(kind), timeout.span.text,
                          awaited.empty() ? "" : kWaitedFor, awaited)};
  if (timeout.expiry == Timeout::Expiry::kCancels) return GiveUp{std::move(error)};
  return failed(visit, index, std::move(error),
                timeout.expiry == Timeout::Expiry::kRetryable ? MayRetry::kYes : MayRetry::kNo);
}

/// Handles a failed attempt: schedules the next attempt, or fails the call. If one successful call
/// is enough (Needs::kAny), the error of a failed call is not raised; if every call has failed,
/// go_on() raises `direktiv.parallel.allFailed`.
Outcome CallingState::failed(Visit& visit, size_t index, Error error, MayRetry may_retry,
                             TimePoint retry_from) const {
  Call& call = visit.calls()[index];
  call.last_error = {.error = {error.code, shorten(error.message, kMostCallFailureBytes)},
                     .at = visit.now()};
  const auto retries = policy(visit, index).retries;
  if (retries && may_retry == MayRetry::kYes) {
    AfterFailure next = after_failure(
        *retries, {.instance = visit.instance().id,
                   .state = common().id,
                   .branch = index,
                   .attempt = call.attempt,
                   .first_at = call.first_at.value_or(visit.now()),
                   .now = visit.now(),
                   .retry_from = retry_from,
                   .error = error,
                   .data = visit.data(),
                   .is_caught = needs_ == Needs::kAll && find_catch(common(), error.code)});
    if (const auto* const at = std::get_if<TimePoint>(&next)) {
      visit.retry_call(index, *at);
      visit.arm_calls();
      return Wait{};
    }
    error = std::get<Error>(std::move(next));
  }
  finish(call, {});
  call.status = Call::Status::kFailed;
  if (needs_ == Needs::kAll) return Raise{std::move(error)};
  return go_on(visit);
}

Outcome CallingState::overdue(Visit& visit, TimePoint until) const {
  size_t left = visit.call_portion().calls;
  for (size_t i = 0; i < visit.calls().size() && left > 0; ++i) {
    const auto& deadlines = visit.calls()[i].deadlines;
    const auto has_passed = [&](const auto& deadline) { return deadline && *deadline <= until; };
    if (std::none_of(deadlines.begin(), deadlines.end(), has_passed)) continue;
    Outcome outcome = overdue(visit, i, until);
    if (!std::holds_alternative<Wait>(outcome)) return outcome;
    --left;
  }
  visit.arm_calls();  // due at once if deadlines are left
  return Wait{};
}

Outcome CallingState::attempts_due(Visit& visit) const {
  size_t left = visit.call_portion().calls;
  for (size_t i = 0; i < visit.calls().size() && left > 0; ++i) {
    const Call& call = visit.calls()[i];
    if (call.status != Call::Status::kBetween || *call.retry_at > visit.now()) continue;
    start(visit, i);
    --left;
  }
  return go_on(visit);  // the timer of the attempts that are left is due at once
}

Outcome CallingState::resumed(Visit& visit) const {
  for (size_t i = 0; i < visit.calls().size(); ++i) {
    const auto& deadlines = visit.calls()[i].deadlines;
    const auto counts = [](const auto& deadline) { return deadline.has_value(); };
    if (std::none_of(deadlines.begin(), deadlines.end(), counts)) continue;
    visit.restart_timeout(i, timeouts(visit, i));
  }
  return go_on(visit);
}

bool CallingState::services_resumed(Visit& visit, const ServiceNames* names) const {
  bool renewed = false;
  for (size_t i = 0; i < visit.calls().size(); ++i) {
    const auto* const service = std::get_if<NamedService>(&action(i).function->runs);
    if (service == nullptr || !waits_for_begin(visit.calls()[i])) continue;
    if (names != nullptr && !names->contains(service->name)) continue;
    const TimeoutPolicy timeouts = this->timeouts(visit, i);
    for (const TimeoutKind kind : kHeldTimeouts) visit.restart_timeout(i, kind, timeouts);
    renewed = true;
  }
  if (renewed) visit.arm_calls();
  return renewed;
}

bool CallingState::is_held(const Visit& visit, size_t index) const {
  return waits_for_begin(visit.instance().calls[index]) && visit.is_held(*action(index).function);
}

Outcome CallingState::overdue(Visit& visit, size_t index, TimePoint until) const {
  Call& call = visit.calls()[index];
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    auto& deadline = call.deadlines[i];
    if (!deadline || *deadline > until) continue;
    const auto kind = static_cast<TimeoutKind>(i);
    const bool may_be_held =
        std::find(kHeldTimeouts.begin(), kHeldTimeouts.end(), kind) != kHeldTimeouts.end();
    if (may_be_held && is_held(visit, index)) {
      visit.restart_timeout(index, kind, timeouts(visit, index));
      deadline = std::max(*deadline, visit.now() + kHeldAgain);
      continue;
    }
    if (kind == TimeoutKind::kHeartbeat) {
      // The heartbeat timeout of a child counts from the child's latest step, so the deadline may
      // be later.
      const auto timeout = timeouts(visit, index)[kind];
      const auto moved = visit.last_moved(call);
      if (timeout && moved && timeout->span.after(*moved) > visit.now()) {
        deadline = timeout->span.after(*moved);
        continue;
      }
    }
    return timed_out(visit, index, kind);
  }
  return Wait{};
}

/// Whether the end of a call leads to nothing before others have ended: the state has made all its
/// calls, and all of them may run at once, so that none is queued, except while a timer is due that
/// starts the others or while the instance is paused. `may_be_due`: the timer of the calls must be
/// looked at.
bool CallingState::must_await_others(const Visit& visit, bool may_be_due) const {
  const Instance& instance = visit.instance();
  return !makes_calls(instance) && at_once_ >= instance.calls.size() && !instance.paused &&
         !may_be_due && needs_ == Needs::kAll && has_running(instance.calls);
}

Outcome CallingState::go_on(Visit& visit, DueTimes changed) const {
  return go_on(visit, !makes_calls(visit.instance()), changed);
}

/// Leaves the state if enough calls have ended, raises an error if no call can succeed any more, or
/// else starts queued calls that may run now: as many as one visit may start. `has_all`: whether
/// the state has made all its calls.
Outcome CallingState::go_on(Visit& visit, bool has_all, DueTimes changed) const {
  auto& calls = visit.calls();
  size_t left = visit.call_portion().calls;
  bool may_be_due = changed == DueTimes::kInAnyWay || has_timer_for_calls(visit.instance());
  bool has_skipped = true;
  while (has_skipped) {
    const CallCounts counts = count(calls);
    const size_t done = counts.of(Call::Status::kDone);
    const bool is_enough = needs_ == Needs::kAny && counts.has_succeeded;
    if ((has_all && done == calls.size()) || is_enough) {
      if (auto raised = store(visit, gather(calls))) return *raised;
      return Leave{};
    }
    const size_t failed = counts.of(Call::Status::kFailed);
    if (has_all && failed > 0 && done + failed == calls.size()) {
      return Raise{{"direktiv.parallel.allFailed",
                    fmt::format("none of the {} actions succeeded", calls.size())}};
    }
    size_t queued = counts.of(Call::Status::kQueued);
    size_t under_way = calls.size() - queued - done - failed;
    has_skipped = false;
    const size_t at_once = visit.instance().paused ? 0 : at_once_;
    for (size_t i = 0; i < calls.size() && queued > 0 && under_way < at_once && left > 0; ++i) {
      if (calls[i].status != Call::Status::kQueued) continue;
      start(visit, i);
      may_be_due = true;
      --queued;
      --left;
      if (calls[i].status == Call::Status::kRunning) {
        ++under_way;
      } else {
        has_skipped = true;
      }
    }
    if (queued > 0 && under_way < at_once) {
      // The next visit starts the calls that are left.
      visit.arm_calls(visit.now());
      return Wait{};
    }
  }
  // Without a due time there is nothing to arm: the result of one of ten thousand calls does not
  // look at the due times of all others.
  if (may_be_due) visit.arm_calls();
  return Wait{};
}

}  // namespace millrace
