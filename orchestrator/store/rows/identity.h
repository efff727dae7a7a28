// The identity of a store: an id that the first open assigns, and a mark of the folder in which it
// was last opened. A store that is found in another folder was copied, moved or restored. Such a
// store gets a new id, because the original store may be in use. The nodes of a cluster share one
// store, so its row names the cluster in place of a folder, and all nodes have the same identity.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct StoreIdentity {
  std::array<uint8_t, 16> id{};
  std::string folder;  ///< Environment::mark(), or the mark of a cluster (cluster_mark)

  bool operator==(const StoreIdentity&) const = default;
};

/// Decodes the row "store" of the table `meta`. Error: a damaged row (damage.h).
Result<StoreIdentity> decode_store_identity(std::string_view row);

/// The identity of the store when it was last opened for a server; nullopt: it never was. Errors: a
/// damaged row, and those of the store.
Result<std::optional<StoreIdentity>> read_store_identity(const View& view);

void write_store_identity(Transaction& tx, const StoreIdentity& identity);

/// What the store of that cluster has in place of the mark of a folder. It differs from the mark of
/// each folder, so a store that enters or leaves a cluster gets a new identity.
std::string cluster_mark(std::string_view cluster);
/// The name of the cluster in a mark of cluster_mark(); empty: the mark is that of a folder.
std::string_view cluster_of_mark(std::string_view mark);

/// Refuses a store that is not one of this cluster, before a node uses it: `store.cluster`, it
/// belongs to another cluster; `store.version`, a newer release has written it; `store.key`, it was
/// sealed with another key; a damaged row, and those of the store. A store without rows is fine,
/// and so is one that has left its cluster, or was restored from a backup of a node: it has no
/// position in a log.
Status check_store_of_cluster(Transaction& tx, std::string_view cluster);

/// Returns the identity of the store. If the store has no identity, or its identity has another
/// mark than `mark`, identify() writes a new identity with the id that `make_id` returns. `mark`:
/// that of a cluster; nullopt: Environment::mark(). Call it before any other Transaction; in a
/// cluster, after Environment::lead(). Errors: those of the store.
Result<StoreIdentity> identify(Environment& environment,
                               const std::function<std::array<uint8_t, 16>()>& make_id,
                               const std::optional<std::string>& mark = std::nullopt);

}  // namespace millrace
