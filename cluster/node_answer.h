// What a node of a cluster reads in the answers of the other nodes (broker/node_roll.h). An answer
// is input from outside: what is missing or of another type reads as zero or empty. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "cluster/log_rank.h"

namespace millrace {

/// The text of a member.
std::string text_in(const Json& state, const char* name);

/// The code of the error with which the node is not ready; empty: it is ready.
std::string error_in(const Json& state);

/// How much of the log the node has whose state that is, as it says.
RankedNode rank_in(const Json& state);
/// The same of each of the nodes.
std::vector<RankedNode> ranks_in(std::span<const Json> states);

/// The state of the node that says that it is the active; null: none does.
const Json* active_in(std::span<const Json> states);

}  // namespace millrace
