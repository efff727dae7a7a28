// Metrics: what is counted adds up, what is set is as it was set last.
#include "orchestrator/loop/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/instance.h"

namespace millrace {
namespace {

/// Whether the text has a line with that series and value.
bool has(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, HaveEverySeriesFromTheBeginning) {
  const Metrics metrics;
  EXPECT_TRUE(has(metrics, "millrace_batches_total 0"));
  EXPECT_TRUE(has(metrics, "millrace_events_total 0"));
  EXPECT_TRUE(has(metrics, "millrace_listeners 0"));
  EXPECT_TRUE(has(metrics, "millrace_function_schedule_to_start_seconds_count 0"));
}

TEST(Metrics, AddUpWhatBatchesHaveCounted) {
  Metrics metrics;
  BatchCounts counts{.events = 3, .events_unmatched = 1, .instances_started = 2};
  counts.ended[static_cast<size_t>(InstanceStatus::kFailed)] = 4;
  metrics.count(counts);
  metrics.count(counts);
  EXPECT_TRUE(has(metrics, "millrace_batches_total 2"));
  EXPECT_TRUE(has(metrics, "millrace_events_total 6"));
  EXPECT_TRUE(has(metrics, "millrace_events_unmatched_total 2"));
  EXPECT_TRUE(has(metrics, "millrace_instances_started_total 4"));
  EXPECT_TRUE(has(metrics, "millrace_instances_ended_total{status=\"failed\"} 8"));
  EXPECT_TRUE(has(metrics, "millrace_events_duplicate_total 0"));
}

TEST(Metrics, CountStrayAnswersOfBatchesAndOfTheBroker) {
  Metrics metrics;
  metrics.count(BatchCounts{.answers_stray = 2});
  metrics.count_stray_answer();
  EXPECT_TRUE(has(metrics, "millrace_answers_stray_total 3"));
}

TEST(Metrics, CountTheEventsThatABrokerDropped) {
  Metrics metrics;
  metrics.count(BrokerLoss{.kind = BrokerLoss::Kind::kDropped, .first = 3, .last = 8});
  EXPECT_TRUE(has(metrics, "millrace_events_dropped_total 6"));
  EXPECT_TRUE(has(metrics, "millrace_broker_losses_total{kind=\"dropped\"} 1"));
  metrics.count(BrokerLoss{.kind = BrokerLoss::Kind::kStream, .first = 9, .last = 9});
  EXPECT_TRUE(has(metrics, "millrace_events_dropped_total 6"));
}

TEST(Metrics, AreAsTheLevelsWereSetLast) {
  Metrics metrics;
  metrics.set(Levels{.listeners = 5, .timers = 7, .tasks = 2, .refuses = true});
  EXPECT_TRUE(has(metrics, "millrace_listeners 5"));
  EXPECT_TRUE(has(metrics, "millrace_timers 7"));
  EXPECT_TRUE(has(metrics, "millrace_tasks 2"));
  EXPECT_TRUE(has(metrics, "millrace_refuses_work 1"));
  metrics.set(Levels{.listeners = 4});
  EXPECT_TRUE(has(metrics, "millrace_listeners 4"));
  EXPECT_TRUE(has(metrics, "millrace_refuses_work 0"));
}

TEST(Metrics, FollowTheTotalsOfOtherParts) {
  Metrics metrics;
  metrics.set(PartLevels{.reads_events = true, .consumers = 3, .answers = 10});
  metrics.set(PartLevels{.reads_events = false, .consumers = 5, .answers = 10});
  EXPECT_TRUE(has(metrics, "millrace_reads_events 0"));
  EXPECT_TRUE(has(metrics, "millrace_event_consumers_total 5")) << "it is the total, not the sum";
  EXPECT_TRUE(has(metrics, "millrace_task_answers_total 10"));
}

TEST(Metrics, MeasureInSecondsHowLongTasksWaited) {
  Metrics metrics;
  metrics.count({.begun_after = {Duration(1'500), Duration(500)}});
  EXPECT_TRUE(has(metrics, "millrace_function_schedule_to_start_seconds_count 2"));
  EXPECT_TRUE(has(metrics, "millrace_function_schedule_to_start_seconds_sum 2"));
}

}  // namespace
}  // namespace millrace
