#include "orchestrator/service/event_admission.h"

#include <utility>

#include "model/quota.h"
#include "orchestrator/definition/namespace_settings.h"

namespace millrace {
namespace {

/// How many namespaces are known at once. If there are more, all are forgotten, and their senders
/// may send a burst again.
constexpr size_t kMostKnown = 4'096;

/// The limit in the settings; settings that cannot be read have none.
uint64_t limit_in(const std::string& settings) {
  const auto read = read_settings(settings);
  return read ? read->quotas.of(Quota::kEventsPerSecond) : kUnlimited;
}

}  // namespace

Status EventAdmission::take(const NamespaceRecord& ns, size_t count) {
  // Most settings do not have the quota, and need not be parsed.
  if (ns.settings.find(to_string(Quota::kEventsPerSecond)) == std::string::npos) return {};
  const TimePoint now = TimePoint(clock_.elapsed());
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown && !known_.contains(ns.number)) known_.clear();
  Known& known = known_[ns.number];
  if (known.settings != ns.settings) {
    known.settings = ns.settings;
    known.limit = limit_in(ns.settings);
  }
  if (known.limit == kUnlimited) return {};
  const Rate rate{.per_second = known.limit};
  if (rate.take(known.use, now, count)) return {};
  return tl::unexpected(over_quota(Quota::kEventsPerSecond, known.limit));
}

}  // namespace millrace
