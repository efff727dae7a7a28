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
  const auto key = start_key(limit.key, "rateLimit.key", as_input(input), now);
  if (!key) {
    ++batch_.outcome.counts.starts_limited;
    return Looked{.refusal = key.error(), .place = {}, .record = {}};
  }
  Looked looked{.refusal = {},
                .place = {entry.number, keyed_fingerprint(batch_.id_key, {*key})},
                .record = {}};
  looked.record = TRY(batch_.damages.pass_over(read_start_rate(batch_.tx, looked.place)));
  if (!looked.record) return looked;
  if (const auto until = refused_until(limit, looked.record->use, now)) {
    ++batch_.outcome.counts.starts_limited;
    looked.refusal = over_rate_error(entry.id, limit, *key, *until - now);
  }
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
  std::optional<TimePoint> until;
  if (!workflow.rate_limit) return until;
  const auto key = start_key(workflow.rate_limit->key, "rateLimit.key", as_input(input), now);
  if (!key) return until;
  const StartRatePlace place{entry.number, keyed_fingerprint(batch_.id_key, {*key})};
  const auto record = TRY(batch_.damages.pass_over(read_start_rate(batch_.tx, place)));
  if (record) until = refused_until(*workflow.rate_limit, record->use, now);
  return until;
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
  const uint64_t pending = TRY(pending_starts_of(batch_.tx, ns));
  if (TRY(start_rates_of(batch_.tx, ns)) + pending < most) return true;
  TRY(sweep_start_rates(batch_.tx, now, kStartRatesSweptAtOnce));
  return TRY(start_rates_of(batch_.tx, ns)) + pending < most;
}

Status StartRates::sweep(TimePoint now) {
  const auto left = TRY(sweep_start_rates(batch_.tx, now, kStartRatesSweptAtOnce));
  batch_.start_rates_due = std::min(left.value_or(now + kSweepAgain), now + kSweepAgain);
  return {};
}

}  // namespace millrace
