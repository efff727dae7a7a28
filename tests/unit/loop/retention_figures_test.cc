// Retention figures: their JSON, and the times of metrics.
#include "orchestrator/loop/retention_figures.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const TimePoint kNoon = from_millis(1'630'497'600'000);  // 2021-09-01T12:00:00Z

TEST(RetentionFigures, HaveAJsonFormWithoutTheTimesThatAreNotKnown) {
  EXPECT_EQ(to_json(RetentionFigures()), Json::parse(R"({
    "instances": {"running": false}, "deadLetters": {"running": false}, "namespaces": []})"));
}

TEST(RetentionFigures, HaveAJsonFormWithTheNumbersOfEachNamespace) {
  RetentionFigures figures;
  figures.instances = {.last_end = kNoon, .next = kNoon + std::chrono::minutes(1)};
  figures.dead_letters.is_running = true;
  NamespaceRetention& shop = figures.namespaces["shop"];
  shop.counts = {.instances = 1, .archived = 2, .bytes = 3, .records = 4, .trimmed = 5};
  shop.dead_letters = 6;
  shop.next_due = kNoon + std::chrono::hours(1);
  figures.namespaces["audit"].dead_letters = 7;
  figures.namespaces["audit"].archive_failure =
      ArchiveFailure{.at = kNoon, .error = {"archive.write", "the disk is full"}};
  EXPECT_EQ(to_json(figures), Json::parse(R"({
    "instances": {"running": false, "lastPassEnded": "2021-09-01T12:00:00.000Z",
                  "nextPass": "2021-09-01T12:01:00.000Z"},
    "deadLetters": {"running": true},
    "namespaces": [
      {"namespace": "audit", "deletedInstances": 0, "archivedInstances": 0, "deletedBytes": 0,
       "deletedRecords": 0, "trimmedRecords": 0, "deletedDeadLetters": 7,
       "archiveFailure": {"at": "2021-09-01T12:00:00.000Z", "code": "archive.write",
                          "message": "the disk is full"}},
      {"namespace": "shop", "deletedInstances": 1, "archivedInstances": 2, "deletedBytes": 3,
       "deletedRecords": 4, "trimmedRecords": 5, "deletedDeadLetters": 6,
       "nextDeletion": "2021-09-01T13:00:00.000Z"}]})"));
}

TEST(RetentionFigures, HaveTheirTimesInSecondsInTheMetrics) {
  EXPECT_EQ(unix_seconds(std::nullopt), 0);
  EXPECT_EQ(unix_seconds(from_millis(2'500)), 2.5);
}

}  // namespace
}  // namespace millrace
