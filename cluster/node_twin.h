// Two processes that answer with one node id: the data folder of a node was copied, and both copies
// run. One of them takes another id. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace millrace {

struct NodeTwin {
  bool is_active = false;
  std::array<uint8_t, 16> incarnation{};
};

/// Whether the process `own` takes another id, and `other` keeps the id. The active keeps it; of
/// two standbys that with the lower incarnation. Of two processes at most one takes another id, so
/// the id is never given up by both.
bool gives_way(const NodeTwin& own, const NodeTwin& other);

}  // namespace millrace
