// noop (Direktiv's NoopState): does nothing; its common fields do the work.
#include "states/types.h"

namespace millrace {
namespace {

class Noop final : public State {
 public:
  using State::State;

  Outcome enter(Visit&) const override { return Leave{}; }
};

std::unique_ptr<const State> load_noop(StateFields&, StateCommon common) {
  return std::make_unique<Noop>(std::move(common));
}

}  // namespace

const StateType kNoopState{.name = "noop", .load = load_noop};

}  // namespace millrace
