// Metrics: counters and gauges for Prometheus. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// How things stand.
struct Levels {
  size_t listeners = 0;
  size_t timers = 0;
  size_t outbox_in_flight = 0;
  uint64_t outbox_bytes = 0;
  size_t tasks = 0;         ///< that have not ended
  size_t fan_out = 0;       ///< instances that an event under way has still to reach
  bool refuses = false;     ///< new work has to wait
  size_t damaged_rows = 0;  ///< met since the start
  /// Times that a pattern ran into its limit and so did not match, since the listeners were loaded.
  uint64_t patterns_over_limit = 0;
};

/// How the parts around the engine stand; asked for when the metrics are. Totals are since the
/// process began.
struct PartLevels {
  bool reads_events = false;
  bool sends_events = false;
  bool runs_tasks = false;

  uint64_t consumers = 0;               ///< made to read the event stream
  uint64_t consumer_gaps = 0;           ///< of them, those that messages got lost on the way to
  uint64_t messages_read_directly = 0;  ///< that no consumer could deliver

  size_t tasks_unsent = 0;  ///< that the broker has not taken yet
  uint64_t answers = 0;     ///< of workers

  size_t evaluations_waiting = 0;  ///< for a jq worker
  size_t evaluations_running = 0;
  size_t jq_workers = 0;  ///< that are ready
  uint64_t jq_workers_started = 0;
  uint64_t jq_workers_crashed = 0;
  uint64_t jq_worker_start_failures = 0;
  uint64_t evaluations_overran = 0;    ///< their slice of a fast worker
  uint64_t evaluations_timed_out = 0;  ///< or checks of programs
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
  void set(const Levels& levels);
  void set(const PartLevels& levels);

  /// The text exposition format 0.0.4.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace millrace
