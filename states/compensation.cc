#include "states/compensation.h"

#include <utility>

#include <fmt/format.h>

#include "states/state_fields.h"

namespace millrace {
namespace {

/// The fields of the state that the history and the errors of its compensation name. The only exit
/// leads nowhere: the engine makes the next compensation.
StateCommon common_of(const StateCommon& undone) {
  StateCommon common;
  common.id = undone.id;
  common.type = undone.type;
  common.exits.emplace_back();
  return common;
}

/// The error of a compensation whose function is not called: it was not made.
Raise skipped(const std::string& function) {
  return {{"millrace.compensation.skipped",
           fmt::format("the retry policy of the call of function \"{}\" permits no attempt, so the "
                       "compensation was not made",
                       function)}};
}

}  // namespace

CompensationState::CompensationState(const StateCommon& undone, Action action, bool undoes_calls)
    : CallingState(common_of(undone)), action_(std::move(action)), undoes_calls_(undoes_calls) {}

std::shared_ptr<const CompensationState> CompensationState::load(StateFields& fields,
                                                                 const StateCommon& undone) {
  Action action;
  action.function = fields.required_function("function");
  action.input = fields.command("input");
  action.policy = fields.action_policy(action.function.get(), std::nullopt);
  if (action.function != nullptr) action.flow = action.function->flow;
  const bool has_several = undone.type == "foreach" || undone.type == "parallel";
  return std::make_shared<const CompensationState>(undone, std::move(action), has_several);
}

Evaluated<LazyJson> CompensationState::input(Visit& visit) const {
  if (!action_.input) return visit.data();
  return visit.evaluate(*action_.input);
}

Outcome CompensationState::enter(Visit& visit) const {
  auto newest = visit.newest_compensation();
  if (!newest) return std::move(newest).error();
  std::vector<Call> calls(1);
  LazyJson& input = calls.front().input;
  input = std::move(newest->input);
  if (newest->of_call && action_.input) {
    input.text();  // an input of a program has its text
    auto value = visit.evaluate_over(*action_.input, input);
    if (!value) return std::move(value).error();
    input = std::move(*value);
  }
  Outcome outcome = call(visit, std::move(calls), 1);
  const bool is_skipped =
      std::holds_alternative<Leave>(outcome) && visit.calls().front().attempt == 0;
  if (is_skipped) return skipped(function());
  return outcome;
}

Raise too_many_compensations() {
  return {{"millrace.limits.compensations",
           fmt::format("the instance would note more than {} compensations, the most that it may "
                       "have, so it cannot enter this state with `compensate`",
                       kMostCompensations)}};
}

const CompensationState* compensation_of(const Workflow& workflow, StateIndex state) {
  return state < workflow.compensations.size() ? workflow.compensations[state].get() : nullptr;
}

const State* state_of(const Workflow& workflow, const Instance& instance) {
  if (instance.compensating) return compensation_of(workflow, instance.state);
  return instance.state < workflow.states.size() ? workflow.states[instance.state].get() : nullptr;
}

}  // namespace millrace
