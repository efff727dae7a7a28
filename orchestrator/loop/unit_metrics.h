// UnitMetrics: the metrics of the units of work on the engine thread. Any thread.
#pragma once

#include <array>
#include <mutex>

#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/time.h"
#include "orchestrator/batch/unit_kind.h"
#include "orchestrator/loop/longest_units.h"

namespace millrace {

class UnitMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit UnitMetrics(prometheus::Registry& registry);

  /// Adds the longest unit of its kind, by processor time, in a turn that ended at `now`, a time of
  /// a steady clock. A unit that took no time is ignored.
  void add(Duration now, const LongestUnit& unit);
  /// Adds the unit of its kind that took longest from its begin until its end, in the same way.
  void add_elapsed(Duration now, const LongestUnit& unit);

  /// The longest unit in the minute before `now`, by processor time.
  LongestUnit longest(Duration now) const;

  /// Sets the gauges to the longest units in the minute before `now`.
  void set_gauges(Duration now);

 private:
  std::array<prometheus::Gauge*, kUnitKinds> gauges_{};
  std::array<prometheus::Gauge*, kUnitKinds> elapsed_gauges_{};
  prometheus::Histogram& histogram_;
  mutable std::mutex lock_;  // guards `units_` and `elapsed_`
  LongestUnits units_;
  LongestUnits elapsed_;
};

}  // namespace millrace
