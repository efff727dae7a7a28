#include "states/calling_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "states/state_fields.h"

namespace millrace {
namespace {

/// The retry policy of calling states is their actions'.
StateCommon without_retries(StateCommon common) {
  common.retries.reset();
  return common;
}

size_t count(std::span<const Call> calls, Call::Status status) {
  return static_cast<size_t>(std::count_if(
      calls.begin(), calls.end(), [&](const Call& call) { return call.status == status; }));
}

}  // namespace

Action Action::load(StateFields& fields, const std::optional<RetryPolicy>& retries) {
  Action action;
  action.function = fields.required_function("function");
  action.input = fields.command("input");
  action.secrets = fields.plain().strings("secrets");
  action.policy = fields.action_policy(action.function.get(), retries);
  return action;
}

CallingState::CallingState(StateCommon common, Needs needs, size_t at_once)
    : State(without_retries(std::move(common))), needs_(needs), at_once_(at_once) {}

Evaluated<std::vector<Call>> CallingState::prepare(Visit& visit, std::span<const Wanted> wanted) {
  const auto raise = [](std::string code, std::string message) {
    return tl::unexpected<Outcome>(Raise{{std::move(code), std::move(message)}});
  };
  // What each input is made of: as it is, or a copy with the secrets in it.
  std::vector<LazyJson> sources;
  sources.reserve(wanted.size());
  bool has_secrets = false;
  // A foreach wants the same action for all of its elements.
  const Action* opened_for = nullptr;
  Json secrets;
  for (const Wanted& one : wanted) {
    LazyJson& source = sources.emplace_back(*one.over);
    if (one.action->secrets.empty()) continue;
    has_secrets = true;
    if (!source.value().is_object()) {
      return raise("direktiv.jq.notObject",
                   fmt::format("secrets cannot be added to {}: it is no object",
                               source.value().type_name()));
    }
    if (opened_for != one.action) {
      opened_for = one.action;
      secrets = Json::object();
      for (const std::string& name : one.action->secrets) {
        auto value = visit.secret(name);
        if (!value) {
          return raise("direktiv.secrets.notFound", fmt::format("there is no secret \"{}\"", name));
        }
        secrets[name] = std::move(*value);
      }
    }
    source.edit()["secrets"] = secrets;
  }

  std::vector<Visit::Over> evaluated;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (const auto& input = wanted[i].action->input) evaluated.push_back({&*input, &sources[i]});
  }
  auto values = visit.evaluate(evaluated);
  if (!values) {
    auto* const raised = std::get_if<Raise>(&values.error());
    // jq likes to quote what it could not work with.
    if (has_secrets && raised != nullptr) raised->error.message = "jq failed where it had secrets";
    return tl::unexpected(std::move(values).error());
  }
  std::vector<Call> calls(wanted.size());
  size_t next = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Action& action = *wanted[i].action;
    calls[i].input = action.input ? LazyJson(std::move((*values)[next++])) : std::move(sources[i]);
    calls[i].sealed = !action.secrets.empty();
  }
  return calls;
}

Json CallingState::results_of(std::span<const Call> calls) {
  Json results = Json::array();
  for (const Call& call : calls) results.push_back(call.result.value());
  return results;
}

Outcome CallingState::call(Visit& visit, std::vector<Call> calls) const {
  if (auto raised = visit.refuse_depth()) return *raised;
  visit.calls() = std::move(calls);
  return go_on(visit);
}

void CallingState::start(Visit& visit, size_t index) const {
  const Action& called = action(index);
  const uint32_t attempt = visit.calls()[index].attempt + 1;
  visit.start_call(index, *called.function,
                   !called.policy.retries || !called.policy.retries->allows_after(attempt));
}

Outcome CallingState::returned(Visit& visit, size_t index, CallResult result) const {
  Call& call = visit.calls()[index];
  Json told{{"instance", to_string(call.child)}, {"index", index}, {"attempt", call.attempt}};
  if (!result) {
    told.update({{"code", result.error().code}, {"msg", result.error().message}});
    visit.tell(HistoryKind::kReturned, std::move(told));
    return failed(visit, index, std::move(result).error());
  }
  visit.tell(HistoryKind::kReturned, std::move(told));
  call.status = Call::Status::kDone;
  call.input = {};
  call.result = std::move(*result);
  return go_on(visit);
}

/// In the direktiv vocabulary `catch` comes first, then the policy (SEMANTICS "Errors" 2); where
/// one success is enough nothing is raised that could be caught.
Outcome CallingState::failed(Visit& visit, size_t index, WorkflowError error) const {
  Call& call = visit.calls()[index];
  const auto& policy = action(index).policy.retries;
  const bool is_caught = needs_ == Needs::kAll && find_catch(common(), error.code) != nullptr;
  if (policy && !is_caught && policy->covers(error.code)) {
    if (policy->allows_after(call.attempt)) {
      visit.retry_call(index, policy->next_at(call.attempt, visit.now()));
      return Wait{};
    }
    if (call.attempt > 1) error = retries_exceeded(error, call.attempt);
  }
  call.status = Call::Status::kFailed;
  call.input = {};
  if (needs_ == Needs::kAll) return Raise{std::move(error)};
  return go_on(visit);
}

Outcome CallingState::retry_calls(Visit& visit) const {
  auto& calls = visit.calls();
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].status != Call::Status::kBetween) continue;
    if (*calls[i].retry_at <= visit.now()) {
      start(visit, i);
    } else {
      visit.arm_retry(*calls[i].retry_at);
    }
  }
  return Wait{};
}

/// Starts what may start, or leaves.
Outcome CallingState::go_on(Visit& visit) const {
  auto& calls = visit.calls();
  const size_t done = count(calls, Call::Status::kDone);
  if (done == calls.size() || (needs_ == Needs::kAny && done > 0)) {
    Json gathered = gather(calls);
    if (auto raised = visit.put("return", std::move(gathered))) return *raised;
    return Leave{};
  }
  const size_t failed = count(calls, Call::Status::kFailed);
  if (failed == calls.size()) {
    return Raise{{"direktiv.parallel.allFailed",
                  fmt::format("none of the {} actions succeeded", calls.size())}};
  }
  size_t queued = count(calls, Call::Status::kQueued);
  size_t under_way = calls.size() - queued - done - failed;
  for (size_t i = 0; i < calls.size() && queued > 0 && under_way < at_once_; ++i) {
    if (calls[i].status != Call::Status::kQueued) continue;
    start(visit, i);
    --queued;
    ++under_way;
  }
  return Wait{};
}

}  // namespace millrace
