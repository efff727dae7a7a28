// WorkLane: the owner of some work on the engine thread. Work of one lane is done in its order;
// lanes take turns (orchestrator/loop/fair_shares.h).
#pragma once

#include <compare>

#include "model/instance.h"

namespace millrace {

struct WorkLane {
  NamespaceNumber ns{};
  /// 0: the work belongs to the namespace as a whole, or its workflow is not known.
  WorkflowNumber workflow{};

  auto operator<=>(const WorkLane&) const = default;
};

inline WorkLane lane_of(const Instance& instance) {
  return {instance.ns, instance.revision.workflow};
}

}  // namespace millrace
