// Ended selection: the ended instances that a filter selects (EndedFilter), in the order of
// workflow, status and id. A purge deletes them, some in each batch. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// A place among the ended instances of a namespace, in the order of the index.
struct EndedPosition {
  WorkflowNumber workflow{};
  std::optional<InstanceStatus> status;  ///< nullopt: before the first instance of the workflow
  bool is_within = false;                ///< not all instances with `status` were looked at
  std::optional<InstanceId> behind;      ///< the last instance with `status` that was looked at
};

/// Calls `see` for the ended instances from `at` on that the filter selects and whose newest
/// history row has a lower number than `end`. Returns whether all were seen; false: the budget is
/// spent, or `see` has returned false. A later call continues at `at`, first with the instance for
/// which `see` returned false. Errors: those of the store and of `see`.
Result<bool> each_selected(BatchState& batch, const EndedFilter& filter, uint64_t end,
                           EndedPosition& at, PurgeBudget& budget,
                           const std::function<Result<bool>(const Instance& head)>& see);

/// Looks for an ended instance that the filter selects, as far as one batch goes through the
/// instances. False: there is none. True: there is one, or it is not known. Errors: those of the
/// store.
Result<bool> may_select(BatchState& batch, const EndedFilter& filter);

}  // namespace millrace
