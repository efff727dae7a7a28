#include "orchestrator/definition/lint_compensations.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "language/grammar.h"
#include "language/policy_fields.h"
#include "language/walk.h"
#include "orchestrator/definition/lint_graph.h"
#include "orchestrator/definition/lint_nodes.h"
#include "orchestrator/definition/read_members.h"

namespace millrace {
namespace {

/// The types of states that change nothing outside their instance.
constexpr std::array<std::string_view, 8> kIdleTypes = {
    "consumeEvent", "delay", "eventAnd", "eventXor", "getter", "noop", "switch", "validate"};

/// Whether the state changes nothing outside its instance, or nothing that outlives it.
bool is_idle(const Node& state, std::string_view type) {
  if (type != "setter") {
    return std::find(kIdleTypes.begin(), kIdleTypes.end(), type) != kIdleTypes.end();
  }
  const std::vector<Node>& variables = items_of(state, "variables");
  return std::all_of(variables.begin(), variables.end(), [](const Node& one) {
    const std::string scope = text_of(one, "scope");
    return scope.empty() || scope == "instance";
  });
}

bool makes_several_calls(std::string_view type) { return type == "foreach" || type == "parallel"; }

/// The members of the data that the `input` of a compensation reads; nullopt: it has no input, the
/// loader reports it, or it may read any member.
std::optional<std::set<std::string>> members_of_undo_input(const Node& compensate) {
  const Node* const input = value_of(compensate, "input");
  if (input == nullptr) return std::nullopt;
  const auto value = Template::literal_or_jq(to_json(*input), Template::Dot::kIdentity);
  if (!value) return std::nullopt;
  return members_read(*value);
}

/// Whether the state waits for calls, whose result `.return` is when it is left.
bool waits_for_calls(const Node& state, std::string_view type) {
  return makes_several_calls(type) || (type == "action" && text_of(state, "async") != "true");
}

/// The member of the mapping with that key; null if it has none, or an empty value.
const Member* member_of(const Node& node, const KeyRule& key) {
  for (const std::string_view name : key.names()) {
    const Member* const member = node.find(name);
    if (member == nullptr) continue;
    const Node& value = member->value;
    const bool is_empty = value.kind == Node::Kind::kNull ||
                          (value.kind == Node::Kind::kString && value.text.empty());
    return is_empty ? nullptr : member;
  }
  return nullptr;
}

/// What the exits of a state do, without the entries of `catch`: a state that has failed notes
/// nothing.
struct Exits {
  bool leads_on = false;    ///< an exit leads to another state
  bool renews = false;      ///< an exit begins the next run
  bool transforms = false;  ///< an exit has a `transform`, which may fail
};

void add_exits(const Node& node, const Mapping& grammar, Exits& exits) {
  for (const Keys group : keys_of(node, grammar)) {
    for (const KeyRule& key : group) {
      const Member* const member = member_of(node, key);
      if (member == nullptr || key.is("catch")) continue;
      if (key.kind == KeyRule::Kind::kState) exits.leads_on = true;
      if (is_next_run_key(key)) exits.renews = true;
      if (key.is("transform") || key.is("defaultTransform")) exits.transforms = true;
      if (key.object == nullptr) continue;
      if (!key.list) add_exits(member->value, *key.object, exits);
      for (const Node& item : member->value.items) add_exits(item, *key.object, exits);
    }
  }
}

/// Which states an instance may enter with an error with which it ends: through `on_failure`, or
/// after an Error state.
std::vector<bool> with_error(const Node& document, StateGraph graph) {
  graph.entries.clear();
  for (const StateNode& state : graph.states) {
    if (state.type != "error") continue;
    graph.entries.insert(graph.entries.end(), state.next.begin(), state.next.end());
  }
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    const bool names_state =
        place.rule.kind == KeyRule::Kind::kState || place.rule.instead == KeyRule::Kind::kState;
    if (!names_state || place.path.starts_with("states") || place.path.starts_with("start.")) {
      return;
    }
    for (size_t i = 0; i < graph.states.size(); ++i) {
      if (graph.states[i].id == place.member.value.text) graph.entries.push_back(i);
    }
  });
  return reachable(graph);
}

