// foreach (Direktiv's ForeachState): one call for each element of an array, with at most
// `concurrency` calls at a time. `.return` has the results in the order of the elements.
#include <algorithm>

#include <fmt/format.h>

#include "states/calling_state.h"
#include "states/state_fields.h"
#include "states/types.h"

namespace millrace {
namespace {

/// The number of tasks of one foreach that run at once unless `concurrency` is set, because few
/// services can handle ten thousand calls at once.
constexpr size_t kTasksAtOnce = 16;

class Foreach final : public CallingState {
 public:
  Foreach(StateCommon common, Template array, Action action, size_t at_once)
      : CallingState(std::move(common), Needs::kAll, at_once),
        array_(std::move(array)),
        action_(std::move(action)) {}

  Outcome enter(Visit& visit) const override { return make_calls(visit); }

  Outcome make_calls(Visit& visit) const override {
    auto array = visit.evaluate(array_);
    if (!array) return std::move(array).error();
    if (!array->is_array()) {
      return Raise{{"direktiv.foreachInput",
                    fmt::format("`array` yields {}, not an array", array->type_name())}};
    }
    const size_t size = array->size();
    if (size > kMostCalls) {
      return Raise{{"millrace.limits.foreach",
                    fmt::format("`array` yields {} elements; a foreach accepts at most {}", size,
                                kMostCalls)}};
    }
    // The calls for the elements before `first` are made already.
    const size_t first = std::min(visit.calls().size(), size);
    const std::vector<LazyJson> elements = array->elements(first, visit.call_portion().calls);
    std::vector<Wanted> wanted;
    wanted.reserve(elements.size());
    for (const LazyJson& element : elements) wanted.push_back({&action_, &element});
    auto made = prepare(visit, wanted);
    if (!made) return std::move(made).error();
    return call(visit, std::move(*made), size);
  }

  Waits waits() const override { return {.least_calls = 1, .most_calls = kMostCalls}; }
  std::span<const Action> actions() const override { return {&action_, 1}; }

 private:
  const Action& action(size_t) const override { return action_; }
  LazyJson gather(std::span<const Call> calls) const override { return results_of(calls); }

  Template array_;
  Action action_;
};

std::unique_ptr<const State> load_foreach(StateFields& fields, StateCommon common) {
  Template array = fields.required_query("array");
  Action action;
  fields.required_object(
      "action", [&](StateFields& nested) { action = Action::load(nested, common.retries); });
  const bool is_outside = action.function != nullptr && action.function->subflow() == nullptr;
  const auto at_once = fields.plain().integer("concurrency");
  return std::make_unique<Foreach>(
      std::move(common), std::move(array), std::move(action),
      at_once ? static_cast<size_t>(*at_once) : (is_outside ? kTasksAtOnce : kMostCalls));
}

}  // namespace

const StateType kForeachState{.name = "foreach", .load = load_foreach};

}  // namespace millrace
