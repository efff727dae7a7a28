#include "orchestrator/batch/quotas.h"

#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// The part of the quota of its bytes that a namespace may use beyond it for its active instances,
/// until they get the error of the quota: an eighth.
constexpr uint64_t kPartOfReserve = 8;
/// The part that it may use beyond the quota, also for the states to which a `catch` of that error
/// leads: a quarter.
constexpr uint64_t kPartFarBeyond = 4;

/// How many seconds' events a namespace may generate at once.
constexpr uint64_t kBurstOfGenerated = 2;

/// Whether `bytes` are that part of the quota more than the quota, or still more.
bool is_beyond(uint64_t bytes, uint64_t most, uint64_t part) {
  return bytes >= most && bytes - most >= most / part;
}

}  // namespace

Result<std::optional<Error>> Quotas::refusal_of_start(NamespaceNumber ns) {
  const QuotaLimits& limits = batch_.catalog.settings(ns).quotas;
  if (batch_.live.count(ns) >= limits.of(Quota::kInstances)) {
    return std::optional(refuse_over_quota(batch_, ns, Quota::kInstances));
  }
  return refusal_of_bytes(ns);
}

Result<std::optional<Error>> Quotas::refusal_of_bytes(NamespaceNumber ns) {
  if (!TRY(is_full(ns))) return std::optional<Error>();
  return std::optional(refuse_over_quota(batch_, ns, Quota::kStoreBytes));
}

Result<std::optional<Error>> Quotas::refusal_of_need(NamespaceNumber ns) {
  const uint64_t most = batch_.catalog.settings(ns).quotas.of(Quota::kStoreBytes);
  if (!TRY(has_used(ns, most / kPartOfReserve))) return std::optional<Error>();
  return std::optional(refuse_over_quota(batch_, ns, Quota::kStoreBytes));
}

Result<std::optional<Error>> Quotas::refusal_of_variable(const VariableName& name, size_t bytes) {
  if (!TRY(is_full(name.owner.ns))) return std::optional<Error>();
  const auto before = read_variable_head(batch_.tx, name);
  if (!before && !is_damaged_row(before.error())) return tl::unexpected(before.error());
  if (before && *before && bytes <= (*before)->size) return std::optional<Error>();
  return std::optional(refuse_over_quota(batch_, name.owner.ns, Quota::kStoreBytes));
}

std::optional<Error> Quotas::refusal_of_generated(NamespaceNumber ns, TimePoint now) {
  const uint64_t per_second = batch_.catalog.settings(ns).quotas.of(Quota::kEventsPerSecond);
  if (per_second == kUnlimited) {
    generated_.erase(ns);
    return std::nullopt;
  }
  const Rate rate{.per_second = per_second, .seconds = kBurstOfGenerated};
  if (rate.take(generated_[ns], now)) return std::nullopt;
  return refuse_over_quota(batch_, ns, Quota::kEventsPerSecond);
}

Result<bool> Quotas::is_full(NamespaceNumber ns) { return has_used(ns, 0); }

Result<Quotas::OfStep> Quotas::of_step(const Instance& instance) {
  const QuotaLimits& limits = batch_.catalog.settings(instance.ns).quotas;
  OfStep of{.history_bytes = limits.of(Quota::kHistoryBytes)};
  if (const uint64_t most = limits.of(Quota::kStoreBytes); most != kUnlimited) {
    const uint64_t bytes = TRY(bytes_of(instance.ns));
    if (is_beyond(bytes, most, kPartOfReserve)) of.exceeded = {Quota::kStoreBytes, most};
    of.is_far_beyond = is_beyond(bytes, most, kPartFarBeyond);
  }
  if (instance.history_bytes >= of.history_bytes) {
    of.exceeded = {Quota::kHistoryBytes, of.history_bytes};
  }
  return of;
}

/// Whether the namespace has as many bytes as its quota and `reserve` together, or more.
Result<bool> Quotas::has_used(NamespaceNumber ns, uint64_t reserve) {
  const uint64_t most = batch_.catalog.settings(ns).quotas.of(Quota::kStoreBytes);
  if (most == kUnlimited) return false;
  const uint64_t bytes = TRY(bytes_of(ns));
  return bytes >= most && bytes - most >= reserve;
}

/// 0 if the index is not complete, or if its row is damaged.
Result<uint64_t> Quotas::bytes_of(NamespaceNumber ns) {
  std::map<NamespaceNumber, uint64_t>* const noted = batch_.stored_bytes.now();
  if (noted != nullptr) {
    if (const auto known = noted->find(ns); known != noted->end()) return known->second;
  }
  uint64_t bytes = 0;
  const bool is_incomplete = is_index_incomplete(batch_.tx);
  TRY(batch_.tx.status());
  if (!is_incomplete) {
    const Result<uint64_t> read = batch_.index.all_bytes(batch_.tx, ns);
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
  ++batch.outcome.counts.over_quota[ns][static_cast<size_t>(quota)];
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
