#include "orchestrator/definition/lint_graph.h"

#include <algorithm>
#include <array>
#include <map>

#include "language/grammar.h"
#include "language/walk.h"
#include "orchestrator/definition/lint_nodes.h"

namespace millrace {
namespace {

using Numbers = std::map<std::string, size_t, std::less<>>;

/// Whether states of that type wait for an event, a time or a call.
bool is_waiting_type(const Mapping* type) {
  constexpr std::array<std::string_view, 7> kWaiting = {
      "action", "consumeEvent", "delay", "eventAnd", "eventXor", "foreach", "parallel"};
  return type != nullptr &&
         std::find(kWaiting.begin(), kWaiting.end(), type->types[0]) != kWaiting.end();
}

/// The states by their ids, and the state in which a run begins.
struct StateNumbers {
  Numbers by_id;
  size_t first = 0;
};

/// Whether `continueAsNew` stands in the place of the absent key, so that the next run follows.
bool begins_next_run(const Node& node, const KeyRule& transition) {
  const bool is_default = transition.name == "defaultTransition";
  const Node* const input = value_of(node, is_default ? "defaultContinueAsNew" : "continueAsNew");
  if (input == nullptr || input->kind == Node::Kind::kNull) return false;
  return input->kind != Node::Kind::kString || !input->text.empty();
}

/// Adds a transition for every key of the grammar that names a state. If the node does not have
/// such a key, the exit ends the instance, or leads to the first state in the next run.
void add_ways(const Node& node, const Mapping& grammar, const StateNumbers& numbers,
              StateNode& state) {
  for (const Keys group : keys_of(node, grammar)) {
    for (const KeyRule& key : group) {
      const Member* member = nullptr;
      for (const std::string_view name : key.names()) {
        if (member == nullptr) member = node.find(name);
      }
      if (key.kind == KeyRule::Kind::kState) {
        const auto found = numbers.by_id.find(member == nullptr ? "" : member->value.text);
        if (found == numbers.by_id.end()) {
          if (begins_next_run(node, key)) {
            state.next.push_back(numbers.first);
          } else {
            state.may_end = true;
          }
        } else {
          state.next.push_back(found->second);
        }
      } else if (key.object != nullptr && member != nullptr) {
        if (!key.list) add_ways(member->value, *key.object, numbers, state);
        for (const Node& item : member->value.items) add_ways(item, *key.object, numbers, state);
      }
    }
  }
}

/// All nodes that can be reached from `begin`.
std::vector<bool> flood(const std::vector<std::vector<size_t>>& ways, std::vector<size_t> begin) {
  std::vector<bool> seen(ways.size(), false);
  while (!begin.empty()) {
    const size_t one = begin.back();
    begin.pop_back();
    if (seen[one]) continue;
    seen[one] = true;
    begin.insert(begin.end(), ways[one].begin(), ways[one].end());
  }
  return seen;
}

}  // namespace

StateGraph state_graph(const Node& document) {
  StateGraph graph;
  const Member* const states = document.find("states");
  if (states == nullptr) return graph;
  StateNumbers places;
  Numbers& numbers = places.by_id;
  for (const Node& node : states->value.items) {
    const Member* const id = node.find("id");
    const Member* const type = node.find("type");
    if (id == nullptr || type == nullptr) continue;
    numbers.emplace(id->value.text, graph.states.size());
    const Mapping* const table = state_grammar().kind(type->value.text);
    graph.states.push_back({.id = id->value.text,
                            .type = type->value.text,
                            .at = id->value.at,
                            .may_end = table != nullptr && table->types[0] == "validate",
                            .waits = is_waiting_type(table)});
  }
  if (graph.states.size() != states->value.items.size()) return {};
  if (const Node* const start = value_of(document, "start")) {
    const auto first = numbers.find(text_of(*start, "state"));
    if (first != numbers.end()) places.first = first->second;
  }
  for (size_t i = 0; i < graph.states.size(); ++i) {
    add_ways(states->value.items[i], state_grammar(), places, graph.states[i]);
  }
  // A state that some key outside of the states names is an entry of the graph. If the start names
  // no state, the first state is an entry, too.
  bool has_start = false;
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    const bool names_state =
        place.rule.kind == KeyRule::Kind::kState || place.rule.instead == KeyRule::Kind::kState;
    if (!names_state || place.path.starts_with("states")) return;
    const auto found = numbers.find(place.member.value.text);
    if (found == numbers.end()) return;
    graph.entries.push_back(found->second);
    has_start = has_start || place.path.starts_with("start.");
  });
  if (!has_start && !graph.states.empty()) graph.entries.push_back(0);
  return graph;
}

std::vector<bool> reachable(const StateGraph& graph) {
  std::vector<std::vector<size_t>> ways;
  for (const StateNode& state : graph.states) ways.push_back(state.next);
  return flood(ways, graph.entries);
}

std::vector<bool> reachable_from_start(const Node& document, StateGraph graph) {
  graph.entries.clear();
  if (!graph.states.empty()) graph.entries.push_back(0);
  const Member* const start = document.find("start");
  const Member* const state = start == nullptr ? nullptr : start->value.find("state");
  for (size_t i = 0; state != nullptr && i < graph.states.size(); ++i) {
    if (graph.states[i].id == state->value.text) graph.entries = {i};
  }
  return reachable(graph);
}

std::vector<bool> leading_out(const StateGraph& graph) {
  std::vector<std::vector<size_t>> back(graph.states.size());
  std::vector<size_t> out;
  for (size_t i = 0; i < graph.states.size(); ++i) {
    for (const size_t next : graph.states[i].next) back[next].push_back(i);
    if (graph.states[i].may_end || graph.states[i].waits) out.push_back(i);
  }
  return flood(back, std::move(out));
}

}  // namespace millrace
