#include "orchestrator/definition/lint_nodes.h"

#include <map>

namespace millrace {

size_t first_state(const Node& document) {
  const Node* const start = value_of(document, "start");
  const std::string id = start == nullptr ? "" : text_of(*start, "state");
  const std::vector<Node>& states = items_of(document, "states");
  const auto named = std::find_if(states.begin(), states.end(),
                                  [&](const Node& state) { return text_of(state, "id") == id; });
  return id.empty() || named == states.end() ? 0 : static_cast<size_t>(named - states.begin());
}

std::vector<ActionSite> actions_of(const Node& document) {
  std::map<std::string_view, size_t> functions;  // by id
  const std::vector<Node>& defined = items_of(document, "functions");
  for (size_t i = 0; i < defined.size(); ++i) {
    if (const Node* const id = value_of(defined[i], "id")) functions.emplace(id->text, i);
  }
  std::vector<ActionSite> sites;
  const auto add = [&](ActionSite site, const Node& action, std::string path) {
    site.action = &action;
    site.path = std::move(path);
    const Node* const name = value_of(action, "function");
    const auto found = functions.find(name == nullptr ? "" : name->text);
    if (found != functions.end()) {
      site.function = &defined[found->second];
      site.function_path = path_of("functions", found->second);
    }
    sites.push_back(std::move(site));
  };
  const std::vector<Node>& states = items_of(document, "states");
  for (size_t i = 0; i < states.size(); ++i) {
    const std::string path = path_of("states", i);
    ActionSite site{.state = &states[i], .state_index = i};
    const std::string_view type = type_of_state(states[i]);
    if (type == "action" || type == "foreach") {
      const Node* const action = value_of(states[i], "action");
      site.is_async = type == "action" && text_of(states[i], "async") == "true";
      if (action != nullptr) add(site, *action, path_of(path, "action"));
    } else if (type == "parallel") {
      site.is_any = text_of(states[i], "mode") == "or";
      const std::vector<Node>& actions = items_of(states[i], "actions");
      for (size_t n = 0; n < actions.size(); ++n) {
        add(site, actions[n], path_of(path_of(path, "actions"), n));
      }
    }
  }
  return sites;
}

std::vector<CompensationSite> compensations_of(const Node& document) {
  std::map<std::string_view, const Node*> functions;
  for (const Node& function : items_of(document, "functions")) {
    if (const Node* const id = value_of(function, "id")) functions.emplace(id->text, &function);
  }
  std::vector<CompensationSite> sites;
  const std::vector<Node>& states = items_of(document, "states");
  for (size_t i = 0; i < states.size(); ++i) {
    const Node* const undo = value_of(states[i], "compensate");
    const Node* const function = undo == nullptr ? nullptr : value_of(*undo, "function");
    const auto found = function == nullptr ? functions.end() : functions.find(function->text);
    if (found == functions.end()) continue;
    sites.push_back({undo, path_of(path_of("states", i), "compensate"), found->second});
  }
  return sites;
}

}  // namespace millrace
