// Series: the last hour of a few numbers, for charts: what the batches did in each 10 s, and
// gauges. In memory only, of bounded size (kSteps numbers for each name). Any thread. It has no
// clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/loop/work_totals.h"

namespace millrace {

class Series {
 public:
  static constexpr size_t kSteps = 360;
  static constexpr Duration kStep = std::chrono::seconds(10);

  /// Gauges, which follow the names of WorkTotals.
  static constexpr std::array<std::string_view, 4> kGauges = {
      "tasksUnsent", "httpRunning", "evaluationsWaiting", "evaluationsRunning"};
  using Gauges = std::array<uint64_t, kGauges.size()>;

  /// Adds a step that ends at `now`. The first call only sets from which sums the next step counts.
  void sample(TimePoint now, const WorkTotals::Sums& sums, const Gauges& gauges);

  /// {"step":10,"from","series":{NAME:[n…]}}: the steps that end after `since`, of these names;
  /// empty: of all. `from`: the beginning of the first step, null if there is none. Error
  /// `request.parameter`: there is no series with a name.
  Result<Json> show(const std::vector<std::string>& names, std::optional<TimePoint> since) const;

 private:
  struct Step {
    TimePoint end;
    WorkTotals::Sums done{};
    Gauges gauges{};
  };

  mutable std::mutex lock_;
  std::optional<WorkTotals::Sums> last_;  ///< guarded by lock_
  std::deque<Step> steps_;                ///< guarded by lock_
};

}  // namespace millrace
