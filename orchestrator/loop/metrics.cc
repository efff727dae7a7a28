#include "orchestrator/loop/metrics.h"

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "model/instance.h"
#include "orchestrator/loop/access_metrics.h"
#include "orchestrator/loop/evaluation_metrics.h"
#include "orchestrator/loop/flow_metrics.h"
#include "orchestrator/loop/followed_counter.h"
#include "orchestrator/loop/keyed_gauge.h"
#include "orchestrator/loop/plain_metrics.h"
#include "orchestrator/loop/refusal_metrics.h"
#include "orchestrator/loop/retention_metrics.h"
#include "orchestrator/loop/store_metrics.h"
#include "orchestrator/loop/traffic_metrics.h"
#include "orchestrator/loop/unit_metrics.h"

namespace millrace {
namespace {

std::string_view name_of(DeletionReason reason) {
  switch (reason) {
    case DeletionReason::kRequest:
      return "request";
    case DeletionReason::kRetention:
      return "retention";
  }
  return "";
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace

struct Metrics::Series {
  using Count = prometheus::Counter;

  prometheus::Registry registry;

  Count& counter(const char* name, const char* help, const prometheus::Labels& labels = {}) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return plain_gauge(registry, name, help);
  }

  Count& batches = counter("millrace_batches_total", "Batches committed.");
  Count& events = counter("millrace_events_total", "Events read from the event stream.");
  Count& unmatched = counter("millrace_events_unmatched_total", "Events that no listener matched.");
  Count& duplicate = counter("millrace_events_duplicate_total",
                             "Events dropped as duplicates within the deduplication window.");
  Count& source_events = counter("millrace_source_events_total",
                                 "Events of sources whose message was not applied before.");
  Count& source_repeated =
      counter("millrace_source_events_repeated_total",
              "Events of sources that were dropped, because their message was applied before.");
  Count& source_refused = counter("millrace_source_messages_refused_total",
                                  "Messages of origin streams that became dead letters.");
  Count& unreadable =
      counter("millrace_events_unreadable_total", "Messages that are not a valid event.");
  Count& started = counter("millrace_instances_started_total", "Instances started.");
  Count& continued =
      counter("millrace_runs_continued_total",
              "Runs of instances that ended by continueAsNew, so that the next run began.");
  Count& compensations_noted =
      counter("millrace_compensations_noted_total", "Compensations that states have noted.");
  Count& compensations_made =
      counter("millrace_compensations_made_total", "Compensations that have succeeded.");
  Count& compensations_stopped = counter(
      "millrace_compensations_stopped_total",
      "How often instances made no further compensation, although some were left: one failed for "
      "good, or an operator stopped them.");
  Count& woken = counter("millrace_instances_woken_total", "How often an event woke an instance.");
  std::array<prometheus::Counter*, 8> ended = [this] {
    std::array<prometheus::Counter*, 8> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto status = static_cast<InstanceStatus>(i);
      if (!has_ended(status)) continue;
      all[i] = &counter("millrace_instances_ended_total", "Instances that ended, by their status.",
                        {{"status", std::string(to_string(status))}});
    }
    return all;
  }();
  std::array<prometheus::Counter*, kDeletionReasons> deleted = [this] {
    std::array<prometheus::Counter*, kDeletionReasons> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = &counter("millrace_instances_deleted_total",
                        "Ended instances that were deleted, by the reason.",
                        {{"reason", std::string(name_of(static_cast<DeletionReason>(i)))}});
    }
    return all;
  }();
  Count& archived = counter("millrace_instances_archived_total",
                            "Deleted instances that were written to the archive before.");
  Count& archive_failures =
      counter("millrace_archive_failures_total",
              "How often instances could not be written to the archive, so that they stayed.");
  std::array<prometheus::Counter*, kQuotas> over_quota = [this] {
    std::array<prometheus::Counter*, kQuotas> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = &counter("millrace_quota_refusals_total",
                        "What quotas of namespaces refused, by the quota.",
                        {{"quota", std::string(to_string(static_cast<Quota>(i)))}});
    }
    return all;
  }();
  prometheus::Counter& timers = counter("millrace_timers_fired_total", "Timers that fired.");
  Count& published =
      counter("millrace_events_published_total", "Generated events handed to the outbox.");
  Count& dead_letters =
      counter("millrace_dead_letters_total", "Messages sent to the dead-letter queue.");
  Count& letter_retention_failures =
      counter("millrace_dead_letter_retention_failures_total",
              "How often the retention of dead letters failed, for one namespace or for all.");
  Count& damaged =
      counter("millrace_instances_damaged_total",
              "How often an instance was skipped because rows of the instance are damaged.");
  Count& rows_purged =
      counter("millrace_rows_purged_total", "Rows that purges erased after a deletion.");
  Count& answers_stray =
      counter("millrace_answers_stray_total",
              "Dropped reports of workers: the subject of the report names no known task, a task "
              "that no worker has, or another namespace than that of the task.");
  Count& groups_uncorrelated =
      counter("millrace_group_events_uncorrelated_total",
              "Events of an eventsAnd start that lack an attribute of its `correlate`.");
  Count& groups_expired =
      counter("millrace_group_events_expired_total",
              "Events whose lifespan ended before their eventsAnd group was complete.");
  Count& groups_closed =
      counter("millrace_group_events_closed_total",
              "Events that waited in eventsAnd groups which a new revision closed.");
  std::array<prometheus::Counter*, 3> losses = [this] {
    std::array<prometheus::Counter*, 3> all{};
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = &counter(
          "millrace_broker_losses_total",
          "How often millrace found that the broker had lost messages of the event stream.",
          {{"kind", std::string(to_string(static_cast<BrokerLoss::Kind>(i)))}});
    }
    return all;
  }();
  Count& dropped = counter("millrace_events_dropped_total",
                           "Messages that the event stream dropped before they were read.");
  prometheus::Histogram& schedule_to_start =
      prometheus::BuildHistogram()
          .Name("millrace_function_schedule_to_start_seconds")
          .Help("Time from the hand-out of a task to the start of the task by a worker.")
          .Register(registry)
          .Add({}, prometheus::Histogram::BucketBoundaries{0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600});
  prometheus::Gauge& tasks = gauge("millrace_tasks", "Tasks that have not ended.");
  prometheus::Gauge& tasks_held =
      gauge("millrace_tasks_held",
            "Tasks that wait in the store because their namespace has as many with HTTP services "
            "and containers as it may have, or as many bytes that the broker does not have yet.");
  prometheus::Gauge& listeners =
      gauge("millrace_listeners", "Listeners of starts and of waiting instances.");
  prometheus::Gauge& pending_timers = gauge("millrace_timers", "Timers that are pending.");
  prometheus::Gauge& outbox =
      gauge("millrace_outbox_in_flight",
            "Messages that were sent and that the broker has not acknowledged.");
  prometheus::Gauge& outbox_bytes =
      gauge("millrace_outbox_bytes", "Bytes of messages that the broker has not acknowledged.");
  prometheus::Gauge& refuses =
      gauge("millrace_refuses_work", "1 while new work must wait because of backpressure.");
  prometheus::Gauge& fan_out =
      gauge("millrace_fan_out_pending", "Instances that fan-outs have not reached yet.");
  prometheus::Gauge& undecided =
      gauge("millrace_matches_undecided",
            "Instances and starts that take no event until an earlier event has been matched with "
            "their patterns.");
  Count& matches_late =
      counter("millrace_matches_late_total",
              "Instances and starts that got an event later because its matches with patterns "
              "exceeded the budget of the event.");
  Count& matches_refused =
      counter("millrace_matches_refused_total",
              "Events that became dead letters because too many events of their namespace waited "
              "for matches with patterns.");
  prometheus::Gauge& damaged_rows =
      gauge("millrace_damaged_rows", "Damaged rows of the store found since startup.");
  FollowedCounter patterns_over_limit{
      counter("millrace_patterns_over_limit_total",
              "How often a pattern on a context attribute reached its "
              "limit of steps or memory and therefore did not match.")};
  RetentionMetrics retention{registry};
  UnitMetrics units{registry};

  std::mutex parts_lock;  // guards all members below
  prometheus::Gauge& reads_events =
      gauge("millrace_reads_events", "1 while the event stream is being read.");
  prometheus::Gauge& sends_events =
      gauge("millrace_sends_events", "1 while events can be sent to the broker.");
  prometheus::Gauge& runs_tasks =
      gauge("millrace_runs_tasks",
            "1 while tasks are sent to the broker and reports of workers are read.");
  FollowedCounter consumers{
      counter("millrace_event_consumers_total",
              "Consumers created to read the event stream: one for each connection.")};
  FollowedCounter consumer_gaps{counter("millrace_event_consumer_gaps_total",
                                        "Consumers of the event stream that were replaced because "
                                        "messages from the broker to millrace were lost.")};
  FollowedCounter read_directly{
      counter("millrace_events_read_directly_total",
              "Messages of the event stream that no consumer could deliver and "
              "that were read without a consumer.")};
  prometheus::Gauge& noted =
      gauge("millrace_messages_noted",
            "Messages that the streams had when a restored store opened them; they are not sent "
            "again.");
  FollowedCounter recognized{counter("millrace_messages_recognized_total",
                                     "Messages of a restored store that were not sent, because the "
                                     "streams had them already.")};
  prometheus::Gauge& unread =
      gauge("millrace_messages_unread",
            "Messages of the streams whose ids a restored store has not read, because there are "
            "too many.");
  prometheus::Gauge& tasks_unsent =
      gauge("millrace_tasks_unsent", "Tasks that the broker has not acknowledged.");
  FollowedCounter answers{
      counter("millrace_task_answers_total", "Reports of workers that were read.")};
  FollowedCounter task_consumers_created_again{
      counter("millrace_task_consumers_created_again_total",
              "Consumers of tasks that another client had deleted and that were created again.")};
  FollowedCounter callbacks_busy{counter("millrace_callbacks_busy_total",
                                         "Callbacks over NATS that too many others kept waiting.")};
  FollowedCounter index_questions{
      counter("millrace_index_questions_total",
              "Questions of `why` and `try` about listeners that the engine thread has answered.")};
  prometheus::Gauge& http_running =
      gauge("millrace_http_running", "Outgoing HTTP requests that have a connection.");
  prometheus::Gauge& http_waiting =
      gauge("millrace_http_waiting", "Outgoing HTTP requests that wait for a connection.");
  NamespaceGauge ns_http_running{registry, "millrace_namespace_http_running",
                                 "Outgoing HTTP requests of the namespace that have a connection."};
  NamespaceGauge ns_http_waiting{
      registry, "millrace_namespace_http_waiting",
      "Outgoing HTTP requests of the namespace that wait for a connection."};
  SourceMetrics sources{registry};
  prometheus::Gauge& file_calls_open =
      gauge("millrace_file_calls_open", "Calls of services that have a folder with files.");
  prometheus::Gauge& file_calls_waiting =
      gauge("millrace_file_calls_waiting", "Calls of services that wait for a folder with files.");
  prometheus::Gauge& file_calls_accepted =
      gauge("millrace_file_calls_accepted", "Accepted calls that have a folder with files.");
  prometheus::Gauge& lookbacks_waiting =
      gauge("millrace_lookbacks_waiting", "States that wait until their lookback is read.");
  prometheus::Gauge& evaluations_waiting =
      gauge("millrace_evaluations_waiting", "Evaluations that wait for a jq worker.");
  prometheus::Gauge& evaluations_running =
      gauge("millrace_evaluations_running", "Evaluations that run in a jq worker.");
  prometheus::Gauge& jq_workers =
      gauge("millrace_jq_workers", "jq worker processes that are ready.");
  FollowedCounter jq_workers_started{
      counter("millrace_jq_workers_started_total", "jq worker processes started.")};
  FollowedCounter jq_workers_crashed{
      counter("millrace_jq_workers_crashed_total",
              "jq worker processes that died while they ran a program.")};
  FollowedCounter jq_worker_start_failures{counter(
      "millrace_jq_worker_start_failures_total",
      "Failed starts of the launcher or of a jq worker, and jq workers that ended while they "
      "had no job.")};
  FollowedCounter evaluations_overran{
      counter("millrace_evaluations_overran_total",
              "Evaluations that exceeded their time slice and continued "
              "on a jq worker for slow evaluations.")};
  FollowedCounter evaluations_timed_out{
      counter("millrace_evaluations_timed_out_total", "Evaluations that reached their timeout.")};
  FollowedCounter live_changes_lost{counter("millrace_live_changes_lost_total",
                                            "Changed instances that live messages only count.")};

  StoreMetrics store{registry};
  EvaluationMetrics ns_evaluations{registry};  // guarded by parts_lock
  RefusalMetrics ns_over_quota{registry};
  TrafficMetrics ns_traffic{registry};
  FlowMetrics flow{registry};
  AccessMetrics access{registry};
  InboundMetrics inbound_outcomes{registry};
};

