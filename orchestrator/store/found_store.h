// The store with which a cluster is founded. Call it before any other Transaction of the
// environment.
#pragma once

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

/// Makes the rows of the store the base of the log of a new cluster: from now on the store belongs
/// to the cluster, and its position is `base` (base_position()). All rows must be in the snapshot
/// that is the base. If the store has this position already, nothing happens. Errors:
/// `store.cluster`, the store has another position; `store.joining`; those of the store.
Status found_with(Environment& environment, const LogPosition& base);

}  // namespace millrace
