// The counters of the events of each namespace. Any thread.
#pragma once

#include <string>

#include <prometheus/registry.h>

#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/loop/namespace_series.h"

namespace millrace {

class TrafficMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object. The series of kOtherNamespaces
  /// exist at once.
  explicit TrafficMetrics(prometheus::Registry& registry);

  /// Adds the numbers.
  void count(const std::string& ns, const EventTraffic& traffic);

 private:
  NamespaceSeries<3> series_;  ///< one counter for each number of EventTraffic
};

}  // namespace millrace
