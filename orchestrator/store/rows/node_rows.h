// Node rows: the nodes that the cluster of this store has registered, so that each node knows which
// others must answer before a lost end of the log is restored. Rows `node/` of table `meta`, which
// the active writes; a store without a cluster has none. A damaged row gives an error that names it
// (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/ports/commit_log.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such rows.
inline constexpr uint64_t kMinorOfNodes = 4;

/// How many nodes a cluster may have registered, and the most bytes of an address.
inline constexpr size_t kMostRegisteredNodes = 64;
inline constexpr size_t kMostNodeAddressBytes = 2'048;

struct NodeRecord {
  TimePoint first_seen;  ///< when the active first had an answer of the node
  std::string address;   ///< the URL at which it answered last

  bool operator==(const NodeRecord&) const = default;
};
std::string encode(const NodeRecord& record);
/// Decoding fails with `store.corrupt`.
Result<NodeRecord> decode_node(std::string_view bytes);

/// The id of the node in the key of a row; nullopt: the key is that of another row.
std::optional<RandomName> node_of_key(std::string_view key);

Result<std::optional<NodeRecord>> read_node(const View& view, const RandomName& node);
void write_node(Transaction& tx, const RandomName& node, const NodeRecord& record);
void erase_node(Transaction& tx, const RandomName& node);
/// Visits all registered nodes, by id.
Status each_node(const View& view,
                 const std::function<void(const RandomName&, const NodeRecord&)>& see,
                 const OnDamage& damaged = nullptr);

}  // namespace millrace