std::string_view to_string(BrokerLoss::Kind kind) {
  switch (kind) {
    case BrokerLoss::Kind::kDropped:
      return "dropped";
    case BrokerLoss::Kind::kTail:
      return "tail";
    case BrokerLoss::Kind::kStream:
      return "stream";
  }
  return "";
}

Metrics::Metrics() : Metrics(system_clock()) {}
Metrics::Metrics(const Clock& clock) : clock_(clock), series_(std::make_unique<Series>()) {}
Metrics::~Metrics() = default;

void Metrics::count(const BatchCounts& counts) {
  const auto add = [](prometheus::Counter& counter, uint64_t number) {
    if (number > 0) counter.Increment(static_cast<double>(number));
  };
  totals_.add(counts);
  add(series_->batches, 1);
  add(series_->events, counts.events);
  add(series_->unmatched, counts.events_unmatched);
  add(series_->duplicate, counts.events_duplicate);
  add(series_->source_events, counts.source_events);
  add(series_->source_repeated, counts.source_repeated);
  add(series_->source_refused, counts.source_refused);
  add(series_->unreadable, counts.events_unreadable);
  add(series_->started, counts.instances_started);
  add(series_->continued, counts.runs_continued);
  add(series_->compensations_noted, counts.compensations_noted);
  add(series_->compensations_made, counts.compensations_made);
  add(series_->compensations_stopped, counts.compensations_stopped);
  series_->flow.add(counts);
  add(series_->woken, counts.instances_woken);
  add(series_->timers, counts.timers_fired);
  add(series_->published, counts.published);
  add(series_->dead_letters, counts.dead_letters);
  add(series_->damaged, counts.instances_damaged);
  add(series_->matches_late, counts.matches_late);
  add(series_->matches_refused, counts.matches_refused);
  add(series_->rows_purged, counts.rows_purged);
  add(series_->answers_stray, counts.answers_stray);
  add(series_->groups_uncorrelated, counts.groups_uncorrelated);
  add(series_->groups_expired, counts.groups_expired);
  add(series_->groups_closed, counts.groups_closed);
  for (size_t i = 0; i < counts.ended.size(); ++i) {
    if (counts.ended[i] > 0) add(*series_->ended[i], counts.ended[i]);
  }
  for (size_t i = 0; i < counts.deleted.size(); ++i) add(*series_->deleted[i], counts.deleted[i]);
  add(series_->archived, counts.instances_archived);
  for (const Duration after : counts.started_after) {
    series_->schedule_to_start.Observe(std::chrono::duration<double>(after).count());
  }
}

