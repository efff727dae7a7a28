// RetentionMetrics: the retention figures (retention_figures.h), and the series of Prometheus with
// the same numbers and times. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "orchestrator/loop/keyed_gauge.h"
#include "orchestrator/loop/retention_figures.h"

namespace millrace {

class RetentionMetrics {
 public:
  /// The registry outlives the object.
  explicit RetentionMetrics(prometheus::Registry& registry);

  // These functions are those of Metrics.
  void count(const std::string& ns, const RetentionCounts& counts);
  void count_archive(const std::string& ns, const std::optional<ArchiveFailure>& failure);
  void count_letters(const std::string& ns, uint64_t number);
  void set_passes(PassKind kind, const PassTimes& times);
  void set_next_due(const std::map<std::string, TimePoint>& next_due);
  RetentionFigures figures() const;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;

  /// The gauges of the passes of one kind.
  struct PassGauges {
    prometheus::Gauge& running;
    prometheus::Gauge& last_end;
    prometheus::Gauge& next;
  };
  static PassGauges pass_gauges(prometheus::Registry& registry, const char* kind);

  Counters& deleted_;
  Counters& archived_;
  Counters& bytes_;
  Counters& records_;
  Counters& trimmed_;
  Counters& letters_;
  Counters& archive_failures_;

  mutable std::mutex mutex_;  // guards the members below
  std::array<PassGauges, 2> passes_;
  NamespaceGauge next_due_;
  RetentionFigures figures_;
};

}  // namespace millrace
