// Ended instances: reads the head of an ended instance that is to be deleted, and deletes it. A
// command deletes one instance, a purge those that a filter selects. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// Reads the head of an instance that has this status in the index. nullopt: the instance does not
/// exist with that status, or its head is damaged, which is noted. Counts the read in `budget`.
Result<std::optional<Instance>> read_deletable(BatchState& batch, NamespaceNumber ns,
                                               const InstanceId& id, InstanceStatus status,
                                               PurgeBudget& budget);

/// Deletes an ended instance: its rows, variables, history, idempotency key and its place in the
/// index. `head` is the stored head. Counts the erased rows in `budget`. If the budget is spent
/// before all variables are erased, returns false, and the instance still exists: call the function
/// again in a later batch. If it is spent before the whole history is erased, `left` receives the
/// number of the history row from which a purge must continue.
Result<bool> delete_ended(BatchState& batch, const Instance& head, DeletionReason reason,
                          PurgeBudget& budget, const std::function<void(uint64_t row)>& left);

}  // namespace millrace
