// validate (Direktiv's ValidateState): continues if the subject matches a JSON Schema, else fails.
#include "states/state_fields.h"
#include "states/types.h"
#include "states/visit.h"

namespace millrace {
namespace {

class Validate final : public State {
 public:
  Validate(StateCommon common, std::string schema, std::optional<Template> subject)
      : State(std::move(common)), schema_(std::move(schema)), subject_(std::move(subject)) {}

  Outcome enter(Visit& visit) const override {
    std::optional<LazyJson> subject;
    if (subject_) {
      auto value = visit.evaluate(*subject_);
      if (!value) return std::move(value).error();
      subject = std::move(*value);
    }
    const auto outcome = visit.validate(schema_, subject);
    return outcome.value_or(Leave{});
  }

 private:
  std::string schema_;
  std::optional<Template> subject_;  ///< nullopt: all data is validated
};

std::unique_ptr<const State> load_validate(StateFields& fields, StateCommon common) {
  std::string schema = fields.required_schema("schema");
  return std::make_unique<Validate>(std::move(common), std::move(schema), fields.query("subject"));
}

}  // namespace

const StateType kValidateState{.name = "validate", .load = load_validate};

}  // namespace millrace
