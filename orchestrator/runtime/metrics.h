// Metrics: counters and gauges for Prometheus. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "orchestrator/runtime/batch.h"

namespace millrace {

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void count(const BatchCounts& counts);
  void set_waiting(size_t listeners, size_t timers, size_t outbox);

  /// The text exposition format 0.0.4.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace millrace
