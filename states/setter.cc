// setter (Direktiv's SetterState): stores values as variables; null deletes a variable. The data
// does not change.
#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/headers.h"
#include "states/state_fields.h"
#include "states/types.h"
#include "states/variable_fields.h"
#include "states/visit.h"

namespace millrace {
namespace {

struct Setting {
  VariableReference variable;
  Template value;
  std::optional<std::string> content_type;
};

/// The variable for a value: JSON, unless the content type is not JSON and the value is a string.
/// Then a `text/` type stores the text itself; any other type stores the bytes decoded from Base64,
/// or the text if it is not Base64.
Variable variable_of(const LazyJson& value, const std::optional<std::string>& content_type) {
  if (is_json_content_type(content_type)) {
    return {.content_type = content_type.value_or("application/json"), .bytes = value.text()};
  }
  if (!value.is_string()) return {.content_type = "application/json", .bytes = value.text()};
  std::string text = value.string();
  if (to_lower(*content_type).starts_with("text/"))
    return {.content_type = *content_type, .bytes = text};
  return {.content_type = *content_type, .bytes = base64_decode(text).value_or(text)};
}

class Setter final : public State {
 public:
  Setter(StateCommon common, std::vector<Setting> settings)
      : State(std::move(common)), settings_(std::move(settings)) {}

  Outcome enter(Visit& visit) const override {
    std::vector<const Template*> templates;
    for (const Setting& one : settings_) templates.push_back(&one.value);
    auto values = visit.evaluate(templates);
    if (!values) return std::move(values).error();

    std::vector<std::optional<Variable>> variables(settings_.size());
    for (size_t i = 0; i < settings_.size(); ++i) {
      const LazyJson& value = (*values)[i];
      if (value.is_null()) continue;
      variables[i] = variable_of(value, settings_[i].content_type);
      if (variables[i]->bytes.size() > kMaxVariableBytes) {
        return Raise{{"millrace.limits.variable",
                      fmt::format("variable \"{}\" would have {} bytes; the limit is {}",
                                  settings_[i].variable.key, variables[i]->bytes.size(),
                                  kMaxVariableBytes)}};
      }
    }
    for (size_t i = 0; i < settings_.size(); ++i) {
      if (!variables[i]) continue;
      const VariableReference& name = settings_[i].variable;
      auto raised = visit.refuse_variable(name.scope, name.key, variables[i]->bytes.size());
      if (raised) return *std::move(raised);
    }
    for (size_t i = 0; i < settings_.size(); ++i) {
      const VariableReference& name = settings_[i].variable;
      visit.set_variable(name.scope, name.key, std::move(variables[i]));
    }
    return Leave{};
  }

 private:
  std::vector<Setting> settings_;
};

/// Reads `value`. Here null is a valid value, which deletes the variable.
Template load_value(StateFields& entry) {
  if (!entry.plain().require("value")) return {};
  const Node* const node = entry.plain().node("value");
  if (node != nullptr && node->kind == Node::Kind::kString && node->text.empty()) {
    entry.plain().report("value", "definition.empty",
                         "the value is empty; write jq(\"\") for an empty text, null to delete the "
                         "variable");
  }
  return entry.command("value").value_or(Template());
}

std::unique_ptr<const State> load_setter(StateFields& fields, StateCommon common) {
  std::vector<Setting> settings;
  fields.required_list("variables", [&](StateFields& entry) {
    Setting setting{.variable = variable_reference(entry)};
    setting.value = load_value(entry);
    setting.content_type = entry.content_type("mimeType");
    settings.push_back(std::move(setting));
  });
  return std::make_unique<Setter>(std::move(common), std::move(settings));
}

}  // namespace

const StateType kSetterState{.name = "setter", .load = load_setter};

}  // namespace millrace