void Metrics::count_traffic(const std::string& ns, const EventTraffic& traffic) {
  series_->ns_traffic.count(ns, traffic);
}

void Metrics::count_over_quota(const std::string& ns, Quota quota, uint64_t number) {
  series_->over_quota[static_cast<size_t>(quota)]->Increment(static_cast<double>(number));
  series_->ns_over_quota.count(ns, quota, number);
}

void Metrics::count_stray_answer() { series_->answers_stray.Increment(); }

void Metrics::count_retention(const std::string& ns, const RetentionCounts& counts) {
  series_->retention.count(ns, counts);
}

void Metrics::count_archive(const std::string& ns, const std::optional<ArchiveFailure>& failure) {
  if (failure) series_->archive_failures.Increment();
  series_->retention.count_archive(ns, failure);
}

void Metrics::count_deleted_letters(const std::string& ns, uint64_t number) {
  series_->retention.count_letters(ns, number);
}

void Metrics::set_passes(PassKind kind, const PassTimes& times) {
  series_->retention.set_passes(kind, times);
}

void Metrics::set_next_due(const std::map<std::string, TimePoint>& next_due) {
  series_->retention.set_next_due(next_due);
}

RetentionFigures Metrics::retention() const { return series_->retention.figures(); }

void Metrics::count_letter_retention_failure() { series_->letter_retention_failures.Increment(); }

