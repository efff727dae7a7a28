// StoreMetrics: the metrics of the store, and of the instances that each namespace has in it. Any
// thread.
#pragma once

#include <chrono>
#include <mutex>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "orchestrator/loop/keyed_gauge.h"
#include "orchestrator/size/store_figures.h"

namespace millrace {

class StoreMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit StoreMetrics(prometheus::Registry& registry);

  /// Sets the metrics. A namespace that the figures do not have loses its gauges.
  void set(const StoreFigures& figures);

 private:
  std::mutex lock_;  // guards all members below
  prometheus::Gauge& data_;
  prometheus::Gauge& used_;
  prometheus::Gauge& free_;
  prometheus::Gauge& journal_;
  prometheus::Gauge& waiting_;
  prometheus::Gauge& waiting_bytes_;
  prometheus::Gauge& archive_bytes_;
  prometheus::Gauge& checkpoint_rate_;
  prometheus::Counter& commit_waits_;
  std::chrono::nanoseconds commit_waits_before_{};  ///< of the figures that set() got last
  prometheus::Gauge& oldest_ended_;
  NamespaceGauge ns_live_;
  NamespaceGauge ns_ended_;
  NamespaceGauge ns_row_bytes_;
  NamespaceGauge ns_history_bytes_;
  NamespaceGauge ns_other_bytes_;
  NamespaceGauge ns_oldest_ended_;
};

}  // namespace millrace
