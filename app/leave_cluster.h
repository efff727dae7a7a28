// `millrace cluster leave`: makes the data folder of a stopped node that of a server without a
// cluster.
#pragma once

#include "cli/console.h"
#include "cli/output.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Erases what only the folder of a node has, prints {"data","cluster","epoch","commit","position"}
/// of the last commit that the folder has of the log, and says on standard error what must not
/// start any more. Uses no broker and no other node. Exit kNotFound: there is no store in the
/// folder; kConflict: a process has the folder open; kFailed: the folder is as it was, because it
/// belongs to no cluster (`store.cluster`), lacks rows (`store.joining`) or cannot be written.
Ended leave_cluster_with(Console& console, Output& output, const LeaveOptions& options);

}  // namespace millrace
