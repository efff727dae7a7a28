// The metrics of flow control: the starts of workflows that were skipped, refused or put off, those
// that wait for a slot or a throttle, and what became of them; and the calls that wait likewise.
// For one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/loop/keyed_gauge.h"

namespace millrace {

class FlowMetrics {
 public:
  /// Registers the metrics in `registry`, which outlives the object.
  explicit FlowMetrics(prometheus::Registry& registry);

  void add(const BatchCounts& counts);
  /// Sets how many starts wait, by the namespace.
  void set_queued(const std::map<std::string, uint64_t>& queued) { queued_.set(queued); }
  /// Sets how many calls wait, by the namespace.
  void set_queued_calls(const std::map<std::string, uint64_t>& queued) {
    queued_calls_.set(queued);
  }
  /// Sets how many starts `debounce` and `batch` have put off. Any thread.
  void set_pending(uint64_t number) { pending_.Set(static_cast<double>(number)); }

 private:
  prometheus::Counter& skipped_;
  prometheus::Counter& rejected_;
  prometheus::Counter& timed_out_;
  prometheus::Counter& limited_;
  prometheus::Counter& debounced_;
  prometheus::Counter& batched_;
  prometheus::Counter& cancelled_;
  prometheus::Counter& refused_;
  prometheus::Counter& waited_;
  prometheus::Counter& admitted_;
  prometheus::Counter& replaced_;
  prometheus::Counter& calls_waited_;
  prometheus::Counter& calls_admitted_;
  prometheus::Counter& calls_timed_out_;
  prometheus::Gauge& pending_;
  NamespaceGauge queued_;
  NamespaceGauge queued_calls_;
};

}  // namespace millrace
