// Metrics: counters add up, gauges have the latest value.
#include "orchestrator/loop/metrics.h"

#include <chrono>

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

TEST(Metrics, CountTheFailuresOfTheArchiveAndKeepTheLastOneUntilAPageIsWritten) {
  Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_archive_failures_total 0"));
  const auto failure = [](const char* message) {
    return ArchiveFailure{.at = from_millis(1), .error = {"archive.write", message}};
  };
  metrics.count_archive("shop", failure("the disk is full"));
  metrics.count_archive("shop", failure("no such folder"));
  metrics.count_archive("default", std::nullopt);
  EXPECT_TRUE(has_line(metrics, "millrace_archive_failures_total 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_archive_failures_total{namespace=\"shop\"} 2"));
  const RetentionFigures figures = metrics.retention();
  ASSERT_EQ(figures.namespaces.size(), 1U) << "nothing is known of the namespace without a failure";
  ASSERT_TRUE(figures.namespaces.at("shop").archive_failure);
  EXPECT_EQ(figures.namespaces.at("shop").archive_failure->error.message, "no such folder");
  metrics.count_archive("shop", std::nullopt);
  EXPECT_FALSE(metrics.retention().namespaces.at("shop").archive_failure);
  EXPECT_TRUE(has_line(metrics, "millrace_archive_failures_total 2"));
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

TEST(Metrics, CountWhatTheRetentionDidByNamespace) {
  Metrics metrics;
  const RetentionCounts counts{
      .instances = 1, .archived = 2, .bytes = 3, .records = 4, .trimmed = 5};
  metrics.count_retention("shop", counts);
  metrics.count_retention("shop", counts);
  metrics.count_retention("default", {.trimmed = 7});
  metrics.count_deleted_letters("shop", 6);
  for (const char* const line : {
           "millrace_retention_deleted_instances_total{namespace=\"shop\"} 2",
           "millrace_retention_archived_instances_total{namespace=\"shop\"} 4",
           "millrace_retention_deleted_bytes_total{namespace=\"shop\"} 6",
           "millrace_retention_deleted_history_records_total{namespace=\"shop\"} 8",
           "millrace_retention_trimmed_history_records_total{namespace=\"shop\"} 10",
           "millrace_retention_deleted_instances_total{namespace=\"default\"} 0",
           "millrace_retention_trimmed_history_records_total{namespace=\"default\"} 7",
       }) {
    EXPECT_TRUE(has_line(metrics, line)) << line;
  }
  const RetentionFigures figures = metrics.retention();
  ASSERT_EQ(figures.namespaces.size(), 2U);
  EXPECT_EQ(figures.namespaces.at("shop").counts.bytes, 6U);
  EXPECT_EQ(figures.namespaces.at("shop").counts.trimmed, 10U);
  EXPECT_EQ(figures.namespaces.at("shop").dead_letters, 6U);
  EXPECT_EQ(figures.namespaces.at("default").counts.trimmed, 7U);
}

TEST(Metrics, ShowThePassesOfBothKindsOfRetention) {
  Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_retention_pass_running{kind=\"instances\"} 0"));
  EXPECT_TRUE(
      has_line(metrics, "millrace_retention_last_pass_end_seconds{kind=\"dead_letters\"} 0"));
  metrics.set_passes(PassKind::kInstances,
                     {.last_end = from_millis(2'500), .next = from_millis(62'000)});
  metrics.set_passes(PassKind::kDeadLetters, {.is_running = true});
  for (const char* const line : {
           "millrace_retention_pass_running{kind=\"instances\"} 0",
           "millrace_retention_last_pass_end_seconds{kind=\"instances\"} 2.5",
           "millrace_retention_next_pass_seconds{kind=\"instances\"} 62",
           "millrace_retention_pass_running{kind=\"dead_letters\"} 1",
           "millrace_retention_last_pass_end_seconds{kind=\"dead_letters\"} 0",
           "millrace_retention_next_pass_seconds{kind=\"dead_letters\"} 0",
       }) {
    EXPECT_TRUE(has_line(metrics, line)) << line;
  }
  EXPECT_EQ(metrics.retention().instances.next, from_millis(62'000));
  EXPECT_TRUE(metrics.retention().dead_letters.is_running);
}

TEST(Metrics, ForgetTheNextDeletionOfANamespaceThatHasNoneAnyMore) {
  Metrics metrics;
  metrics.set_next_due({{"shop", from_millis(2'500)}, {"default", from_millis(9'000)}});
  EXPECT_TRUE(
      has_line(metrics, "millrace_retention_next_deletion_seconds{namespace=\"shop\"} 2.5"));
  EXPECT_EQ(metrics.retention().namespaces.at("shop").next_due, from_millis(2'500));
  metrics.set_next_due({{"default", from_millis(9'000)}});
  EXPECT_EQ(metrics.text().find("shop"), std::string::npos);
  EXPECT_EQ(metrics.retention().namespaces.at("shop").next_due, std::nullopt);
  EXPECT_EQ(metrics.retention().namespaces.at("default").next_due, from_millis(9'000));
}

TEST(Metrics, CountRequestsWithoutAValidToken) {
  Metrics metrics;
  metrics.count_refused_token(true);
  metrics.count_refused_token(false);
  metrics.count_refused_token(false);
  EXPECT_TRUE(has_line(metrics, "millrace_http_tokens_refused_total{reason=\"missing\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_http_tokens_refused_total{reason=\"wrong\"} 2"));
}

TEST(Metrics, CountRequestsForInboundWebhooks) {
  Metrics metrics;
  metrics.count_inbound_request(true);
  metrics.count_inbound_request(false);
  metrics.count_inbound_request(false);
  EXPECT_TRUE(has_line(metrics, "millrace_inbound_webhooks_total{signature=\"valid\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_inbound_webhooks_total{signature=\"refused\"} 2"));
}

TEST(Metrics, CountCallbacksOfServices) {
  Metrics metrics;
  metrics.count_callback(true);
  metrics.count_callback(false);
  metrics.count_callback(false);
  EXPECT_TRUE(has_line(metrics, "millrace_callbacks_total{key=\"valid\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_callbacks_total{key=\"refused\"} 2"));
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
  metrics.set(Levels{.listeners = 5, .timers = 7, .tasks = 2, .tasks_held = 1, .refuses = true});
  EXPECT_TRUE(has_line(metrics, "millrace_listeners 5"));
  EXPECT_TRUE(has_line(metrics, "millrace_timers 7"));
  EXPECT_TRUE(has_line(metrics, "millrace_tasks 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_tasks_held 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_refuses_work 1"));
  metrics.set(Levels{.listeners = 4});
  EXPECT_TRUE(has_line(metrics, "millrace_listeners 4"));
  EXPECT_TRUE(has_line(metrics, "millrace_refuses_work 0"));
}

TEST(Metrics, ShowThePatternsThatHaveReachedTheirLimit) {
  Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_patterns_over_limit_total 0"));
  metrics.set(Levels{.patterns_over_limit = 2});
  metrics.set(Levels{.patterns_over_limit = 5});
  EXPECT_TRUE(has_line(metrics, "millrace_patterns_over_limit_total 5"))
      << "the engine reports the total";
}

TEST(Metrics, ShowTheTotalsThatOtherPartsOfTheProgramReport) {
  Metrics metrics;
  metrics.set(PartLevels{.reads_events = true, .consumers = 3, .answers = 10});
  metrics.set(PartLevels{.reads_events = false,
                         .consumers = 5,
                         .answers = 10,
                         .task_consumers_created_again = 2,
                         .callbacks_busy = 4,
                         .index_questions = 7});
  EXPECT_TRUE(has_line(metrics, "millrace_reads_events 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_event_consumers_total 5")) << "the parts report totals";
  EXPECT_TRUE(has_line(metrics, "millrace_task_answers_total 10"));
  EXPECT_TRUE(has_line(metrics, "millrace_task_consumers_created_again_total 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_callbacks_busy_total 4"));
  EXPECT_TRUE(has_line(metrics, "millrace_index_questions_total 7"));
}

TEST(Metrics, ShowTheSourcesAndTheLagOfEachNamespace) {
  Metrics metrics;
  metrics.set(PartLevels{
      .sources = {
          .reading = 3, .waiting = 1, .consumers_left = 2, .namespace_lag = {{"shop", 9}}}});
  EXPECT_TRUE(has_line(metrics, "millrace_sources_reading 3"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_consumers_left 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_sources_waiting 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_source_lag{namespace=\"shop\"} 9"));
  metrics.set(PartLevels{});
  EXPECT_TRUE(has_line(metrics, "millrace_sources_reading 0"));
  EXPECT_FALSE(has_line(metrics, "millrace_namespace_source_lag{namespace=\"shop\"} 9"));
}

TEST(Metrics, ShowWhereEachSourceIs) {
  Metrics metrics;
  const SourceLevels levels{.read = {{{"shop", "orders"}, 40}, {{"shop", "returns"}, 7}},
                            .lag = {{{"shop", "orders"}, 9}}};
  metrics.set(PartLevels{.sources = levels});
  const std::string orders = R"({namespace="shop",source="orders"})";
  EXPECT_TRUE(has_line(metrics, "millrace_source_read_sequence" + orders + " 40"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_lag" + orders + " 9"));
  const std::string returns = R"({namespace="shop",source="returns"})";
  EXPECT_TRUE(has_line(metrics, "millrace_source_read_sequence" + returns + " 7"));
  EXPECT_FALSE(has_line(metrics, "millrace_source_lag" + returns + " 0")) << "it is not known";
  metrics.set(PartLevels{.sources = {.read = {{{"shop", "orders"}, 41}}}});
  EXPECT_TRUE(has_line(metrics, "millrace_source_read_sequence" + orders + " 41"));
  EXPECT_FALSE(has_line(metrics, "millrace_source_lag" + orders + " 9")) << "it is paused";
}

TEST(Metrics, CountWhatHappenedToTheStreamsOfSources) {
  Metrics metrics;
  metrics.set(PartLevels{
      .sources = {
          .consumers = 5, .recreated = 1, .rolled_back = 2, .gone = 300, .lost_events = 4}});
  EXPECT_TRUE(has_line(metrics, "millrace_source_consumers_total 5"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_streams_recreated_total 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_streams_rolled_back_total 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_messages_gone_total 300"));
  EXPECT_TRUE(has_line(metrics, "millrace_source_events_lost_total 4"));
}

TEST(Metrics, ShowTheOutgoingHttpRequestsOfNamespacesThatHaveSome) {
  Metrics metrics;
  metrics.set(PartLevels{.http_running = 3,
                         .http_waiting = 4,
                         .namespace_http_running = {{"shop", 2}},
                         .namespace_http_waiting = {{"shop", 4}}});
  EXPECT_TRUE(has_line(metrics, "millrace_http_running 3"));
  EXPECT_TRUE(has_line(metrics, "millrace_http_waiting 4"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_http_running{namespace=\"shop\"} 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_http_waiting{namespace=\"shop\"} 4"));
  metrics.set(PartLevels());
  EXPECT_FALSE(has_line(metrics, "millrace_namespace_http_running{namespace=\"shop\"} 2"));
}

TEST(Metrics, MeasureTheWaitOfTasksInSeconds) {
  Metrics metrics;
  metrics.count({.started_after = {Duration(1'500), Duration(500)}});
  EXPECT_TRUE(has_line(metrics, "millrace_function_schedule_to_start_seconds_count 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_function_schedule_to_start_seconds_sum 2"));
}

TEST(Metrics, ShowTheLongestUnitsOfTheLastMinute) {
  struct StoppedClock final : Clock {
    TimePoint now() const override { return {}; }
    Duration elapsed() const override { return time; }
    Duration time{0};
  };
  StoppedClock clock;
  Metrics metrics(clock);
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"command\"} 0"));
  EXPECT_EQ(metrics.longest_unit().time.count(), 0);
  const auto add = [&](UnitKind kind, Duration processor, Duration elapsed) {
    TurnTimes times;
    times.units[static_cast<size_t>(kind)] = {.processor = processor, .elapsed = elapsed};
    metrics.add_turn(times);
  };
  add(UnitKind::kCommand, Duration(1'500), Duration(1'500));
  add(UnitKind::kCommand, Duration(500), Duration(500));
  add(UnitKind::kOther, Duration(250), Duration(250));
  add(UnitKind::kTimer, Duration(0), Duration(0));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"command\"} 1.5"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"other\"} 0.25"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"timer\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_unit_seconds_bucket{le=\"0.25\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_unit_seconds_bucket{le=\"0.5\"} 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_unit_seconds_count 3"));
  EXPECT_EQ(metrics.longest_unit().time, std::chrono::milliseconds(1'500));
  EXPECT_EQ(metrics.longest_unit().kind, UnitKind::kCommand);
  add(UnitKind::kEvent, Duration(0), Duration(2'500));
  EXPECT_TRUE(
      has_line(metrics, "millrace_engine_longest_unit_elapsed_seconds{kind=\"event\"} 2.5"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"event\"} 0"));
  EXPECT_EQ(metrics.longest_unit().kind, UnitKind::kCommand) << "by processor time";
  clock.time += std::chrono::minutes(2);
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_elapsed_seconds{kind=\"event\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_longest_unit_seconds{kind=\"command\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_engine_unit_seconds_count 3")) << "a total";
}

TEST(Metrics, ShowTheLongestTurnOfTheLastMinuteByItsParts) {
  Metrics metrics;
  const auto of_part = [](const std::string& part, const char* value) {
    return "millrace_engine_longest_turn_seconds{part=\"" + part + "\"} " + value;
  };
  EXPECT_TRUE(has_line(metrics, of_part("all", "0")));
  metrics.add_turn(
      {.turn = {.elapsed = Duration(750), .apply = Duration(500), .commit = Duration(250)}});
  metrics.add_turn({.turn = {.elapsed = Duration(2'750),
                             .apply = Duration(1'000),
                             .commit = Duration(1'500),
                             .perform = Duration(250),
                             .processor = Duration(2'000)}});
  EXPECT_TRUE(has_line(metrics, of_part("all", "2.75")));
  EXPECT_TRUE(has_line(metrics, of_part("apply", "1")));
  EXPECT_TRUE(has_line(metrics, of_part("commit", "1.5")));
  EXPECT_TRUE(has_line(metrics, of_part("perform", "0.25")));
  EXPECT_TRUE(has_line(metrics, of_part("processor", "2")));
}

TEST(Metrics, ShowTheFiguresOfTheStore) {
  Metrics metrics;
  EXPECT_TRUE(has_line(metrics, "millrace_store_data_bytes 0"));
  StoreFigures figures{.size = {.data_bytes = 8192,
                                .used_bytes = 4096,
                                .free_bytes = 1024,
                                .journal_bytes = 512,
                                .waiting_rows = 7,
                                .waiting_bytes = 700},
                       .archive_bytes = 99};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_store_data_bytes 8192"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_used_bytes 4096"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_free_bytes 1024"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_journal_bytes 512"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_waiting_rows 7"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_waiting_bytes 700"));
  EXPECT_TRUE(has_line(metrics, "millrace_archive_bytes 99"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_checkpoint_bytes_per_second 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_commit_wait_seconds_total 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_oldest_ended_instance_start_seconds 0"));
  figures.commit_waits = std::chrono::milliseconds(1'500);
  figures.checkpoint_rate = 250;
  figures.oldest_ended = from_millis(2'500);
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_store_checkpoint_bytes_per_second 250"));
  EXPECT_TRUE(has_line(metrics, "millrace_store_commit_wait_seconds_total 1.5"));
  EXPECT_TRUE(has_line(metrics, "millrace_oldest_ended_instance_start_seconds 2.5"));
  figures.commit_waits = std::chrono::milliseconds(250);  // the store was opened again
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_store_commit_wait_seconds_total 1.75"));
}

TEST(Metrics, HaveAGaugeForEachNamespaceThatTheStoreHas) {
  Metrics metrics;
  const Usage usage{
      .live = 1, .ended = 2, .row_bytes = 300, .history_bytes = 40, .counted_bytes = 5};
  StoreFigures figures;
  figures.namespaces = std::vector<NamespaceUsage>{
      {.ns = "default"}, {.ns = "shop", .usage = usage, .oldest_ended = from_millis(2'500)}};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"default\"} 0"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"shop\"} 1"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_ended_instances{namespace=\"shop\"} 2"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_row_bytes{namespace=\"shop\"} 300"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_history_bytes{namespace=\"shop\"} 40"));
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_other_bytes{namespace=\"shop\"} 5"));
  EXPECT_TRUE(has_line(
      metrics, "millrace_namespace_oldest_ended_instance_start_seconds{namespace=\"shop\"} 2.5"));
  figures.namespaces = std::vector<NamespaceUsage>{{.ns = "default", .usage = usage}};
  metrics.set_store(figures);
  EXPECT_TRUE(has_line(metrics, "millrace_namespace_live_instances{namespace=\"default\"} 1"));
  EXPECT_EQ(metrics.text().find("shop"), std::string::npos) << "the namespace was deleted";
}

}  // namespace
}  // namespace millrace
