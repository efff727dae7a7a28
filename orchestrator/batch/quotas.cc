#include "orchestrator/batch/quotas.h"

#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

Result<std::optional<Error>> Quotas::refusal_of_start(NamespaceNumber ns) {
  const QuotaLimits& limits = batch_.catalog.settings(ns).quotas;
  if (batch_.live.count(ns) >= limits.of(Quota::kInstances)) {
    return std::optional(refuse_over_quota(batch_, ns, Quota::kInstances));
  }
  const uint64_t most = limits.of(Quota::kStoreBytes);
  if (most != kUnlimited && TRY(bytes_of(ns)) >= most) {
    return std::optional(refuse_over_quota(batch_, ns, Quota::kStoreBytes));
  }
  return std::optional<Error>();
}

/// 0 if the index does not have all instances yet, or if its row is damaged.
Result<uint64_t> Quotas::bytes_of(NamespaceNumber ns) {
  std::map<NamespaceNumber, uint64_t>* const noted = bytes_.now();
  if (noted != nullptr) {
    if (const auto known = noted->find(ns); known != noted->end()) return known->second;
  }
  uint64_t bytes = 0;
  const bool is_incomplete = is_index_incomplete(batch_.tx);
  TRY(batch_.tx.status());
  if (!is_incomplete) {
    const Result<uint64_t> read = batch_.index.bytes(batch_.tx, ns);
    if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
    if (read) {
      bytes = *read;
    } else {
      batch_.damages.note(read.error());
    }
  }
  if (noted != nullptr) noted->emplace(ns, bytes);
  return bytes;
}

Error refuse_over_quota(BatchState& batch, NamespaceNumber ns, Quota quota) {
  ++batch.outcome.counts.over_quota[static_cast<size_t>(quota)];
  return over_quota(quota, batch.catalog.settings(ns).quotas.of(quota));
}

Status count_bytes(BatchState& batch) {
  const Catalog& catalog = batch.catalog;
  const RowOwners owners{.exists = [&](NamespaceNumber ns) { return catalog.has_namespace(ns); },
                         .home = [&](WorkflowNumber workflow) -> std::optional<NamespaceNumber> {
                           const WorkflowEntry* const entry = catalog.find_workflow(workflow);
                           return entry != nullptr ? std::optional(entry->ns)
                                                   : find_retired(batch.tx, workflow);
                         }};
  return count_writes(batch.tx, owners, batch.index);
}

}  // namespace millrace
