// delay (Direktiv's DelayState): waits for a duration, or until a time. No event ends the wait
// early.
#include <algorithm>
#include <variant>

#include "states/evaluate_time.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class Delay final : public State {
 public:
  Delay(StateCommon common, WrittenTime end) : State(std::move(common)), end_(std::move(end)) {}

  Outcome enter(Visit& visit) const override {
    if (const auto* const duration = std::get_if<Span>(&end_)) {
      visit.wait_until(duration->after(visit.now()));
      return Wait{};
    }
    const auto time = evaluate_time(visit, std::get<EvaluatedTime>(end_));
    if (!time) return time.error();
    visit.wait_until(std::max(time->at, visit.now()));
    return Wait{};
  }

  Waits waits() const override {
    return {.delay = true, .is_evaluated = std::holds_alternative<EvaluatedTime>(end_)};
  }
  Outcome elapsed(Visit&) const override { return Leave{}; }

 private:
  WrittenTime end_;
};

std::unique_ptr<const State> load_delay(StateFields& fields, StateCommon common) {
  WrittenTime end = fields.duration("duration").value_or(Span{});
  if (auto until = fields.until("until")) end = *std::move(until);
  return std::make_unique<Delay>(std::move(common), std::move(end));
}

}  // namespace

const StateType kDelayState{.name = "delay", .load = load_delay};

}  // namespace millrace
