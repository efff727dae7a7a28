// switch (Direktiv's SwitchState): the first condition that is true determines the exit.
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class Switch final : public State {
 public:
  /// `common.exits` has one exit for each condition, and then the default exit.
  Switch(StateCommon common, std::vector<Template> conditions)
      : State(std::move(common)), conditions_(std::move(conditions)) {}

  Outcome enter(Visit& visit) const override {
    const auto found = visit.first_true(conditions_);
    if (!found) return found.error();
    return Leave{.exit = found->value_or(conditions_.size())};
  }

 private:
  std::vector<Template> conditions_;
};

std::unique_ptr<const State> load_switch(StateFields& fields, StateCommon common) {
  std::vector<Template> conditions;
  fields.required_list("conditions", [&](StateFields& entry) {
    conditions.push_back(entry.required_query("condition"));
    common.exits.push_back(entry.exit());
  });
  common.exits.push_back(fields.exit(true));
  return std::make_unique<Switch>(std::move(common), std::move(conditions));
}

}  // namespace

const StateType kSwitchState{.name = "switch", .load = load_switch};

}  // namespace millrace
