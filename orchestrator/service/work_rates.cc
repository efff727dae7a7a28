#include "orchestrator/service/work_rates.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace millrace {
namespace {

/// Of a number of things in a number of milliseconds.
double in_a_second(uint64_t number, Duration time) {
  const double exact = static_cast<double>(number) * 1'000 / static_cast<double>(time.count());
  return std::round(exact * 10) / 10;
}

}  // namespace

Json WorkRates::since_last(Duration at, const WorkTotals::Sums& sums) {
  const std::optional<Look> before = std::exchange(last_, Look{.at = at, .sums = sums});
  if (!before || at <= before->at) return nullptr;
  Json rates = Json::object();
  for (size_t i = 0; i < sums.size(); ++i) {
    rates[std::string(WorkTotals::kNames[i])] =
        in_a_second(sums[i] - before->sums[i], at - before->at);
  }
  return rates;
}

}  // namespace millrace
