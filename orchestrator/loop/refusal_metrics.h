// The counter of what quotas refused, by namespace. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include "model/quota.h"

namespace millrace {

class RefusalMetrics {
 public:
  /// Registers the metric in `registry`, which outlives the object. The series of kOtherNamespaces
  /// exist at once.
  explicit RefusalMetrics(prometheus::Registry& registry);

  /// Counts `number` refusals. The first kMostNamespaceLabels namespaces with refusals keep series
  /// of their own, because a counter must not decrease; all others are counted together.
  void count(const std::string& ns, Quota quota, uint64_t number);

 private:
  using Counters = std::array<prometheus::Counter*, kQuotas>;

  Counters series_of(const std::string& label);

  prometheus::Family<prometheus::Counter>& family_;
  std::mutex lock_;  // guards namespaces_
  std::map<std::string, Counters> namespaces_;
  const Counters others_;
};

}  // namespace millrace
