#include "orchestrator/definition/lint_idle.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "expressions/program_facts.h"
#include "expressions/template.h"
#include "orchestrator/definition/lint_graph.h"
#include "orchestrator/definition/lint_nodes.h"
#include "policies/vocabularies.h"

namespace millrace {
namespace {

class IdleLinter {
 public:
  IdleLinter(const Node& document, Findings& findings)
      : document_(document), findings_(findings), states_(items_of(document, "states")) {}

  void check_states() {
    for (size_t i = 0; i < states_.size(); ++i) {
      const std::string path = path_of("states", i);
      const std::string_view type = type_of_state(states_[i]);
      if (type == "generateEvent") {
        if (const Node* const event = value_of(states_[i], "event")) {
          check_content_type(*event, path_of(path, "event"), "data", "datacontenttype");
        }
      } else if (type == "setter") {
        check_setter(states_[i], path_of(path, "variables"));
      }
    }
    check_start();
  }

  /// Runs the checks that depend on several places of the definition.
  void check_whole() {
    check_defaults();
    check_error_states();
  }

 private:
  void check_start() {
    const Node* const start = value_of(document_, "start");
    if (start == nullptr) return;
    const Node* const lifespan = value_of(*start, "lifespan");
    if (lifespan != nullptr && items_of(*start, "events").size() == 1) {
      findings_.warning("lint.timeout_never", "start.lifespan", lifespan->at,
                        "`lifespan` has no effect: with one entry no event waits for others",
                        "remove `lifespan`, or write another entry in `events`");
    }
    std::set<std::string> named;
    const std::vector<Node>& correlate = items_of(*start, "correlate");
    for (size_t i = 0; i < correlate.size(); ++i) {
      if (named.insert(to_lower(correlate[i].text)).second) continue;
      findings_.warning("lint.unused", path_of("start.correlate", i), correlate[i].at,
                        "this attribute is in the list already", "remove it");
    }
  }

  /// Finds a content type without an effect: only a string is sent with the content type; any other
  /// value is sent as JSON.
  void check_content_type(const Node& node, const std::string& path, std::string_view value_key,
                          std::string_view type_key) {
    const Node* const value = value_of(node, value_key);
    const Node* const type = value_of(node, type_key);
    if (value == nullptr || type == nullptr || type->text.empty() ||
        is_json_content_type(type->text)) {
      return;
    }
    const auto written = Template::literal_or_jq(to_json(*value), Template::Dot::kIdentity);
    if (!written) return;
    const ProgramFacts facts = facts_of(*written);
    const bool deletes = facts.value && facts.value->is_null();
    if (facts.type.empty() || facts.type == "string" || deletes) return;
    findings_.warning(
        "lint.content_type", path_of(path, type_key), type->at,
        fmt::format("this key has no effect: `{}` yields a value of the type {}, which is always "
                    "sent or stored as JSON",
                    value_key, facts.type),
        fmt::format("remove this key, or write a query in `{}` that yields a string", value_key));
  }

  void check_setter(const Node& state, const std::string& path) {
    const std::vector<Node>& entries = items_of(state, "variables");
    std::map<std::pair<std::string, std::string>, size_t> last;
    for (size_t i = entries.size(); i-- > 0;) {
      const std::string entry = path_of(path, i);
      check_content_type(entries[i], entry, "value", "mimeType");
      const Node* const key = value_of(entries[i], "key");
      if (key == nullptr) continue;
      std::string scope = text_of(entries[i], "scope");
      if (scope.empty()) scope = "instance";
      const auto [later, is_last] = last.emplace(std::pair(std::move(scope), key->text), i);
      if (is_last) continue;
      findings_.warning(
          "lint.variable_hidden", path_of(entry, "key"), key->at,
          fmt::format("this value is never read: entry {} sets the same variable, in the same step",
                      later->second),
          "remove this entry, or write another `key`");
    }
  }

  /// Finds a `defaults` that no action uses: `defaults` applies only to actions without a retry
  /// policy.
  void check_defaults() {
    const Node* const defaults = value_of(document_, "defaults");
    if (defaults == nullptr) return;
    for (const ActionSite& site : actions_of(document_)) {
      const bool has_policy = find_retries(*site.action) != nullptr ||
                              find_retries(*site.state) != nullptr ||
                              (site.function != nullptr && find_retries(*site.function) != nullptr);
      if (!site.is_async && !has_policy) return;
    }
    findings_.note("lint.unused", "defaults", defaults->at,
                   "no action uses `defaults`: each action that is not `async` has its own policy, "
                   "or that of its state or function",
                   "remove `defaults`");
  }

  /// Finds Error states whose error is never the error that the instance ends with: the instance
  /// keeps the first error that is set, and an instance that enters `on_failure` already has an
  /// error.
  void check_error_states() {
    StateGraph graph = state_graph(document_);
    if (graph.states.size() != states_.size()) return;
    const std::vector<bool> reached = reachable(graph);
    std::map<std::string_view, size_t> numbers;
    for (size_t i = 0; i < graph.states.size(); ++i) numbers.emplace(graph.states[i].id, i);
    const auto number_of = [&](const Node& node, std::string_view key) {
      return numbers.find(text_of(node, key));
    };
    for (size_t i = 0; i < states_.size(); ++i) {
      if (graph.states[i].type != "error") continue;
      // `catch` may lead to another state before this state sets its error.
      graph.states[i].next.clear();
      for (const Node& entry : items_of(states_[i], "catch")) {
        const auto to = number_of(entry, "transition");
        if (to != numbers.end()) graph.states[i].next.push_back(to->second);
      }
    }
    const std::vector<bool> reached_without = reachable_from_start(document_, graph);
    check_next_runs(reached, reached_without);
    for (size_t i = 0; i < states_.size(); ++i) {
      if (graph.states[i].type != "error" || !reached[i] || reached_without[i]) continue;
      const Node* const error = value_of(states_[i], "error");
      if (error == nullptr) continue;
      findings_.warning("lint.error_never", path_of(path_of("states", i), "error"), error->at,
                        "the instance never ends with this error: every path to this state passes "
                        "another Error state or `on_failure`, and the first error stays",
                        "remove this state, or write a `transition` to it in a state before those");
    }
  }

  /// Finds a `continueAsNew` that never begins another run: an instance that has an error ends with
  /// it. `reached_without`: the states that instances without an error enter.
  void check_next_runs(const std::vector<bool>& reached, const std::vector<bool>& reached_without) {
    for (size_t i = 0; i < states_.size(); ++i) {
      if (!reached[i]) continue;
      const std::string path = path_of("states", i);
      const std::string in_catch = path_of(path, "catch");
      const bool is_error_state = type_of_state(states_[i]) == "error";
      walk(states_[i], state_grammar(), path, [&](const Place& place) {
        if (!is_next_run_key(place.rule)) return;
        const bool is_after_error = is_error_state && !place.path.starts_with(in_catch);
        if (reached_without[i] && !is_after_error) return;
        findings_.warning(
            "lint.continue_never", place.path, place.member.at,
            "no run follows: the instance has an error here, from an Error state or because it "
            "goes through `on_failure`, and ends with it",
            "remove this key, or write it in a state that instances without an error enter");
      });
    }
  }

  const Node& document_;
  Findings& findings_;
  const std::vector<Node>& states_;
};

}  // namespace

void lint_idle(const Node& document, bool loads, Findings& findings) {
  IdleLinter linter(document, findings);
  linter.check_states();
  if (loads) linter.check_whole();
}

}  // namespace millrace