/// From which states a way leads to that state.
std::vector<bool> leading_to(const StateGraph& graph, size_t state) {
  StateGraph back;
  back.states.resize(graph.states.size());
  for (size_t i = 0; i < graph.states.size(); ++i) {
    for (const size_t next : graph.states[i].next) back.states[next].next.push_back(i);
  }
  back.entries = back.states[state].next;
  return reachable(back);
}

/// A key `compensate` of the definition.
struct CompensateKey {
  std::string path;
  Position at;
};

class CompensationLinter {
 public:
  CompensationLinter(const Node& document, Findings& findings)
      : document_(document), findings_(findings) {}

  void run(bool loads) {
    if (loads) graph_ = state_graph(document_);
    const std::vector<Node>& states = items_of(document_, "states");
    for (size_t i = 0; i < states.size(); ++i) check_state(i, states[i], path_of("states", i));
    ask(document_, "compensate");
    if (const Node* const on_failure = value_of(document_, "on_failure")) {
      ask(*on_failure, path_of("on_failure", "compensate"));
    }
    if (loads) compare(states);
  }

 private:
  /// A state that has `compensate` with a function.
  struct NotingState {
    size_t index;
    std::string path;  ///< of the key
    const Member* key;
  };

  void check_state(size_t index, const Node& state, const std::string& path) {
    const Member* const key = state.find("compensate");
    if (key == nullptr) return;
    const std::string own = path_of(path, "compensate");
    const std::string_view type = type_of_state(state);
    if (type == "error") return ask(state, own);
    if (!noted_) noted_ = CompensateKey{own, key->at};
    if (makes_several_calls(type)) check_input(key->value, own);
    check_attempts(key->value, own);
    check_own_batch(key->value, own);
    if (is_idle(state, type)) {
      const std::string doubt =
          type == "setter"
              ? "the state sets only variables of the instance, which end with it"
              : fmt::format("the state changes nothing outside its instance (its type is {})",
                            type);
      findings_.warning("lint.compensation_idle", own, key->at,
                        doubt + ", so there is nothing to undo",
                        "write `compensate` on the state that does what is undone, or remove it");
      return;
    }
    noting_.push_back({index, own, key});
  }

  /// Warns of a policy of the compensation itself that permits no attempt.
  void check_attempts(const Node& compensate, const std::string& path) {
    const Member* const retries = find_retries(compensate);
    if (retries == nullptr) return;
    const std::string own = path_of(path, retries->key);
    Findings none;  // the loader has reported these findings
    const auto written = read_retries(*retries, own, none);
    if (!written || none.has_errors() || written->policy.attempts != 0U) return;
    findings_.warning("lint.compensation_never", own, retries->at,
                      "this policy permits no attempt, so the compensation always fails with "
                      "millrace.compensation.skipped",
                      "permit one attempt at least, or remove the policy");
  }

  /// Warns of a compensation that calls its own workflow, which has `batch`.
  void check_own_batch(const Node& compensate, const std::string& path) {
    const Node* const called = value_of(compensate, "function");
    if (called == nullptr || document_.find("batch") == nullptr) return;
    for (const Node& function : items_of(document_, "functions")) {
      const bool is_own = text_of(function, "id") == called->text &&
                          type_of_function(function) == "subflow" &&
                          text_of(function, "workflow") == text_of(document_, "id");
      if (!is_own) continue;
      findings_.warning("lint.compensation_never", path_of(path, "function"), called->at,
                        "the function calls this workflow, which has `batch` and returns its "
                        "result to no call: the compensation always fails with "
                        "millrace.compensation.batch",
                        "call a workflow without `batch`");
    }
  }

