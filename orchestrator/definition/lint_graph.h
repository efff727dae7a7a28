// The graph of a definition's states and transitions, for lint checks.
#pragma once

#include <string>
#include <vector>

#include "language/document.h"

namespace millrace {

struct StateNode {
  std::string id;
  std::string type;
  Position at;               ///< where its id is written
  std::vector<size_t> next;  ///< states that an exit or an entry of `catch` leads to, also in the
                             ///< next run
  bool may_end = false;      ///< an exit ends the instance, or the state type can fail
  bool waits = false;        ///< the state waits for events, time or a call
};

/// The states, in the order of the text, and the states in which an instance may begin.
struct StateGraph {
  std::vector<StateNode> states;
  std::vector<size_t> entries;
};

/// The graph of a document that loads.
StateGraph state_graph(const Node& document);

/// Which states an instance can enter.
std::vector<bool> reachable(const StateGraph& graph);

/// Which states an instance can enter by transitions and `catch` from its first state on; not those
/// that only `on_failure` leads to.
std::vector<bool> reachable_from_start(const Node& document, StateGraph graph);

/// From which states an instance can reach its end or a wait.
std::vector<bool> leading_out(const StateGraph& graph);

}  // namespace millrace
