#include "model/start_rate.h"

#include <algorithm>

namespace millrace {
namespace {

bool counts(const StartLimit& limit, const RateEntry& entry, TimePoint now) {
  return limit.period.after(entry.last) > now;
}

/// The length of one part of a period that begins at `start`.
Duration rate_part(const StartLimit& limit, TimePoint start) {
  return (limit.period.after(start) - start) / static_cast<int64_t>(kRateParts);
}

}  // namespace

std::optional<TimePoint> refused_until(const StartLimit& limit, const StartUse& use,
                                       TimePoint now) {
  uint64_t counted = 0;
  for (const RateEntry& entry : use.entries) {
    if (counts(limit, entry, now)) counted += entry.count;
  }
  std::optional<TimePoint> until;
  for (const RateEntry& entry : use.entries) {
    if (counted < limit.limit) break;
    if (!counts(limit, entry, now)) continue;
    counted -= entry.count;
    until = limit.period.after(entry.last);
  }
  return until;
}

void count_start(const StartLimit& limit, StartUse& use, TimePoint now) {
  std::erase_if(use.entries, [&](const RateEntry& entry) { return !counts(limit, entry, now); });
  if (!use.entries.empty() && limit.limit > kRateParts) {
    RateEntry& newest = use.entries.back();
    if (now < newest.first + rate_part(limit, newest.first)) {
      newest.last = std::max(newest.last, now);
      ++newest.count;
      return;
    }
  }
  use.entries.push_back({.first = now, .last = now});
  // More entries are possible only after a change of the limit or the period. The starts of the two
  // oldest then count as long as the later one.
  while (use.entries.size() > kMostRateEntries) {
    use.entries[1].first = use.entries[0].first;
    use.entries[1].count += use.entries[0].count;
    use.entries.erase(use.entries.begin());
  }
}

TimePoint end_of(const StartLimit& limit, const StartUse& use) {
  return limit.period.after(use.entries.back().last);
}

}  // namespace millrace
