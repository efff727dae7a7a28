// Metrics: counters and gauges for Prometheus. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/quota.h"
#include "orchestrator/batch/batch_counts.h"
#include "orchestrator/loop/evaluation_levels.h"
#include "orchestrator/loop/inbound_metrics.h"
#include "orchestrator/loop/longest_units.h"
#include "orchestrator/loop/retention_figures.h"
#include "orchestrator/loop/source_metrics.h"
#include "orchestrator/loop/turn_times.h"
#include "orchestrator/loop/work_totals.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

struct StoreFigures;

/// The current values of the engine's gauges.
struct Levels {
  size_t listeners = 0;
  size_t timers = 0;
  size_t outbox_in_flight = 0;
  uint64_t outbox_bytes = 0;
  size_t tasks = 0;       ///< tasks that have not ended
  size_t tasks_held = 0;  ///< tasks that wait in the store (TaskDispatch::held)
  size_t fan_out = 0;     ///< instances that fan-outs have not reached yet
  size_t undecided = 0;   ///< instances and starts that wait for a late match
  /// The starts that wait for a slot, by the name of their namespace; those beyond the first
  /// kMostNamespaceLabels namespaces under kOtherNamespaces.
  std::map<std::string, uint64_t> queued_starts = {};
  std::map<std::string, uint64_t> queued_calls = {};  ///< the calls, in the same way
  bool refuses = false;                               ///< whether new work must wait
  size_t damaged_rows = 0;                            ///< damaged rows found since startup
  /// How often a pattern reached its limit and therefore did not match, since the listeners were
  /// loaded.
  uint64_t patterns_over_limit = 0;
};

/// The current values of the parts around the engine; read when metrics are requested. Totals are
/// since startup.
struct PartLevels {
  bool reads_events = false;
  bool sends_events = false;
  bool runs_tasks = false;

  uint64_t consumers = 0;      ///< consumers that were created to read the event stream
  uint64_t consumer_gaps = 0;  ///< consumers replaced because messages to this process were lost
  uint64_t messages_read_directly = 0;  ///< messages that no consumer could deliver

  // Of a restored store.
  size_t messages_noted = 0;         ///< messages of the streams that are not sent again
  uint64_t messages_recognized = 0;  ///< messages that were not sent, because they are noted
  uint64_t messages_unread = 0;  ///< messages of the streams that are not noted: there are too many

  size_t tasks_unsent = 0;                    ///< tasks that the broker has not acknowledged
  uint64_t answers = 0;                       ///< reports of workers
  uint64_t task_consumers_created_again = 0;  ///< consumers of tasks that other clients deleted
  uint64_t callbacks_busy = 0;                ///< callbacks over NATS that must be sent again
  uint64_t index_questions = 0;               ///< questions that the engine thread has answered

  size_t http_running = 0;  ///< outgoing HTTP requests that have a connection
  size_t http_waiting = 0;  ///< outgoing HTTP requests that wait for a connection
  /// The same by the name of the namespace; only namespaces with such requests.
  std::map<std::string, uint64_t> namespace_http_running;
  std::map<std::string, uint64_t> namespace_http_waiting;
  SourceLevels sources;

  size_t file_calls_open = 0;      ///< calls of services that have a folder with files
  size_t file_calls_waiting = 0;   ///< calls of services that wait for such a folder
  size_t file_calls_accepted = 0;  ///< accepted calls of services that have such a folder
  size_t lookbacks_waiting = 0;    ///< searches for early events that are not answered
  size_t evaluations_waiting = 0;  ///< evaluations that wait for a jq worker
  size_t evaluations_running = 0;
  /// The same by namespace, without the checks of definitions; only namespaces with evaluations.
  /// Evaluations that are tried out are of a number that no namespace has.
  std::map<NamespaceNumber, EvaluationLevels> namespace_evaluations;
  size_t jq_workers = 0;  ///< jq workers that are ready
  uint64_t jq_workers_started = 0;
  uint64_t jq_workers_crashed = 0;
  uint64_t jq_worker_start_failures = 0;
  uint64_t evaluations_overran = 0;  ///< evaluations that exceeded their slice on a fast jq worker
  uint64_t evaluations_timed_out = 0;  ///< evaluations and program checks that timed out

