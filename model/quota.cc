#include "model/quota.h"

#include <fmt/format.h>

namespace millrace {
namespace {

struct QuotaText {
  std::string_view name;
  /// What has reached the limit, with a place for the limit.
  const char* what;
  const char* mend;
};

constexpr std::array<QuotaText, kQuotas> kQuotaTexts = {{
    {"instances", "the namespace has {} live instances, which is its quota",
     "try again when instances have ended"},
    {"storeBytes", "the instances of the namespace have {} bytes or more, which is their quota",
     "delete ended instances, or set `retention`"},
    {"historyBytes", "the history of the instance has {} bytes or more, which is its quota",
     "continue in a new instance, or trim long histories by `retention.history`"},
    {"eventsPerSecond", "the namespace gets more than {} events in a second, which is its quota",
     "send the event again later"},
    {"calls", "the namespace has {} calls that have not ended, which is its quota",
     "try again when calls have ended"},
    {"workflows", "the namespace has {} workflows, which is its quota",
     "delete workflows that are not needed"},
}};

const QuotaText& text_of(Quota quota) { return kQuotaTexts[static_cast<size_t>(quota)]; }

}  // namespace

std::string_view to_string(Quota quota) { return text_of(quota).name; }

Error over_quota(Quota quota, uint64_t limit) {
  const QuotaText& text = text_of(quota);
  return {fmt::format("millrace.quota.{}", text.name),
          fmt::format("{}; {}, or raise the setting `quotas.{}`",
                      fmt::format(fmt::runtime(text.what), limit), text.mend, text.name)};
}

}  // namespace millrace
