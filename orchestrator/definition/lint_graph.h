// The states of a definition and the ways between them, for the checks of lint that follow them.
#pragma once

#include <string>
#include <vector>

#include "language/document.h"

namespace millrace {

struct StateNode {
  std::string id;
  std::string type;
  Position at;               ///< of the id
  std::vector<size_t> next;  ///< states that a way out or an entry of `catch` leads to
  bool may_end = false;      ///< some way out leads nowhere, or the state can fail by its nature
  bool waits = false;        ///< for events, time or a call
};

/// The states, in the order of the text, and where an instance may begin.
struct StateGraph {
  std::vector<StateNode> states;
  std::vector<size_t> entries;
};

/// For a document that the loader takes.
StateGraph state_graph(const Node& document);

/// Which states an instance can come to.
std::vector<bool> reachable(const StateGraph& graph);

/// Which states an instance can come to from the start alone, without `on_failure`.
std::vector<bool> reachable_from_start(const Node& document, StateGraph graph);

/// Which states lead to the end or to a wait.
std::vector<bool> leading_out(const StateGraph& graph);

}  // namespace millrace
