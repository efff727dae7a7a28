// parallel (Direktiv's ParallelState): several actions at once. With `mode: and` all actions must
// succeed. With `mode: or` the first successful action ends the state, and the others are
// cancelled.
#include <algorithm>

#include <fmt/format.h>

#include "states/calling_state.h"
#include "states/state_fields.h"
#include "states/types.h"

namespace millrace {
namespace {

class Parallel final : public CallingState {
 public:
  Parallel(StateCommon common, std::vector<Action> actions, Needs needs)
      : CallingState(std::move(common), needs), actions_(std::move(actions)) {}

  Outcome enter(Visit& visit) const override { return make_calls(visit); }

  Outcome make_calls(Visit& visit) const override {
    // The calls of the actions before `first` are made already.
    const size_t first = visit.calls().size();
    const size_t end = std::min(actions_.size(), first + visit.call_portion().calls);
    std::vector<Wanted> wanted;
    for (size_t i = first; i < end; ++i) wanted.push_back({&actions_[i], &visit.instance().data});
    auto made = prepare(visit, wanted);
    if (!made) return std::move(made).error();
    return call(visit, std::move(*made), actions_.size());
  }

  static std::unique_ptr<const State> load(StateFields& fields, StateCommon common) {
    std::vector<Action> actions;
    fields.required_list("actions", [&](StateFields& nested) {
      actions.push_back(Action::load(nested, common.retries));
    });
    if (actions.size() > kMostCalls) {
      fields.plain().report("actions", "definition.value",
                            fmt::format("there are {} actions; a state may have at most {}",
                                        actions.size(), kMostCalls));
    }
    const Needs needs = fields.plain()
                            .one_of<Needs>("mode", {{"and", Needs::kAll}, {"or", Needs::kAny}})
                            .value_or(Needs::kAll);
    return std::make_unique<Parallel>(std::move(common), std::move(actions), needs);
  }

  Waits waits() const override {
    return {.least_calls = actions_.size(), .most_calls = actions_.size()};
  }
  std::span<const Action> actions() const override { return actions_; }

 private:
  const Action& action(size_t index) const override { return actions_[index]; }
  LazyJson gather(std::span<const Call> calls) const override {
    // With `mode: or` the state may end before all calls are made.
    return results_of(calls, actions_.size());
  }

  std::vector<Action> actions_;
};

}  // namespace

const StateType kParallelState{.name = "parallel", .load = Parallel::load};

}  // namespace millrace