void Metrics::count_refused_token(bool is_missing) {
  (is_missing ? series_->access.tokens_missing : series_->access.tokens_wrong).Increment();
}

void Metrics::count_inbound_request(bool is_accepted) {
  (is_accepted ? series_->access.signatures_valid : series_->access.signatures_refused).Increment();
}

void Metrics::count_inbound_outcome(const std::string& ns, const std::string& webhook,
                                    InboundOutcome outcome) {
  series_->inbound_outcomes.count(ns, webhook, outcome);
}

void Metrics::remove_inbound_outcomes(const std::string& ns,
                                      const std::function<bool(const std::string&)>& is_kept) {
  series_->inbound_outcomes.remove(ns, is_kept);
}

void Metrics::count_callback(bool is_valid) {
  (is_valid ? series_->access.keys_valid : series_->access.keys_refused).Increment();
}

void Metrics::add_turn(const TurnTimes& times) { series_->units.add(clock_.elapsed(), times); }

LongestUnit Metrics::longest_unit() const { return series_->units.longest(clock_.elapsed()); }

void Metrics::set(const Levels& levels) {
  series_->tasks.Set(static_cast<double>(levels.tasks));
  series_->tasks_held.Set(static_cast<double>(levels.tasks_held));
  series_->listeners.Set(static_cast<double>(levels.listeners));
  series_->pending_timers.Set(static_cast<double>(levels.timers));
  series_->outbox.Set(static_cast<double>(levels.outbox_in_flight));
  series_->outbox_bytes.Set(static_cast<double>(levels.outbox_bytes));
  series_->refuses.Set(levels.refuses ? 1 : 0);
  series_->fan_out.Set(static_cast<double>(levels.fan_out));
  series_->undecided.Set(static_cast<double>(levels.undecided));
  series_->flow.set_queued(levels.queued_starts);
  series_->flow.set_queued_calls(levels.queued_calls);
  series_->damaged_rows.Set(static_cast<double>(levels.damaged_rows));
  series_->patterns_over_limit.set(levels.patterns_over_limit);
}

