// What is known about the results of a fast lane program before it runs: whether there is always
// one, and whether it may show the order of keys. Private to fast_lane_parser.cc.
#pragma once

#include "expressions/fast_lane_node.h"

namespace millrace::fast {

/// Whether the node may have no result at all.
bool may_be_empty(const Node& node);

/// Whether the jq program may write, as text, an object whose keys are not sorted.
bool may_show_order(const Node& root);

}  // namespace millrace::fast
