#include "bench/time_summary.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace millrace {

std::optional<TimeSummary> summarize(std::vector<double> times) {
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  const auto at_rank = [&](size_t percent) {
    const size_t rank = (times.size() * percent + 99) / 100;  // rounded up
    return times[rank - 1];
  };
  return TimeSummary{.p50 = at_rank(50), .p99 = at_rank(99), .longest = times.back()};
}

std::string beside_aim(const TimeSummary& summary, double aim_ms) {
  return fmt::format("{:.0f} ms: {:.2f}, {}", aim_ms, summary.p99 / aim_ms,
                     summary.p99 <= aim_ms ? "kept" : "missed");
}

std::string aim_verdict(const TimeSummary& summary, double aim_ms) {
  return fmt::format("{} the aim of {:.2f} ms", summary.p99 <= aim_ms ? "within" : "above", aim_ms);
}

}  // namespace millrace
