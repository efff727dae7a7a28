// Metrics: counters and gauges for Prometheus. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "orchestrator/runtime/batch.h"
#include "orchestrator/runtime/seams.h"

namespace millrace {

/// How things stand.
struct Levels {
  size_t listeners = 0;
  size_t timers = 0;
  size_t outbox_in_flight = 0;
  uint64_t outbox_bytes = 0;
  size_t tasks = 0;      ///< that have not ended
  size_t fan_out = 0;    ///< instances that an event under way has still to reach
  bool refuses = false;  ///< new work has to wait
};

/// As labels and `/v1/info` have it.
std::string_view to_string(BrokerLoss::Kind kind);

class Metrics {
 public:
  Metrics();
  ~Metrics();

  void count(const BatchCounts& counts);
  void count(const BrokerLoss& loss);
  /// An answer of a worker that names no task.
  void count_stray_answer();
  /// Of a task: how long after it was handed out somebody began with it.
  void schedule_to_start(Duration after);
  void set(const Levels& levels);

  /// The text exposition format 0.0.4.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace millrace
