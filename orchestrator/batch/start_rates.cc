#include "orchestrator/batch/start_rates.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "model/start_rate.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/engine/runs.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// After which time a sweep looks again if no row was to be swept.
constexpr Duration kSweepAgain{std::chrono::hours(1)};

/// What the `rateLimit` says of a start.
struct RateRow {
  Result<std::string> key;  ///< the JSON text of its key; without one the others are not set
  StartRatePlace place;
  std::optional<StartRateRecord> record;
  std::optional<TimePoint> until;  ///< from when on it is permitted; nullopt: it is now
};

/// Reads the row of the key that a start has. Errors of the result: those of the store.
Result<RateRow> read_rate(BatchState& batch, TimePoint now, const WorkflowEntry& entry,
                          const StartLimit& limit, const LazyJson& input) {
  RateRow row{.key = start_key(limit.key, "rateLimit.key", as_input(input), now),
              .place = {entry.number, {}},
              .record = {},
              .until = {}};
  if (!row.key) return row;
  row.place.key = keyed_fingerprint(batch.id_key, {*row.key});
  row.record = TRY(batch.damages.pass_over(read_start_rate(batch.tx, row.place)));
  if (row.record) row.until = refused_until(limit, row.record->use, now);
  return row;
}

}  // namespace

Error over_rate_error(std::string_view workflow, const StartLimit& limit, const std::string& key,
                      Duration wait) {
  const int64_t seconds = std::max<int64_t>((wait.count() + 999) / 1'000, 1);
  const std::string of_key = limit.key ? fmt::format(" for the key {}", excerpt(key)) : "";
  return {std::string(kRateLimitError),
          fmt::format("the `rateLimit` of workflow \"{}\" is used up{} ({} in {}); the next start "
                      "{} permitted in {} s",
                      workflow, of_key, limit.limit, limit.period.text,
                      limit.key ? "of this key is" : "is", seconds),
          static_cast<uint32_t>(std::min<int64_t>(seconds, UINT32_MAX))};
}

/// Reads the row of the key that a start has, and decides whether the start is permitted.
Result<StartRates::Looked> StartRates::look(TimePoint now, const WorkflowEntry& entry,
                                            const StartLimit& limit, const LazyJson& input) {
  RateRow row = TRY(read_rate(batch_, now, entry, limit, input));
  Looked looked{.refusal = {}, .place = row.place, .record = std::move(row.record)};
  if (!row.key) {
    looked.refusal = row.key.error();
  } else if (row.until) {
    looked.refusal = over_rate_error(entry.id, limit, *row.key, *row.until - now);
  }
  if (looked.refusal) ++batch_.outcome.counts.starts_limited;
  return looked;
}

Result<std::optional<Error>> StartRates::check(TimePoint now, const WorkflowEntry& entry,
                                               const Workflow& workflow, const LazyJson& input) {
  if (!workflow.rate_limit) return std::optional<Error>();
  return TRY(look(now, entry, *workflow.rate_limit, input)).refusal;
}

Result<std::optional<Error>> StartRates::take(TimePoint now, const WorkflowEntry& entry,
                                              const Workflow& workflow, const LazyJson& input) {
  if (!workflow.rate_limit) return std::optional<Error>();
  const StartLimit& limit = *workflow.rate_limit;
  const Looked looked = TRY(look(now, entry, limit, input));
  if (looked.refusal) return looked.refusal;
  if (!looked.record && !TRY(has_room(now, entry.ns))) {
    return std::optional(refuse_over_quota(batch_, entry.ns, Quota::kStartKeys));
  }
  TRY(count(now, entry.ns, limit, looked.place, looked.record));
  return std::optional<Error>();
}

Result<std::optional<TimePoint>> StartRates::limited_until(TimePoint now,
                                                           const WorkflowEntry& entry,
                                                           const Workflow& workflow,
                                                           const LazyJson& input) {
  if (!workflow.rate_limit) return std::optional<TimePoint>();
  return TRY(read_rate(batch_, now, entry, *workflow.rate_limit, input)).until;
}

/// Counts a start in the row that the key has, or in a new one.
Status StartRates::count(TimePoint now, NamespaceNumber ns, const StartLimit& limit,
                         const StartRatePlace& place,
                         const std::optional<StartRateRecord>& before) {
  StartRateRecord record = before.value_or(StartRateRecord{.ns = ns});
  count_start(limit, record.use, now);
  record.ends = std::max(record.listed, end_of(limit, record.use));
  if (!before) record.listed = record.ends;
  batch_.start_rates_due = std::min(batch_.start_rates_due, record.listed);
  return write_start_rate(batch_.tx, place, record, !before);
}

StartRatePlace StartRates::place_of(const SlotKey& key) const {
  return throttle_rate_place(batch_.id_key, key.workflow, key.key);
}

StartRatePlace StartRates::place_of(const CallSlotKey& key) const {
  return call_rate_place(batch_.id_key, key.ns, key.key);
}

Result<std::optional<Error>> StartRates::refusal_of_throttle(TimePoint now, NamespaceNumber ns,
                                                             const StartRatePlace& place) {
  const auto record = TRY(batch_.damages.pass_over(read_start_rate(batch_.tx, place)));
  if (record || TRY(has_room(now, ns))) return std::optional<Error>();
  return std::optional(refuse_over_quota(batch_, ns, Quota::kStartKeys));
}

Result<std::optional<TimePoint>> StartRates::throttled_until(TimePoint now,
                                                             const StartRatePlace& place,
                                                             const StartLimit& rate) {
  const auto record = TRY(batch_.damages.pass_over(read_start_rate(batch_.tx, place)));
  return record ? refused_until(rate, record->use, now) : std::optional<TimePoint>();
}

Status StartRates::count_throttled(TimePoint now, NamespaceNumber ns, const StartRatePlace& place,
                                   const StartLimit& rate) {
  const auto before = TRY(batch_.damages.pass_over(read_start_rate(batch_.tx, place)));
  return count(now, ns, rate, place, before);
}

/// Whether the namespace may have one more key. If it may not, rows that count no more are erased
/// first: a start that is refused makes no commit that would erase them.
Result<bool> StartRates::has_room(TimePoint now, NamespaceNumber ns) {
  const uint64_t most = batch_.catalog.settings(ns).quotas.of(Quota::kStartKeys);
  if (most == kUnlimited) return true;
  if (TRY(start_keys_of(batch_.tx, ns)) < most) return true;
  TRY(sweep_start_rates(batch_.tx, now, kStartRatesSweptAtOnce));
  return TRY(start_keys_of(batch_.tx, ns)) < most;
}

Status StartRates::sweep(TimePoint now) {
  const auto left = TRY(sweep_start_rates(batch_.tx, now, kStartRatesSweptAtOnce));
  batch_.start_rates_due = std::min(left.value_or(now + kSweepAgain), now + kSweepAgain);
  return {};
}

}  // namespace millrace
