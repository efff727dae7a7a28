// noop (Direktiv's NoopState): has no behaviour of its own, only the fields that every state may
// have, such as `transform`.
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
