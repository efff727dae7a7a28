#include "orchestrator/store/rows/start_bounds.h"

#include <algorithm>

#include "orchestrator/store/rows/damage.h"

namespace millrace {

void StartBounds::include(const InstanceId& id, TimePoint started_at) {
  // The id of a damaged row may have a time that the store has for no other purpose.
  const Duration late = started_at - std::min(time_of(id), kLastTime);
  early_by = std::max(early_by, -late);
  late_by = std::max(late_by, late);
  if (late > kLate) late_until = std::max(late_until, started_at);
}

void StartBounds::include(const StartBounds& other) {
  early_by = std::max(early_by, other.early_by);
  late_by = std::max(late_by, other.late_by);
  late_until = std::max(late_until, other.late_until);
}

bool StartBounds::covers(const StartBounds& other) const {
  return early_by >= other.early_by && late_by >= other.late_by && late_until >= other.late_until;
}

TimePoint StartBounds::lowest_for(TimePoint since) const {
  return since - (since > late_until ? std::min(late_by, kLate) : late_by);
}

}  // namespace millrace
