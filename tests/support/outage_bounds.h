// OutageBounds: how long a cluster may acknowledge nothing after a fault. For campaigns only: on a
// machine that has other work, a time says little about the program.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/time.h"

namespace millrace {

struct OutageBounds {
  std::optional<Duration> median;  ///< nullopt: the median has no bound
  Duration most;                   ///< of each outage
};

/// What is beyond the bounds, as a sentence; empty: nothing. `outages`: one for each fault, in any
/// order. Of an even number, the median is the longer one of the two in the middle.
inline std::string beyond_bounds(const OutageBounds& bounds, std::vector<Duration> outages) {
  if (outages.empty()) return "";
  std::sort(outages.begin(), outages.end());
  const Duration median = outages[outages.size() / 2];
  if (bounds.median && median > *bounds.median) {
    return fmt::format("the median of {} outages is {} ms; expected at most {} ms", outages.size(),
                       median.count(), bounds.median->count());
  }
  const Duration longest = outages.back();
  if (longest <= bounds.most) return "";
  const auto too_long = std::count_if(outages.begin(), outages.end(),
                                      [&](Duration one) { return one > bounds.most; });
  return fmt::format("{} of {} outages are longer than {} ms; the longest one is {} ms", too_long,
                     outages.size(), bounds.most.count(), longest.count());
}

}  // namespace millrace
