#include "cluster/node_twin.h"

namespace millrace {

bool gives_way(const NodeTwin& own, const NodeTwin& other) {
  if (own.is_active) return false;
  return other.is_active || own.incarnation > other.incarnation;
}

}  // namespace millrace
