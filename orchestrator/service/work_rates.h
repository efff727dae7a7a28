// WorkRates: how much the batches did in a second, between two looks at their sums. For one thread.
#pragma once

#include <optional>

#include "base/json.h"
#include "base/time.h"
#include "orchestrator/loop/work_totals.h"

namespace millrace {

class WorkRates {
 public:
  /// {NAME:n…}, of each sum what was done in a second since the call before, with one decimal.
  /// null: there was no call before, or no time has passed since. `at`: Clock::elapsed().
  Json since_last(Duration at, const WorkTotals::Sums& sums);

  /// The next call is the first one again.
  void forget() { last_.reset(); }

 private:
  struct Look {
    Duration at{};
    WorkTotals::Sums sums{};
  };
  std::optional<Look> last_;
};

}  // namespace millrace
