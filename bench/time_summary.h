// TimeSummary: the median, the 99th percentile and the maximum of measured times.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct TimeSummary {
  double p50 = 0;
  double p99 = 0;
  double longest = 0;
};

/// The summary of the times; nullopt: there are none. The percentiles are those of the nearest
/// rank: pN is the shortest of the times that at least N % of all times do not exceed. So with
/// fewer than 100 times p99 is the longest one, and a single stall is not left out.
std::optional<TimeSummary> summarize(std::vector<double> times);

/// The aim of the 99th percentile in milliseconds, the quotient of the figure and the aim, and
/// whether the aim is kept: `50 ms: 0.84, kept`.
std::string beside_aim(const TimeSummary& summary, double aim_ms);

/// Whether the 99th percentile keeps an aim in milliseconds that is itself a measured figure, with
/// two decimals: `within the aim of 5.09 ms`, `above the aim of 5.09 ms`.
std::string aim_verdict(const TimeSummary& summary, double aim_ms);

}  // namespace millrace
