// CallingState: what action, foreach and parallel share: calls that are made when the state is
// entered, tried again by their policies, and gathered into `.return` when they have ended. Which
// calls there are, and what makes `.return` of their results, each type says itself.
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
  std::optional<Template> input;  ///< none: what it would be evaluated over
  std::vector<std::string> secrets;
  ActionPolicy policy;  ///< its own, and what it leaves open from farther away

  /// Reads one; `retries` is what the state has for actions without their own.
  static Action load(StateFields& fields, const std::optional<RetryPolicy>& retries);
};

class CallingState : public State {
 public:
  Outcome returned(Visit& visit, size_t index, CallResult result, TimePoint retry_from) const final;
  bool begun(Visit& visit, size_t index) const final;
  Outcome silent(Visit& visit, size_t index) const final;
  Outcome overdue(Visit& visit, TimePoint until) const final;
  Outcome attempts_due(Visit& visit) const final;
  Outcome resumed(Visit& visit) const final;
  bool services_resumed(Visit& visit, const ServiceNames* names) const final;

 protected:
  /// How many of the calls have to succeed.
  enum class Needs { kAll, kAny };

  explicit CallingState(StateCommon common, Needs needs = Needs::kAll,
                        size_t at_once = std::numeric_limits<size_t>::max());

  /// The action of the call of that index.
  virtual const Action& action(size_t index) const = 0;
  /// What becomes `.return`; those calls that have not succeeded yield null.
  virtual Json gather(std::span<const Call> calls) const = 0;
  /// An array of all results.
  static Json results_of(std::span<const Call> calls);
  /// The services among what those actions call.
  static std::vector<std::string> services_of(std::span<const Action> actions);

  /// An action and what its input is made of.
  struct Wanted {
    const Action* action = nullptr;
    const LazyJson* over = nullptr;
  };
  /// The calls for those actions, each with its input.
  static Evaluated<std::vector<Call>> prepare(Visit& visit, std::span<const Wanted> wanted);

  /// Makes those calls; none: leaves at once.
  Outcome call(Visit& visit, std::vector<Call> calls) const;

 private:
  enum class MayRetry { kNo, kYes };
  ActionPolicy policy(const Visit& visit, size_t index) const;
  TimeoutPolicy timeouts(const Visit& visit, size_t index) const;
  Outcome failed(Visit& visit, size_t index, Error error, MayRetry may_retry,
                 TimePoint retry_from = {}) const;
  Outcome timed_out(Visit& visit, size_t index, TimeoutKind kind) const;
  Outcome overdue(Visit& visit, size_t index, TimePoint until) const;
  bool is_held(const Visit& visit, size_t index) const;
  Outcome go_on(Visit& visit) const;
  void start(Visit& visit, size_t index) const;

  Needs needs_;
  size_t at_once_;
};

}  // namespace millrace
