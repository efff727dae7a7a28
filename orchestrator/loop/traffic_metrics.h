// The counters of the events of each namespace. Any thread.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "orchestrator/batch/batch_counts.h"

namespace millrace {

class TrafficMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object. The series of kOtherNamespaces
  /// exist at once.
  explicit TrafficMetrics(prometheus::Registry& registry);

  /// Adds the numbers. The first kMostNamespaceLabels namespaces with events keep series of their
  /// own, because a counter must not decrease; all others are counted together.
  void count(const std::string& ns, const EventTraffic& traffic);

 private:
  /// One for each metric.
  using Counters = std::array<prometheus::Counter*, 3>;

  Counters series_of(const std::string& label);

  prometheus::Registry& registry_;
  std::mutex lock_;  // guards namespaces_
  std::map<std::string, Counters> namespaces_;
  const Counters others_;
};

}  // namespace millrace
