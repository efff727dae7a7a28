#include "orchestrator/service/event_admission.h"

#include <utility>

#include "cloudevents/limits.h"
#include "orchestrator/definition/namespace_settings.h"

namespace millrace {
namespace {

/// How many namespaces are known at once. If there are more, all are forgotten, and their senders
/// may send a burst again.
constexpr size_t kMostKnown = 4'096;

static_assert(kDefaultHttpEvents >= kMaxBatchEvents, "a larger request is always refused");

/// The limit in the settings; settings that cannot be read have the default.
uint64_t limit_in(const std::string& settings) {
  return read_settings(settings).value_or(NamespaceSettings()).quotas.http_events;
}

}  // namespace

Status EventAdmission::take(const NamespaceRecord& ns, size_t count, WithoutQuota without) {
  // Most settings do not have the quota, and need not be parsed or kept.
  const bool names_quota =
      ns.settings.find(to_string(Quota::kEventsPerSecond)) != std::string::npos;
  if (!names_quota && without == WithoutQuota::kNoLimit) return {};
  const std::string settings = names_quota ? ns.settings : std::string();
  const TimePoint now = TimePoint(clock_.elapsed());
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown && !known_.contains(ns.number)) known_.clear();
  Known& known = known_[ns.number];
  if (known.settings != settings) {
    known.limit = names_quota ? limit_in(settings) : kDefaultHttpEvents;
    known.settings = settings;
  }
  if (known.limit == kUnlimited) return {};
  const Rate rate{.per_second = known.limit};
  if (rate.take(known.use, now, count)) return {};
  return tl::unexpected(over_quota(Quota::kEventsPerSecond, known.limit));
}

}  // namespace millrace