void Metrics::set(const PartLevels& levels) {
  const std::lock_guard lock(series_->parts_lock);
  series_->reads_events.Set(levels.reads_events ? 1 : 0);
  series_->sends_events.Set(levels.sends_events ? 1 : 0);
  series_->runs_tasks.Set(levels.runs_tasks ? 1 : 0);
  series_->consumers.set(levels.consumers);
  series_->consumer_gaps.set(levels.consumer_gaps);
  series_->read_directly.set(levels.messages_read_directly);
  series_->noted.Set(static_cast<double>(levels.messages_noted));
  series_->recognized.set(levels.messages_recognized);
  series_->unread.Set(static_cast<double>(levels.messages_unread));
  series_->tasks_unsent.Set(static_cast<double>(levels.tasks_unsent));
  series_->answers.set(levels.answers);
  series_->task_consumers_created_again.set(levels.task_consumers_created_again);
  series_->callbacks_busy.set(levels.callbacks_busy);
  series_->index_questions.set(levels.index_questions);
  series_->http_running.Set(static_cast<double>(levels.http_running));
  series_->http_waiting.Set(static_cast<double>(levels.http_waiting));
  series_->ns_http_running.set(levels.namespace_http_running);
  series_->ns_http_waiting.set(levels.namespace_http_waiting);
  series_->sources.set(levels.sources);
  series_->file_calls_open.Set(static_cast<double>(levels.file_calls_open));
  series_->file_calls_waiting.Set(static_cast<double>(levels.file_calls_waiting));
  series_->file_calls_accepted.Set(static_cast<double>(levels.file_calls_accepted));
  series_->lookbacks_waiting.Set(static_cast<double>(levels.lookbacks_waiting));
  series_->evaluations_waiting.Set(static_cast<double>(levels.evaluations_waiting));
  series_->evaluations_running.Set(static_cast<double>(levels.evaluations_running));
  series_->jq_workers.Set(static_cast<double>(levels.jq_workers));
  series_->jq_workers_started.set(levels.jq_workers_started);
  series_->jq_workers_crashed.set(levels.jq_workers_crashed);
  series_->jq_worker_start_failures.set(levels.jq_worker_start_failures);
  series_->evaluations_overran.set(levels.evaluations_overran);
  series_->evaluations_timed_out.set(levels.evaluations_timed_out);
  series_->live_changes_lost.set(levels.live_changes_lost);
}

void Metrics::set_evaluations(const std::map<std::string, EvaluationLevels>& namespaces) {
  const std::lock_guard lock(series_->parts_lock);
  series_->ns_evaluations.set(namespaces);
}

void Metrics::set_store(const StoreFigures& figures) { series_->store.set(figures); }

void Metrics::set_pending_starts(uint64_t number) { series_->flow.set_pending(number); }

void Metrics::count(const BrokerLoss& loss) {
  series_->losses[static_cast<size_t>(loss.kind)]->Increment();
  if (loss.kind == BrokerLoss::Kind::kDropped) {
    series_->dropped.Increment(static_cast<double>(loss.last - loss.first + 1));
  }
}

std::string Metrics::text() const {
  series_->units.set_gauges(clock_.elapsed());
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace millrace
