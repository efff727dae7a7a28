// action (Direktiv's ActionState): calls a function and waits for its result. With `async` it
// starts the function and continues without the result.
#include "states/calling_state.h"
#include "states/state_fields.h"
#include "states/types.h"

namespace millrace {
namespace {

class ActionState final : public CallingState {
 public:
  ActionState(StateCommon common, Action action, bool async)
      : CallingState(std::move(common)), action_(std::move(action)), async_(async) {}

  Outcome enter(Visit& visit) const override {
    const Wanted wanted{&action_, &visit.instance().data};
    auto made = prepare(visit, {&wanted, 1});
    if (!made) return std::move(made).error();
    if (!async_) return call(visit, std::move(*made), 1);
    if (auto raised =
            visit.start_detached(*action_.function, std::move(made->front()), action_.flow)) {
      return *raised;
    }
    return Leave{};
  }

  Waits waits() const override { return {.least_calls = 1, .most_calls = async_ ? 0U : 1U}; }
  std::span<const Action> actions() const override { return {&action_, 1}; }

 private:
  const Action& action(size_t) const override { return action_; }
  LazyJson gather(std::span<const Call> calls) const override { return calls.front().result; }

  Action action_;
  bool async_;
};

std::unique_ptr<const State> load_action(StateFields& fields, StateCommon common) {
  Action action;
  fields.required_object(
      "action", [&](StateFields& nested) { action = Action::load(nested, common.retries); });
  const bool async = fields.plain().boolean("async").value_or(false);
  return std::make_unique<ActionState>(std::move(common), std::move(action), async);
}

}  // namespace

const StateType kActionState{.name = "action", .load = load_action};

}  // namespace millrace
