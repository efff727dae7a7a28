// How a store leaves its cluster: it becomes the store of a server without one. Call it before any
// other Transaction of the environment.
#pragma once

#include <string>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The cluster of a store, and what the store has of its log.
struct ClusterOfStore {
  std::string cluster;   ///< its name; empty: no active has committed anything yet
  LogPosition position;  ///< of the last commit that the store has; is_base(): it has none
};

/// Reads the cluster of the store. Errors: `store.cluster`, the store belongs to no cluster;
/// `store.joining`; `store.version`; `store.corrupt`, the position is damaged; a damaged row, and
/// those of the store.
Result<ClusterOfStore> read_cluster_of_store(const View& view);

/// Erases the position in the log, by one commit. All other rows stay, also those that keep an
/// input from having its effect twice. The identity of the store stays that of the cluster: so the
/// first server without a cluster finds a store that another process has used (identify()), and
/// does not send again what the streams have (find_restored_streams()). Returns what the store had.
/// Errors: those of read_cluster_of_store() and of the commit.
Result<ClusterOfStore> leave_cluster(Environment& environment);

}  // namespace millrace
