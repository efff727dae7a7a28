// StartRate: how many instances of a workflow may start for one key in any time of a given length
// (`rateLimit`). The starts of the last period are kept as a few entries, so equal calls decide
// equally on every machine and after a restart. Plain values; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/definition.h"

namespace millrace {

/// Starts that count as one time: at most a kRateParts-th of the period lies between the first and
/// the last of them.
struct RateEntry {
  TimePoint first;
  TimePoint last;
  uint32_t count = 1;

  bool operator==(const RateEntry&) const = default;
};

/// The starts of one key that may still count, the oldest entry first.
struct StartUse {
  std::vector<RateEntry> entries;

  bool operator==(const StartUse&) const = default;
};

/// Into how many parts a period is divided. A limit up to this number is exact: each start has an
/// entry of its own. With a higher limit a start counts for up to one part longer than the period.
inline constexpr size_t kRateParts = 64;

/// The most entries that a StartUse has.
inline constexpr size_t kMostRateEntries = kRateParts + 2;

/// Whether a start is permitted at `now`: nullopt, or the first time at which one is. No time of
/// the length of the period, without its end, has more starts than the limit, if each start was
/// counted by count_start() and the times do not go back.
std::optional<TimePoint> refused_until(const StartLimit& limit, const StartUse& use, TimePoint now);

/// Counts a start at `now`, and leaves out the entries that count no more.
void count_start(const StartLimit& limit, StartUse& use, TimePoint now);

/// The time from which on no start of `use` counts. Precondition: `use` has an entry.
TimePoint end_of(const StartLimit& limit, const StartUse& use);

}  // namespace millrace
