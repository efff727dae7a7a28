// Metrics: counters add up, gauges have the latest value.
#include "orchestrator/loop/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/instance.h"
#include "orchestrator/size/store_figures.h"

namespace millrace {
namespace {

/// Whether the metrics have a line with that series and value.
bool has_line(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, HaveEverySeriesBeforeAnyCount) {
  const Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_batches_total 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_events_total 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_listeners 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_function_schedule_to_start_seconds_count 0"));
}

TEST(Metrics, AddTheCountsOfBatches) {
  Metrics metrics;
  BatchCounts counts{.events = 3, .events_unmatched = 1, .instances_started = 2};
  counts.ended[static_cast<size_t>(InstanceStatus::kFailed)] = 4;
  counts.deleted[static_cast<size_t>(DeletionReason::kRetention)] = 5;
  metrics.count(counts);
  metrics.count(counts);
  EXPECT_TRUE(has_line(metrics, "millrace_batches_total 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_events_total 6"));
  EXPECT_TRUE(has_line(metrics, "millrace_events_unmatched_total 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_instances_started_total 4"));
  EXPECT_TRUE(has_line(metrics, "millrace_instances_ended_total{status=\"failed\"} 8"));
  EXPECT_TRUE(has_line(metrics, "millrace_instances_deleted_total{reason=\"request\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_instances_deleted_total{reason=\"retention\"} 10"));
  EXPECT_TRUE(has_line(metrics, "millrace_events_duplicate_total 0"));
}

TEST(Metrics, CountStrayAnswersOfBatchesAndOfTheBroker) {
  Metrics metrics;
  metrics.count(BatchCounts{.answers_stray = 2});
  metrics.count_stray_answer();
  EXPECT_TRUE(has_line(metrics, "millrace_answers_stray_total 3"));
}

TEST(Metrics, CountTheDeadLettersThatTheRetentionDeletedByNamespace) {
  Metrics metrics;
  metrics.count_deleted_letters("shop", 3);
  metrics.count_deleted_letters("shop", 4);
  metrics.count_deleted_letters("default", 1);
  metrics.count_deleted_letters("idle", 0);
  metrics.count_letter_retention_failure();
  EXPECT_TRUE(has_line(metrics, "millrace_dead_letters_deleted_total{namespace=\"shop\"} 7"));
  EXPECT_TRUE(has_line(metrics, "millrace_dead_letters_deleted_total{namespace=\"default\"} 1"));
  EXPECT_EQ(metrics.text().find("idle"), std::string::npos);
  EXPECT_TRUE(has_line(metrics, "millrace_dead_letter_retention_failures_total 1"));
}

TEST(Metrics, CountEventsThatTheBrokerDropped) {
  Metrics metrics;
  metrics.count(BrokerLoss{.kind = BrokerLoss::Kind::kDropped, .first = 3, .last = 8});
  EXPECT_TRUE(has_line(metrics, "millrace_events_dropped_total 6"));
  EXPECT_TRUE(has_line(metrics, "millrace_broker_losses_total{kind=\"dropped\"} 1"));
  metrics.count(BrokerLoss{.kind = BrokerLoss::Kind::kStream, .first = 9, .last = 9});
  EXPECT_TRUE(has_line(metrics, "millrace_events_dropped_total 6"));
}

TEST(Metrics, ShowTheLatestValueOfEachGauge) {
  Metrics metrics;
  metrics.set(Levels{.listeners = 5, .timers = 7, .tasks = 2, .refuses = true});
  EXPECT_TRUE(has_line(metrics, "millrace_listeners 5"));
  EXPECT_TRUE(has_line(metrics, "millrace_timers 7"));
  EXPECT_TRUE(has_line(metrics, "millrace_tasks 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_refuses_work 1"));
  metrics.set(Levels{.listeners = 4});
  EXPECT_TRUE(has_line(metrics, "millrace_listeners 4"));
  EXPECT_TRUE(has_line(metrics, "millrace_refuses_work 0"));
}

TEST(Metrics, ShowTheTotalsThatOtherPartsOfTheProgramReport) {
  Metrics metrics;
  metrics.set(PartLevels{.reads_events = true, .consumers = 3, .answers = 10});
  metrics.set(PartLevels{.reads_events = false, .consumers = 5, .answers = 10});
  EXPECT_TRUE(has_line(metrics, "millrace_reads_events 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_event_consumers_total 5")) << "the parts report totals";
  EXPECT_TRUE(has_line(metrics, "millrace_task_answers_total 10"));
}

TEST(Metrics, MeasureTheWaitOfTasksInSeconds) {
  Metrics metrics;
  metrics.count({.started_after = {Duration(1'500), Duration(500)}});
  EXPECT_TRUE(has_line(metrics, "millrace_function_schedule_to_start_seconds_count 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_function_schedule_to_start_seconds_sum 2"));
}

TEST(Metrics, ShowTheFiguresOfTheStore) {
  Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_store_data_bytes 0"));
  StoreFigures figures{.size = {.data_bytes = 8192,
                                .used_bytes = 4096,
                                .free_bytes = 1024,
                                .journal_bytes = 512,
                                .waiting_rows = 7}};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_store_data_bytes 8192"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_used_bytes 4096"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_free_bytes 1024"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_journal_bytes 512"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_waiting_rows 7"));
  EXPECT_TRUE(has_line(metrics, "millrace_oldest_ended_instance_start_seconds 0"));
  figures.oldest_ended = from_millis(2'500);
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_oldest_ended_instance_start_seconds 2.5"));
}

TEST(Metrics, HaveAGaugeForEachNamespaceThatTheStoreHas) {
  Metrics metrics;
  const Usage usage{.live = 1, .ended = 2, .row_bytes = 300, .history_bytes = 40};
  StoreFigures figures;
  figures.namespaces =
      std::vector<NamespaceUsage>{{.ns = "default"}, {.ns = "shop", .usage = usage}};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"default\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"shop\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_ended_instances{namespace=\"shop\"} 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_row_bytes{namespace=\"shop\"} 300"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_history_bytes{namespace=\"shop\"} 40"));
  figures.namespaces = std::vector<NamespaceUsage>{{.ns = "default", .usage = usage}};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"default\"} 1"));
  EXPECT_EQ(metrics.text().find("shop"), std::string::npos) << "the namespace was deleted";
}

}  // namespace
}  // namespace millrace
