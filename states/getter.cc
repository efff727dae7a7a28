// getter (Direktiv's GetterState): reads variables into the data, under `.var`.
#include <map>
#include <set>

#include <fmt/format.h>

#include "states/state_fields.h"
#include "states/types.h"
#include "states/variable_fields.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// The value of a variable: its JSON if the bytes are valid JSON, whatever the content type (as for
/// the payload of an event), else the bytes as Base64. Empty bytes are null: a function can write
/// an empty file.
LazyJson value_of(const Variable& variable) {
  return variable.bytes.empty() ? LazyJson() : LazyJson::of_bytes(variable.bytes);
}

class Getter final : public State {
 public:
  Getter(StateCommon common, std::vector<VariableReference> variables)
      : State(std::move(common)), variables_(std::move(variables)) {}

  Outcome enter(Visit& visit) const override {
    std::map<std::string, LazyJson> values;
    size_t bytes = 0;
    for (const VariableReference& one : variables_) {
      const auto found = visit.variable(one.scope, one.key);
      if (!found) return found.error();
      const std::optional<Variable>& variable = *found;
      bytes += variable ? variable->bytes.size() : 0;
      if (bytes > kMaxVariableBytes) {
        return Raise{
            {"millrace.limits.data",
             fmt::format("the variables together are larger than {} bytes", kMaxVariableBytes)}};
      }
      values[one.key] = variable ? value_of(*variable) : LazyJson();
    }
    if (auto raised = visit.put("var", LazyJson::of_members(std::move(values)))) return *raised;
    return Leave{};
  }

 private:
  std::vector<VariableReference> variables_;
};

std::unique_ptr<const State> load_getter(StateFields& fields, StateCommon common) {
  std::vector<VariableReference> variables;
  std::set<std::string> keys;
  fields.required_list("variables", [&](StateFields& entry) {
    VariableReference variable = variable_reference(entry);
    if (!variable.key.empty() && !keys.insert(variable.key).second) {
      entry.plain().report("key", "definition.duplicate_key",
                           fmt::format("{} is read twice, but .var has one value for each key; "
                                       "remove one of the entries",
                                       in_quotes(variable.key)));
    }
    variables.push_back(std::move(variable));
  });
  return std::make_unique<Getter>(std::move(common), std::move(variables));
}

}  // namespace

const StateType kGetterState{.name = "getter", .load = load_getter};

}  // namespace millrace
