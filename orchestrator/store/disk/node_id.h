// The id of a node of a cluster: 16 random bytes in the file `node` of its data folder, so the node
// is the same one after a restart, with another host name, and with a store that was replaced by a
// snapshot. A copy of the folder has the same id; if both answer, one of them takes another id
// (cluster/node_twin.h). Any thread.
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// The id of the node with that data folder, which exists. If the folder has none, the id is what
/// `make_id` returns. Errors: `store.corrupt`, the file has something else; `store.io`,
/// `store.full`.
Result<RandomName> node_id(const std::filesystem::path& folder,
                           const std::function<RandomName()>& make_id);

/// Gives the node another id, from its next start on. Errors: `store.io`, `store.full`.
Status replace_node_id(const std::filesystem::path& folder, const RandomName& id);

}  // namespace millrace
