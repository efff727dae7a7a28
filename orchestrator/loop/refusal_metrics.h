// The counter of what quotas refused, by namespace. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include <prometheus/registry.h>

#include "model/quota.h"
#include "orchestrator/loop/namespace_series.h"

namespace millrace {

class RefusalMetrics {
 public:
  /// Registers the metric in `registry`, which outlives the object. The series of kOtherNamespaces
  /// exist at once.
  explicit RefusalMetrics(prometheus::Registry& registry);

  /// Counts `number` refusals. A namespace without refusals has no series.
  void count(const std::string& ns, Quota quota, uint64_t number);

 private:
  NamespaceSeries<kQuotas> series_;
};

}  // namespace millrace
