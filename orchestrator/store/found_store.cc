#include "orchestrator/store/found_store.h"

#include <fmt/format.h>

#include "base/check.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

Status found_with(Environment& environment, const LogPosition& base) {
  CHECK(is_base(base), "the position has sequence {}; expected that of a base", base.sequence);
  Transaction tx(environment);
  const bool is_joining = tx.get(Table::kMeta, kLoadingKey).has_value();
  const auto row = tx.get(Table::kMeta, kLogKey);
  const std::string wanted = encode(base);
  const bool is_done = row && *row == wanted;
  const bool is_of_cluster = row.has_value();
  TRY(tx.status());
  if (is_joining) return tl::unexpected(joining_error());
  if (is_done) return {};
  if (is_of_cluster) {
    return fail("store.cluster",
                fmt::format("{} has a position in the log of a cluster, so no other cluster can be "
                            "founded with it; start it with `serve --cluster` as a node of its "
                            "cluster, or restore a backup into another folder",
                            environment.folder().string()));
  }
  tx.put(Table::kMeta, kLogKey, wanted);
  return tx.commit(Limit::kPassed);
}

}  // namespace millrace