  uint64_t live_changes_lost = 0;  ///< changed instances that live messages only count
};

/// The name of the kind in metric labels and in `/v1/info`.
std::string_view to_string(BrokerLoss::Kind kind);

class Metrics {
 public:
  /// With the clock of the system.
  Metrics();
  /// The clock measures the minute of longest_unit(), and outlives the object.
  explicit Metrics(const Clock& clock);
  ~Metrics();

  void count(const BatchCounts& counts);
  void count(const BrokerLoss& loss);
  /// Counts a report of a worker whose subject names no task.
  void count_stray_answer();
  /// Counts what the retention did to instances of the namespace.
  void count_retention(const std::string& ns, const RetentionCounts& counts);
  /// Counts a page of the archive of the namespace that could not be written; nullopt: the last
  /// page was written.
  void count_archive(const std::string& ns, const std::optional<ArchiveFailure>& failure);
  /// Counts dead letters of the namespace that its retention deleted.
  void count_deleted_letters(const std::string& ns, uint64_t number);
  /// Counts a failure of the retention of dead letters.
  void count_letter_retention_failure();
  /// Counts what a quota of the namespace refused; kOtherNamespaces if it is deleted.
  void count_over_quota(const std::string& ns, Quota quota, uint64_t number);
  /// Counts events of the namespace; kOtherNamespaces if it is deleted.
  void count_traffic(const std::string& ns, const EventTraffic& traffic);
  /// Counts an HTTP request that was refused because its token is missing or wrong.
  void count_refused_token(bool is_missing);
  /// Counts an HTTP request for an inbound webhook, whose signature is valid or not.
  void count_inbound_request(bool is_accepted);
  /// Counts what became of a request for an inbound webhook that exists.
  void count_inbound_outcome(const std::string& ns, const std::string& webhook,
                             InboundOutcome outcome);
  /// See InboundMetrics::remove().
  void remove_inbound_outcomes(const std::string& ns,
                               const std::function<bool(const std::string&)>& is_kept);
  /// Counts an HTTP request of a service that has accepted a task, whose key is valid or not.
  void count_callback(bool is_valid);
  /// Reports how long a turn of the engine thread took, and its longest units of work.
  void add_turn(const TurnTimes& times);
  /// The longest unit of work in the last minute, by processor time.
  LongestUnit longest_unit() const;
  void set(const Levels& levels);
  void set(const PartLevels& levels);
  void set_passes(PassKind kind, const PassTimes& times);
  /// Sets by namespace the time before which no instance is due (RetentionPassEnd::next_due). A
  /// namespace that `next_due` lacks has no such time any more.
  void set_next_due(const std::map<std::string, TimePoint>& next_due);
  /// Sets the gauges of evaluations by the name of the namespace (EvaluationMetrics).
  void set_evaluations(const std::map<std::string, EvaluationLevels>& namespaces);
  /// Sets the gauges of the store. A namespace that the figures do not have loses its gauges.
  void set_store(const StoreFigures& figures);
  /// Sets the gauge of the starts that `debounce` and `batch` have put off.
  void set_pending_starts(uint64_t number);

  /// What count_retention(), count_archive(), count_deleted_letters(), set_passes() and
  /// set_next_due() have collected.
  RetentionFigures retention() const;

  /// Sums of what count() was called with.
  WorkTotals::Sums totals() const { return totals_.sums(); }

  /// All metrics in the Prometheus text format 0.0.4.
  std::string text() const;

 private:
  struct Series;
  const Clock& clock_;
  WorkTotals totals_;
  std::unique_ptr<Series> series_;
};

}  // namespace millrace
