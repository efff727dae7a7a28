#include "orchestrator/service/series.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

std::vector<std::string_view> all_series() {
  std::vector<std::string_view> names(WorkTotals::kNames.begin(), WorkTotals::kNames.end());
  names.insert(names.end(), Series::kGauges.begin(), Series::kGauges.end());
  return names;
}

}  // namespace

void Series::sample(TimePoint now, const WorkTotals::Sums& sums, const Gauges& gauges) {
  const std::lock_guard lock(lock_);
  if (last_) {
    Step step{.end = now, .gauges = gauges};
    for (size_t i = 0; i < sums.size(); ++i) step.done[i] = sums[i] - (*last_)[i];
    steps_.push_back(step);
    if (steps_.size() > kSteps) steps_.pop_front();
  }
  last_ = sums;
}

Result<Json> Series::show(const std::vector<std::string>& names,
                          std::optional<TimePoint> since) const {
  const std::vector<std::string_view> known = all_series();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return fail("request.parameter", fmt::format("names: there is no series `{}`; expected {}",
                                                 name, fmt::join(known, ", ")));
  }
  const std::lock_guard lock(lock_);
  auto first = steps_.begin();
  while (first != steps_.end() && since && first->end <= *since) ++first;
  Json series = Json::object();
  for (size_t i = 0; i < known.size(); ++i) {
    const bool is_wanted =
        names.empty() || std::find(names.begin(), names.end(), known[i]) != names.end();
    if (!is_wanted) continue;
    Json numbers = Json::array();
    for (auto step = first; step != steps_.end(); ++step) {
      numbers.push_back(i < step->done.size() ? step->done[i]
                                              : step->gauges[i - step->done.size()]);
    }
    series[std::string(known[i])] = std::move(numbers);
  }
  return Json{{"step", kStep.count() / 1000},
              {"from", first == steps_.end() ? Json() : Json(format_rfc3339(first->end - kStep))},
              {"series", std::move(series)}};
}

}  // namespace millrace
