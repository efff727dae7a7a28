// CallingState: the base class of action, foreach and parallel. A calling state starts its calls
// when it is entered, retries them by their policies, and stores their results in `.return` when
// they have ended. Each derived type defines its calls and how their results become `.return`.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "expressions/template.h"
#include "model/definition.h"
#include "policies/retry_policy.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {

class StateFields;

/// Direktiv's ActionDefinition.
struct Action {
  std::shared_ptr<const Function> function;
  /// nullopt: the function gets the data over which the template would be evaluated.
  std::optional<Template> input;
  std::vector<std::string> secrets;
  bool sealed = false;  ///< whether the API hides all data that comes from the call
  /// The retries and timeouts: those of the action itself. A value that the action does not set
  /// comes from the state, the function or the workflow.
  ActionPolicy policy;
  /// The flow control of its calls. What the action does not set comes from the function.
  CallFlow flow = {};

  /// Reads an action. `retries` is the retry policy of the state, for actions that set none.
  static Action load(StateFields& fields, const std::optional<RetryPolicy>& retries);
};

class CallingState : public State {
 public:
  Outcome returned(Visit& visit, size_t index, CallEnd end) const final;
  bool started(Visit& visit, size_t index) const final;
  Outcome heartbeat_missed(Visit& visit, size_t index) const final;
  Outcome overdue(Visit& visit, TimePoint until) const final;
  Outcome attempts_due(Visit& visit) const final;
  Outcome resumed(Visit& visit) const final;
  bool services_resumed(Visit& visit, const ServiceNames* names) const final;
  const Function* function_of(size_t index) const final {
    return index < waits().most_calls ? action(index).function.get() : nullptr;
  }
  const ActionPolicy* policy_of_call(size_t index) const final {
    return index < waits().most_calls ? &action(index).policy : nullptr;
  }
  std::vector<std::string> services() const final;

 protected:
  /// How many of the calls must succeed.
  enum class Needs { kAll, kAny };

  explicit CallingState(StateCommon common, Needs needs = Needs::kAll,
                        size_t at_once = std::numeric_limits<size_t>::max());

  /// The action of the call with that index.
  virtual const Action& action(size_t index) const = 0;
  /// The value of `.return`; the result of a call that has not succeeded is null.
  virtual LazyJson gather(std::span<const Call> calls) const = 0;
  /// Stores the value of gather() in the data, as `.return`.
  virtual std::optional<Raise> store(Visit& visit, LazyJson gathered) const;
  /// An array of all results, in the order of the calls, and null for each call up to `total` that
  /// was not made.
  static LazyJson results_of(std::span<const Call> calls, size_t total = 0);

  /// An action, and the data from which its input is made.
  struct Wanted {
    const Action* action = nullptr;
    const LazyJson* over = nullptr;
  };
  /// Makes a call for each action, with its input, without starting any.
  static Evaluated<std::vector<Call>> prepare(Visit& visit, std::span<const Wanted> wanted);

  /// Adds calls to those of the state and starts them. `total`: how many calls the state makes in
  /// all; until it has them, the outcome is MakeMore. If there are no calls, the instance leaves
  /// the state at once. Calls whose inputs are too much for one visit are left out, and must be
  /// made again.
  Outcome call(Visit& visit, std::vector<Call> calls, size_t total) const;

 private:
  enum class MayRetry { kNo, kYes };
  ActionPolicy policy(const Visit& visit, size_t index) const;
  TimeoutPolicy timeouts(const Visit& visit, size_t index) const;
  Outcome failed(Visit& visit, size_t index, Error error, MayRetry may_retry,
                 TimePoint retry_from = {}) const;
  Outcome timed_out(Visit& visit, size_t index, TimeoutKind kind) const;
  Outcome overdue(Visit& visit, size_t index, TimePoint until) const;
  bool is_held(const Visit& visit, size_t index) const;
  /// How the due times of the calls have changed since the timer of the calls was armed.
  enum class DueTimes { kInAnyWay, kOnlyFewer };
  bool must_await_others(const Visit& visit, bool may_be_due) const;
  Outcome go_on(Visit& visit, DueTimes changed = DueTimes::kInAnyWay) const;
  Outcome go_on(Visit& visit, bool has_all, DueTimes changed) const;
  void start(Visit& visit, size_t index) const;

  Needs needs_;
  size_t at_once_;
};

}  // namespace millrace
