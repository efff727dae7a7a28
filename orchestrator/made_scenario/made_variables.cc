#include "orchestrator/made_scenario/made_variables.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/made_scenario/record_detail.h"

namespace millrace {
namespace {

using ScopedKey = std::pair<std::string, std::string>;

/// The variables that a getter or setter names.
std::vector<ScopedKey> variables_of(const Json& state) {
  std::vector<ScopedKey> all;
  const auto list = state.find("variables");
  if (!state.is_object() || list == state.end() || !list->is_array()) return all;
  for (const Json& one : *list) {
    const std::string scope = text_in(one, "scope");
    all.emplace_back(scope.empty() ? "instance" : scope, text_in(one, "key"));
  }
  return all;
}

class VariableMaker {
 public:
  Status read(const ScopedKey& variable, const std::optional<Json>& seen,
              const std::string& state) {
    const auto& [scope, key] = variable;
    if (own_.contains(variable)) return {};
    if (!seen) {
      if (scope == "instance") return {};
      return fail("scenario.not_recorded",
                  fmt::format("the history does not have the value of the variable \"{}\" that "
                              "state \"{}\" has read; write the scenario by hand",
                              key, state));
    }
    const Json value = seen->is_object() ? seen->value(key, Json()) : Json();
    const auto known = read_.find(key);
    if (scope != "namespace" && value.is_null()) return {};
    if (scope != "namespace" || (known != read_.end() && known->second != value)) {
      return fail("scenario.not_expressible",
                  fmt::format("the variable \"{}\" that state \"{}\" has read was set by something "
                              "else than the instance; a scenario has only variables of the "
                              "namespace, which exist from its start on",
                              key, state));
    }
    read_.emplace(key, value);
    return {};
  }

  void set(const ScopedKey& variable) { own_.insert(variable); }

  std::map<std::string, Json> variables() && {
    std::erase_if(read_, [](const auto& one) { return one.second.is_null(); });
    return std::move(read_);
  }

 private:
  std::set<ScopedKey> own_;  ///< those that the instance has set
  std::map<std::string, Json> read_;
};

}  // namespace

Result<std::map<std::string, Json>> made_variables(const ReadDefinition& definition,
                                                   const std::vector<HistoryRecord>& history,
                                                   const ObservedData& data) {
  VariableMaker maker;
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].kind != HistoryKind::kEntered) continue;
    const Json& state = definition.state(history[i].state);
    const std::string type = text_in(state, "type");
    if (type != "getter" && type != "setter") continue;
    const WayOut left = how_left(history, i);
    const bool has_acted = left == WayOut::kExit || left == WayOut::kTransform;
    if (!has_acted) continue;
    const std::vector<ScopedKey> variables = variables_of(state);
    const auto seen = type == "getter" ? data.on_leaving(i, "var") : std::nullopt;
    for (const ScopedKey& variable : variables) {
      if (type == "setter") {
        maker.set(variable);
      } else {
        TRY(maker.read(variable, seen, history[i].state));
      }
    }
  }
  return std::move(maker).variables();
}

}  // namespace millrace
