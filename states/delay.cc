// delay (Direktiv's DelayState): waits for a duration. No event ends the wait early.
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class Delay final : public State {
 public:
  Delay(StateCommon common, Span duration)
      : State(std::move(common)), duration_(std::move(duration)) {}

  Outcome enter(Visit& visit) const override {
    visit.wait_until(duration_.after(visit.now()));
    return Wait{};
  }

  Waits waits() const override { return {.delay = true}; }
  Outcome elapsed(Visit&) const override { return Leave{}; }

 private:
  Span duration_;
};

std::unique_ptr<const State> load_delay(StateFields& fields, StateCommon common) {
  return std::make_unique<Delay>(std::move(common), fields.required_duration("duration"));
}

}  // namespace

const StateType kDelayState{.name = "delay", .load = load_delay};

}  // namespace millrace
