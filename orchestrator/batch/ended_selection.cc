#include "orchestrator/batch/ended_selection.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "orchestrator/batch/ended_instances.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"

namespace millrace {
namespace {

/// How many instances of one workflow and status are read from the index at once.
constexpr size_t kInstancesAtOnce = 64;

/// The arguments of each_selected().
struct EndedWalk {
  BatchState& batch;
  const EndedFilter& filter;
  uint64_t end;
  EndedPosition& at;
  PurgeBudget& budget;
  const std::function<Result<bool>(const Instance& head)>& see;
};

/// Goes through the instances of the current workflow and status; returns whether it has gone
/// through all that the filter selects.
Result<bool> see_with_status(const EndedWalk& walk) {
  const EndedFilter& filter = walk.filter;
  EndedPosition& at = walk.at;
  const Transaction& tx = walk.batch.tx;
  std::optional<TimePoint> bound;  // instances with this time or a later one in their ids end later
  if (filter.before) {
    const auto bounds = TRY(read_start_bounds(tx, filter.ns));
    if (bounds) bound = bounds->end_for(*filter.before);
  }
  std::vector<InstanceId> ids;
  do {
    ids.clear();
    TRY(each_by_status(
        tx, filter.ns, at.workflow, *at.status, at.behind,
        [&](const InstanceId& id) {
          ids.push_back(id);
          return ids.size() < kInstancesAtOnce;
        },
        walk.batch.damages.noting()));
    for (const InstanceId& id : ids) {
      if (walk.budget.is_spent()) return false;
      if (bound && time_of(id) >= *bound) return true;
      const auto head = TRY(read_deletable(walk.batch, filter.ns, id, *at.status, walk.budget));
      const bool is_one = head && head->last_history < walk.end &&
                          (!filter.before || head->ended_at < filter.before);
      if (is_one && !TRY(walk.see(*head))) return false;
      at.behind = id;
    }
  } while (ids.size() == kInstancesAtOnce);
  return true;
}

}  // namespace

Result<bool> each_selected(BatchState& batch, const EndedFilter& filter, uint64_t end,
                           EndedPosition& at, PurgeBudget& budget,
                           const std::function<Result<bool>(const Instance& head)>& see) {
  const EndedWalk walk{batch, filter, end, at, budget, see};
  if (!at.status) at.workflow = std::max(at.workflow, filter.workflow);
  while (!budget.is_spent()) {
    if (!at.is_within) {
      budget.count(0);
      const auto first =
          TRY(first_by_status(batch.tx, filter.ns, at.workflow, at.status, batch.damages.noting()));
      if (!first) return true;
      at.workflow = first->place.revision.workflow;
      at.status = first->place.status;
      if (filter.workflow != WorkflowNumber(0) && at.workflow != filter.workflow) return true;
      at.behind.reset();
      at.is_within = filter.has(*at.status);
      if (!at.is_within) continue;
    }
    if (!TRY(see_with_status(walk))) return false;
    at.is_within = false;
  }
  return false;
}

Result<bool> may_select(BatchState& batch, const EndedFilter& filter) {
  if (is_index_incomplete(batch.tx)) return true;
  EndedPosition at;
  PurgeBudget budget;
  bool is_found = false;
  const bool is_all = TRY(each_selected(batch, filter, std::numeric_limits<uint64_t>::max(), at,
                                        budget, [&](const Instance&) -> Result<bool> {
                                          is_found = true;
                                          return false;
                                        }));
  return is_found || !is_all;
}

}  // namespace millrace