  /// Warns of a state whose notes are dropped at once: each of its exits completes the instance or
  /// begins the next run. A state that waits for calls may be cancelled while a task runs, whose
  /// work is then undone; a `transform` may fail after the note.
  void check_exits(const NotingState& one, const Node& state, const std::vector<bool>& failing) {
    Exits exits;
    add_exits(state, state_grammar(), exits);
    if (exits.leads_on || failing[one.index]) return;
    if (waits_for_calls(state, type_of_state(state))) return;
    if (exits.transforms && !exits.renews) return;
    findings_.warning(
        "lint.compensation_never", one.path, one.key->at,
        exits.renews ? "the state ends its run by `continueAsNew`, or completes the instance, and "
                       "both drop the compensation that it notes"
                     : "the instance completes when it leaves this state, and drops the "
                       "compensation that it notes",
        "let the state lead to the states that may fail after it, or remove the key");
  }

  /// Warns of an input that reads the `.return` of a state that sets none, if no state before it
  /// does either.
  void check_return(const NotingState& one, const std::vector<Node>& states) {
    if (waits_for_calls(states[one.index], type_of_state(states[one.index]))) return;
    const auto members = members_of_undo_input(one.key->value);
    if (!members || !members->contains("return")) return;
    const std::vector<bool> before = leading_to(graph_, one.index);
    for (size_t i = 0; i < states.size(); ++i) {
      if (!before[i]) continue;
      const std::string_view type = type_of_state(states[i]);
      Exits exits;
      add_exits(states[i], state_grammar(), exits);
      if (exits.transforms || type == "getter" || waits_for_calls(states[i], type)) return;
    }
    const bool is_async = type_of_state(states[one.index]) == "action";
    findings_.warning(
        "lint.compensation_input", path_of(one.path, "input"),
        value_of(one.key->value, "input")->at,
        fmt::format("{}, and no state before it sets `.return`, so it is null unless the input of "
                    "the instance has it",
                    is_async ? "an `async` call has no result" : "this state makes no call"),
        "read another member of the data, such as one by which the function finds what it undoes");
  }

  /// Warns of an `input` that reads the data of the instance, which the compensations of calls do
  /// not have.
  void check_input(const Node& compensate, const std::string& path) {
    const auto members = members_of_undo_input(compensate);
    if (!members) return;
    const auto other = std::find_if(members->begin(), members->end(),
                                    [](const std::string& one) { return one != "return"; });
    if (other == members->end()) return;
    findings_.warning(
        "lint.compensation_input", path_of(path, "input"), value_of(compensate, "input")->at,
        fmt::format(
            "each call of the state has a compensation of its own, whose input is evaluated "
            "over `.return` alone, so the member {} is always null",
            in_quotes(*other)),
        "let the function return what its compensation needs, and read it from `.return`");
  }

  /// Notes a place that asks for the compensations.
  void ask(const Node& node, const std::string& path) {
    const Member* const key = node.find("compensate");
    if (key != nullptr && key->value.text == "true" && !asked_)
      asked_ = CompensateKey{path, key->at};
  }

  void compare(const std::vector<Node>& states) {
    if (graph_.states.size() == states.size()) {
      const std::vector<bool> failing = with_error(document_, graph_);
      for (const NotingState& one : noting_) {
        if (asked_) check_exits(one, states[one.index], failing);
        check_return(one, states);
      }
    }
    if (noted_ && !asked_) {
      findings_.warning("lint.compensation_never", noted_->path, noted_->at,
                        "nothing asks for the compensations of this workflow, so only an operator "
                        "can make them",
                        "write `compensate: true` in the workflow, in its `on_failure` or in an "
                        "Error state");
    } else if (asked_ && !noted_) {
      findings_.warning("lint.compensation_never", asked_->path, asked_->at,
                        "no state has `compensate`, so there is nothing to make",
                        "write `compensate` on the states whose work is to be undone, or remove "
                        "this key");
    }
  }

  const Node& document_;
  Findings& findings_;
  std::optional<CompensateKey> noted_;  ///< the first `compensate` with a function
  std::optional<CompensateKey> asked_;  ///< the first `compensate: true`
  std::vector<NotingState> noting_;     ///< those that have something to undo
  StateGraph graph_;
};

}  // namespace

void lint_compensations(const Node& document, bool loads, Findings& findings) {
  CompensationLinter(document, findings).run(loads);
}

}  // namespace millrace
