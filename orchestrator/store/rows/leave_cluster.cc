#include "orchestrator/store/rows/leave_cluster.h"

#include <optional>
#include <string_view>
#include <vector>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/node_rows.h"

namespace millrace {

Result<ClusterOfStore> read_cluster_of_store(const View& view) {
  TRY(check_known_numbers(view));
  const std::optional<std::string_view> row = view.get(Table::kMeta, kLogKey);
  TRY(view.status());
  if (!row) {
    return fail("store.cluster",
                "the data folder belongs to no cluster: it has no position in the log of one; name "
                "the data folder of a node");
  }
  ClusterOfStore found{.cluster = {}, .position = TRY(decode_log_position(*row))};
  if (const auto identity = TRY(read_store_identity(view))) {
    found.cluster = cluster_of_mark(identity->folder);
  }
  return found;
}

Result<ClusterOfStore> leave_cluster(Environment& environment) {
  Transaction tx(environment);
  ClusterOfStore left = TRY(read_cluster_of_store(tx));
  tx.erase(Table::kMeta, kLogKey);
  erase_crash_row(tx);
  std::vector<RandomName> nodes;
  const auto add = [&nodes](const RandomName& node, const NodeRecord&) { nodes.push_back(node); };
  TRY(each_node(tx, add, [](const Error&) {}));
  for (const RandomName& node : nodes) erase_node(tx, node);
  TRY(tx.commit(Limit::kPassed));
  return left;
}

}  // namespace millrace
