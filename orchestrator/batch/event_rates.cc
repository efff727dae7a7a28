#include "orchestrator/batch/event_rates.h"

#include <utility>

#include "orchestrator/batch/quotas.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/rate_rows.h"

namespace millrace {
namespace {

/// The engine permits twice the burst that the gateway permits (event_admission.h), so that events
/// which the gateway has accepted at the permitted rate pass, although they may be stored in the
/// stream closer together.
constexpr uint64_t kBurstSeconds = 2;

}  // namespace

Result<std::optional<Error>> EventRates::take(NamespaceNumber ns, uint64_t per_second,
                                              TimePoint stamped) {
  RateUse use = TRY(use_of(ns));
  const Rate rate{.per_second = per_second, .seconds = kBurstSeconds};
  if (!rate.take(use, stamped)) {
    return std::optional(refuse_over_quota(batch_, ns, Quota::kEventsPerSecond));
  }
  note(ns);
  uses_[ns] = use;
  unwritten_.insert(ns);
  return std::optional<Error>();
}

/// The use of the rate so far. A damaged row is reported, and counts as no use.
Result<RateUse> EventRates::use_of(NamespaceNumber ns) {
  if (const auto known = uses_.find(ns); known != uses_.end()) return known->second;
  const auto row = TRY(batch_.damages.pass_over(read_rate_use(batch_.tx, ns)));
  return row.value_or(RateUse());
}

/// To be called before a change: keeps the old state for undo().
void EventRates::note(NamespaceNumber ns) {
  Before* const before = before_.now();
  if (before == nullptr) return;
  if (!before->unwritten) before->unwritten = unwritten_;
  const auto known = uses_.find(ns);
  before->uses.try_emplace(ns, known == uses_.end() ? std::nullopt : std::optional(known->second));
}

void EventRates::write() {
  if (unwritten_.empty()) return;
  if (Before* const before = before_.now(); before != nullptr && !before->unwritten) {
    before->unwritten = unwritten_;
  }
  for (const NamespaceNumber ns : std::exchange(unwritten_, {})) {
    if (batch_.catalog.has_namespace(ns)) {
      write_rate_use(batch_.tx, ns, uses_.at(ns));
    } else {
      uses_.erase(ns);
    }
  }
}

void EventRates::undo() {
  Before before = before_.take();
  if (before.unwritten) unwritten_ = *std::move(before.unwritten);
  for (const auto& [ns, use] : before.uses) {
    if (use) {
      uses_[ns] = *use;
    } else {
      uses_.erase(ns);
    }
  }
}

void EventRates::clear() {
  uses_.clear();
  unwritten_.clear();
  before_.take();
}

}  // namespace millrace
