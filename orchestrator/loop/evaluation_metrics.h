// The metrics of evaluations by namespace: whose evaluations have the jq workers. For one thread at
// a time.
#pragma once

#include <map>
#include <string>

#include <prometheus/registry.h>

#include "orchestrator/loop/evaluation_levels.h"
#include "orchestrator/loop/keyed_gauge.h"

namespace millrace {

class EvaluationMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit EvaluationMetrics(prometheus::Registry& registry);

  /// Sets the gauges of the busiest() namespaces; the others lose theirs.
  void set(const std::map<std::string, EvaluationLevels>& namespaces);

 private:
  NamespaceGauge fast_waiting_;
  NamespaceGauge fast_running_;
  NamespaceGauge slow_waiting_;
  NamespaceGauge slow_running_;
};

}  // namespace millrace
