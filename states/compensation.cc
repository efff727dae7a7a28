#include "states/compensation.h"

#include <utility>

#include "states/state_fields.h"

namespace millrace {
namespace {

/// The fields of the state that the history and the errors of its compensation name. The only exit
/// leads nowhere: the engine goes on with the next compensation.
StateCommon common_of(const StateCommon& undone) {
  StateCommon common;
  common.id = undone.id;
  common.type = undone.type;
  common.exits.emplace_back();
  return common;
}

}  // namespace

CompensationState::CompensationState(const StateCommon& undone, Action action)
    : CallingState(common_of(undone)), action_(std::move(action)) {}

std::shared_ptr<const CompensationState> CompensationState::load(StateFields& fields,
                                                                 const StateCommon& undone) {
  Action action;
  action.function = fields.required_function("function");
  action.input = fields.command("input");
  action.policy = fields.action_policy(action.function.get(), std::nullopt);
  return std::make_shared<const CompensationState>(undone, std::move(action));
}

Evaluated<LazyJson> CompensationState::input(Visit& visit) const {
  if (!action_.input) return visit.data();
  return visit.evaluate(*action_.input);
}

Outcome CompensationState::enter(Visit& visit) const {
  auto newest = visit.newest_compensation();
  if (!newest) return std::move(newest).error();
  std::vector<Call> calls(1);
  calls.front().input = std::move(newest->input);
  return call(visit, std::move(calls), 1);
}

const CompensationState* compensation_of(const Workflow& workflow, StateIndex state) {
  return state < workflow.compensations.size() ? workflow.compensations[state].get() : nullptr;
}

const State* state_of(const Workflow& workflow, const Instance& instance) {
  if (instance.compensating) return compensation_of(workflow, instance.state);
  return instance.state < workflow.states.size() ? workflow.states[instance.state].get() : nullptr;
}

}  // namespace millrace
