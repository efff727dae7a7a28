// CompensationState: the `compensate` of a state. While an instance makes its compensations, it is
// in the CompensationState of the state that it undoes, whose only call is that of the function. So
// the retries, timeouts and results of a compensation are those of any other call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expressions/template.h"
#include "model/instance.h"
#include "states/calling_state.h"
#include "states/state.h"
#include "states/visit.h"
#include "states/workflow.h"

namespace millrace {

class StateFields;

class CompensationState final : public CallingState {
 public:
  /// `undone` is the state with the key `compensate`, `action` is the call that undoes it.
  /// `undoes_calls`: each of its calls is undone by itself.
  CompensationState(const StateCommon& undone, Action action, bool undoes_calls);

  /// Reads the value of `compensate` of the state.
  static std::shared_ptr<const CompensationState> load(StateFields& fields,
                                                       const StateCommon& undone);

  /// The id of the function that is called.
  const std::string& function() const { return action_.function->id; }
  /// Whether each call of the state that has succeeded notes a compensation when it ends, and the
  /// state itself notes none: those of foreach and parallel.
  bool undoes_calls() const { return undoes_calls_; }
  /// The input of a compensation that is noted now, evaluated over the data of the visit.
  Evaluated<LazyJson> input(Visit& visit) const;

  /// Calls the function with the input of the newest compensation of the instance.
  Outcome enter(Visit& visit) const override;
  Waits waits() const override { return {.least_calls = 1, .most_calls = 1}; }
  std::span<const Action> actions() const override { return {&action_, 1}; }

 private:
  const Action& action(size_t) const override { return action_; }
  LazyJson gather(std::span<const Call> calls) const override { return calls.front().result; }
  /// The result of a compensation is not needed: the data stays as the cause of the end left it.
  std::optional<Raise> store(Visit&, LazyJson) const override { return std::nullopt; }

  Action action_;
  bool undoes_calls_;
};

/// The error of a state that would note more compensations than an instance may have.
Raise too_many_compensations();

/// The `compensate` of the state with that index; null: it has none.
const CompensationState* compensation_of(const Workflow& workflow, StateIndex state);

/// The state in which the instance is: a CompensationState while it makes its compensations. null:
/// the workflow does not have it.
const State* state_of(const Workflow& workflow, const Instance& instance);

}  // namespace millrace
