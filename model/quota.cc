#include "model/quota.h"

#include <fmt/format.h>

#include "base/quantity.h"

namespace millrace {
namespace {

struct QuotaText {
  std::string_view code;
  /// What has reached the limit, with a place for the limit.
  const char* what;
  const char* mend;
};

constexpr std::array<QuotaText, kQuotas> kQuotaTexts = {{
    {"millrace.quota.instances", "the namespace has {} live instances, which is its quota",
     "try again when instances have ended"},
    {"millrace.quota.storeBytes", "the namespace has {} or more in the store, which is its quota",
     "delete ended instances, variables or other data of the namespace, or set `retention`"},
    {"millrace.quota.historyBytes",
     "the history of the instance has {} or more, which is its quota",
     "continue in a new instance, or trim long histories by `retention.history`"},
    {"millrace.quota.eventsPerSecond",
     "the namespace gets more than {} events in a second, which is its quota",
     "send the event again later, at most that many in one request"},
    {"millrace.quota.calls", "the namespace has {} calls that have not ended, which is its quota",
     "try again when calls have ended"},
    {"millrace.quota.workflows", "the namespace has {} workflows, which is its quota",
     "delete workflows that are not needed"},
    {"millrace.quota.startKeys",
     "the namespace has {} keys of `rateLimit`, `throttle`, `debounce` and `batch` in use, which "
     "is its "
     "quota",
     "write a key with fewer values or a shorter period"},
    {"millrace.quota.queuedStarts",
     "the namespace has {} starts that wait for a slot or the throttle of their workflow, which is "
     "its quota",
     "try again when some of them have started"},
}};

constexpr std::string_view kQuotaPrefix = "millrace.quota.";

const QuotaText& quota_text(Quota quota) { return kQuotaTexts[static_cast<size_t>(quota)]; }

}  // namespace

std::string_view to_string(Quota quota) {
  return quota_text(quota).code.substr(kQuotaPrefix.size());
}

Error over_quota(Quota quota, uint64_t limit) {
  const QuotaText& text = quota_text(quota);
  const std::string shown = is_of_bytes(quota) ? format_bytes(limit) : std::to_string(limit);
  return {std::string(text.code),
          fmt::format("{}; {}, or raise the setting `quotas.{}`",
                      fmt::format(fmt::runtime(text.what), shown), text.mend, to_string(quota))};
}

}  // namespace millrace
