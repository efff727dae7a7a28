// UnitMetrics: the metrics of the turns of the engine thread, and of their units of work. Any
// thread.
#pragma once

#include <array>
#include <mutex>

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "base/time.h"
#include "orchestrator/batch/unit_kind.h"
#include "orchestrator/loop/longest_turns.h"
#include "orchestrator/loop/longest_units.h"
#include "orchestrator/loop/turn_times.h"

namespace millrace {

class UnitMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit UnitMetrics(prometheus::Registry& registry);

  /// Adds a turn that ended at `now`, a time of a steady clock, with the longest unit of each kind.
  /// A unit that took no time is ignored.
  void add(Duration now, const TurnTimes& times);

  /// The longest unit in the minute before `now`, by processor time.
  LongestUnit longest(Duration now) const;

  /// Sets the gauges to the longest units and the longest turn in the minute before `now`.
  void set_gauges(Duration now);

 private:
  std::array<prometheus::Gauge*, kUnitKinds> gauges_{};
  std::array<prometheus::Gauge*, kUnitKinds> elapsed_gauges_{};
  prometheus::Histogram& histogram_;
  prometheus::Family<prometheus::Gauge>& turn_family_;
  prometheus::Gauge& turn_all_;
  prometheus::Gauge& turn_apply_;
  prometheus::Gauge& turn_commit_;
  prometheus::Gauge& turn_perform_;
  prometheus::Gauge& turn_processor_;
  mutable std::mutex lock_;  // guards the members below
  LongestUnits units_;
  LongestUnits elapsed_;
  LongestTurns turns_;
};

}  // namespace millrace
