// Purges: the rows of deleted namespaces, workflows and instances are erased, some in each batch.
#include "orchestrator/batch/purges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/purges_fixture.h"

namespace millrace {
namespace {

TEST_F(PurgesTest, EraseOnlyTheRowsOfTheirNamespace) {
  const size_t variables = rows_of(Table::kVariables);
  write_variable(*tx, {owner_of(ns, {}, {}, VariableScope::kNamespace), "mine"}, {.bytes = "1"});
  apply(kDone);
  const NamespaceNumber shop = fill("shop");
  erase(shop, "shop");
  EXPECT_TRUE(purges.is_erasing(shop));
  EXPECT_FALSE(purges.is_erasing(ns));
  EXPECT_EQ(purge_rows(), 1U);
  finish();
  EXPECT_EQ(purge_rows(), 0U);
  EXPECT_FALSE(purges.is_erasing(shop));
  EXPECT_EQ(rows_of(Table::kVariables), variables + 1);
  for (const Table table :
       {Table::kSecrets, Table::kTasks, Table::kEnded, Table::kLive, Table::kHistory}) {
    EXPECT_EQ(rows_of(table), 0U) << table_name(table);
  }
  EXPECT_EQ(rows_of(Table::kWorkflows), 1U);
  EXPECT_EQ(rows_of(Table::kDefinitions), 1U);
  EXPECT_EQ(tasks.size(), 0U);
}

TEST_F(PurgesTest, StartInTheBatchAfterTheDeletion) {
  const NamespaceNumber shop = fill("shop");
  catalog.remove_namespace(*tx, shop);
  purges.begin(shop, "shop");
  ASSERT_TRUE(purges.go_on());
  EXPECT_EQ(batch.outcome.counts.rows_purged, 0U)
      << "rows that the deleting batch writes would be left";
  commit_batch();
  go_on();
  EXPECT_GT(outcome.counts.rows_purged, 0U);
}

TEST_F(PurgesTest, EraseALimitedNumberOfRowsInEachBatch) {
  const NamespaceNumber shop = fill("shop", 2'500);
  erase(shop, "shop");
  go_on();
  EXPECT_FALSE(purges.empty());
  EXPECT_LE(outcome.counts.rows_purged, PurgeBudget().rows);
  finish();
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(PurgesTest, StopTheTasksOfTheNamespace) {
  const NamespaceNumber shop = fill("shop");
  erase(shop, "shop");
  std::vector<InstanceId> stopped;
  while (!purges.empty()) {
    go_on();
    for (const StopTask& task : actions_of<StopTask>(outcome)) stopped.push_back(task.task);
  }
  EXPECT_THAT(stopped, testing::ElementsAre(numbered_id(100)));
}

TEST_F(PurgesTest, AreUnchangedAfterALostBatch) {
  const NamespaceNumber shop = fill("shop", 2'500);
  erase(shop, "shop");
  go_on();
  const auto before = rows();
  ASSERT_TRUE(purges.go_on());
  purges.begin_history(ns, 7);
  purges.undo();
  lose_batch();
  EXPECT_TRUE(purges.is_erasing(shop));
  EXPECT_EQ(rows(), before);
  finish();
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(PurgesTest, AreForgottenIfTheBatchThatStartedThemIsLost) {
  const NamespaceNumber shop = fill("shop");
  catalog.remove_namespace(*tx, shop);
  purges.begin(shop, "shop");
  purges.undo();
  lose_batch();
  EXPECT_TRUE(purges.empty());
  EXPECT_FALSE(purges.is_erasing(shop));
}

TEST_F(PurgesTest, ContinueInTheNextProcess) {
  const NamespaceNumber shop = fill("shop", 2'500);
  erase(shop, "shop");
  go_on();
  Purges next(batch, groups, instances);
  ASSERT_TRUE(next.load());
  EXPECT_TRUE(next.is_erasing(shop));
  for (int i = 0; i < 100 && !next.empty(); ++i) {
    ASSERT_TRUE(next.go_on());
    commit_batch();
  }
  EXPECT_TRUE(next.empty());
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(PurgesTest, DoNotEraseANamespaceThatExists) {
  fill("shop");
  write_purge(*tx, {.kind = Purge::Kind::kNamespace,
                    .number = static_cast<uint64_t>(ns),
                    .record = {.ns = "default"}});
  commit();
  ASSERT_TRUE(purges.load());
  EXPECT_TRUE(purges.empty());
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_TRUE(damages.ready());
}

TEST_F(PurgesTest, EraseNoRowOfANamespaceWhoseOwnRowIsMissing) {
  fill("shop");
  erase_namespace(*tx, "shop");
  commit();
  load_caches();
  const auto before = rows();
  ASSERT_TRUE(purges.load());
  EXPECT_FALSE(damages.ready());
  EXPECT_TRUE(purges.empty());
  commit_batch();
  EXPECT_EQ(rows(), before);
}

TEST_F(PurgesTest, EraseHistoryOfAnExistingInstanceOnlyIfItWasTrimmed) {
  for (uint64_t number = 1; number <= 3; ++number) {
    HistoryRow row{.ns = ns, .instance = numbered_id(9), .previous = number - 1};
    row.records = {{.time = now, .kind = HistoryKind::kLog}};
    write_history(*tx, number, row);
  }
  Instance head{.id = numbered_id(9), .ns = ns, .history_count = 3, .last_history = 3};
  write_instance(*tx, head, {.input = true});
  const auto is_accepted = [&](uint64_t number) {
    const Purge purge{.kind = Purge::Kind::kHistory, .number = number, .record = {}};
    write_purge(*tx, purge);
    EXPECT_TRUE(purges.load());
    erase_purge(*tx, purge);
    return !purges.empty();
  };
  EXPECT_FALSE(is_accepted(1));
  ASSERT_TRUE(begin_history_at(*tx, 2));
  head.history_trimmed = 1;
  write_instance(*tx, head, {});
  EXPECT_TRUE(is_accepted(1));
  EXPECT_FALSE(is_accepted(2));
  EXPECT_FALSE(is_accepted(3));
}

TEST_F(PurgesTest, EraseTheHistoryOfADeletedInstance) {
  const WorkflowEntry& entry = define(kDone);
  const InstanceId id = start(entry);
  commit_batch();
  const auto instance = read_instance(*tx, ns, id).value();
  erase_instance(*tx, *instance);
  purges.begin_history(ns, instance->last_history);
  commit_batch();
  finish();
  EXPECT_EQ(rows_of(Table::kHistory), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

// Ended instances that a filter selects.

class DeletedInstancesTest : public PurgesTest {
 protected:
  DeletedInstancesTest() {
    done = define(kDone);
    fails = define(kStops);
  }
  /// Starts instances that end at once, each in a batch of its own.
  std::vector<InstanceId> end(const WorkflowEntry& workflow, int count) {
    std::vector<InstanceId> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(start(workflow));
      commit_batch();
    }
    return ids;
  }
  EndedFilter filter(WorkflowNumber workflow = {}) const {
    return {.ns = ns, .workflow = workflow, .statuses = {InstanceStatus::kComplete}};
  }
  void begin(const EndedFilter& selected, const std::string& workflow = "") {
    ASSERT_TRUE(purges.begin_instances(selected, "default", workflow));
    commit_batch();
  }
  uint64_t deleted() const {
    return outcome.counts.deleted[static_cast<size_t>(DeletionReason::kRequest)];
  }

  static constexpr const char* kStops =
      "id: stops\nstates:\n- {id: a, type: error, error: no.use, message: gone}\n";

  WorkflowEntry done;
  WorkflowEntry fails;
};

TEST_F(DeletedInstancesTest, AreShownToClientsThatWatch) {
  WatchRing ring;
  batch.watch = &ring;
  const InstanceId complete = end(done, 1)[0];
  begin(filter());
  ring.watch(true);
  go_on();
  const std::vector<ShowChange> shown = actions_of<ShowChange>(outcome);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].change.instance, complete);
  EXPECT_EQ(shown[0].change.workflow, done.number);
  EXPECT_TRUE(shown[0].change.is_deleted);
}

TEST_F(DeletedInstancesTest, AreThoseThatTheFilterSelects) {
  const InstanceId complete = end(done, 1)[0];
  const InstanceId failed = end(fails, 1)[0];
  write_variable(
      *tx,
      {.owner = {.scope = VariableScope::kInstance, .ns = ns, .instance = complete}, .key = "v"},
      {.bytes = "1"});
  begin(filter());
  go_on();
  EXPECT_EQ(deleted(), 1U);
  EXPECT_TRUE(purges.empty());
  EXPECT_EQ(purge_rows(), 0U);
  EXPECT_EQ(status_of(complete), "none");
  EXPECT_EQ(status_of(failed), "failed");
  EXPECT_EQ(rows_of(Table::kHistory), 1U);
  EXPECT_EQ(rows_of(Table::kByStatus), 1U);
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(DeletedInstancesTest, AreOfOneWorkflowIfTheFilterNamesIt) {
  const WorkflowEntry other = define("id: other\nstates:\n- {id: a, type: noop}\n");
  const InstanceId stays = end(done, 1)[0];
  const InstanceId goes = end(other, 1)[0];
  begin(filter(other.number), "other");
  finish();
  EXPECT_EQ(status_of(stays), "complete");
  EXPECT_EQ(status_of(goes), "none");
}

TEST_F(DeletedInstancesTest, EndedBeforeTheTimeOfTheFilter) {
  const InstanceId early = end(done, 1)[0];
  const TimePoint before = now += std::chrono::seconds(1);
  const InstanceId late = end(done, 1)[0];
  EndedFilter selected = filter();
  selected.before = before;
  begin(selected);
  finish();
  EXPECT_EQ(status_of(early), "none");
  EXPECT_EQ(status_of(late), "complete") << "the instance ended at that time";
}

TEST_F(DeletedInstancesTest, EndedBeforeThatTimeAlsoIfTheTimeInAnIdIsLater) {
  const auto ahead = instances.start(
      now, done, *definition(done),
      {.data = Json::object(), .id = make_instance_id(now + std::chrono::hours(1), {})});
  ASSERT_TRUE(ahead);
  ASSERT_TRUE(instances.write());
  ASSERT_TRUE(batch.index.write(*tx, damages.noting()));
  commit_batch();
  EndedFilter selected = filter();
  selected.before = now += std::chrono::seconds(1);
  begin(selected);
  finish();
  EXPECT_EQ(status_of(*ahead), "none");
}

TEST_F(DeletedInstancesTest, HadEndedWhenTheDeletionBegan) {
  const InstanceId before = end(done, 1)[0];
  begin(filter());
  const InstanceId after = end(done, 1)[0];
  finish();
  EXPECT_EQ(status_of(before), "none");
  EXPECT_EQ(status_of(after), "complete");
}

TEST_F(DeletedInstancesTest, AreDeletedSomeInEachBatchAlsoByTheNextProcess) {
  for (const InstanceId& id : end(done, 3)) {
    for (int i = 0; i < 150; ++i) {
      write_variable(*tx,
                     {.owner = {.scope = VariableScope::kInstance, .ns = ns, .instance = id},
                      .key = std::to_string(i)},
                     {.bytes = "1"});
    }
  }
  begin(filter());
  go_on();
  EXPECT_EQ(deleted(), 1U);
  EXPECT_LE(outcome.counts.rows_purged, PurgeBudget().rows);
  Purges next(batch, groups, instances);
  ASSERT_TRUE(next.load());
  for (int i = 0; i < 10 && !next.empty(); ++i) {
    ASSERT_TRUE(next.go_on());
    commit_batch();
  }
  EXPECT_TRUE(next.empty());
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
  EXPECT_EQ(rows_of(Table::kByStatus), 0U);
}

TEST_F(DeletedInstancesTest, StayIfTheirHeadIsDamaged) {
  const auto ids = end(done, 2);
  tx->put(Table::kEnded, part_key(rows::instance_prefix(ns, ids[0]), Part::kHead), "rubbish");
  begin(filter());
  finish();
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_EQ(status_of(ids[1]), "none");
  EXPECT_EQ(rows_of(Table::kByStatus), 1U);
}

TEST_F(DeletedInstancesTest, StayIfTheNamesInThePurgeDoNotBelongToItsNumbers) {
  const auto is_refused = [&](const EndedFilter& selected, const PurgeRecord& names) {
    PurgeRecord record = names;
    record.ended = selected;
    const Purge purge{.kind = Purge::Kind::kInstances, .number = 99, .record = record};
    write_purge(*tx, purge);
    EXPECT_TRUE(purges.load());
    erase_purge(*tx, purge);
    return purges.empty();
  };
  EXPECT_FALSE(is_refused(filter(done.number), {.ns = "default", .workflow = "done"}));
  EXPECT_TRUE(is_refused(filter(), {.ns = "shop"}));
  EXPECT_TRUE(is_refused(filter(), {.ns = "default", .workflow = "done"}));
  EXPECT_TRUE(is_refused(filter(done.number), {.ns = "default", .workflow = "stops"}));
  EXPECT_TRUE(is_refused(filter(done.number), {.ns = "default"}));
  EXPECT_EQ(damages.count(), 3U) << "each damage is noted once";
}

TEST_F(DeletedInstancesTest, AreLeftToThePurgeOfTheirNamespace) {
  const NamespaceNumber shop = fill("shop");
  EndedFilter selected = filter();
  selected.ns = shop;
  ASSERT_TRUE(purges.begin_instances(selected, "shop", ""));
  erase(shop, "shop");
  finish();
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(DeletedInstancesTest, AreAllDeletedDespiteFailedReads) {
  end(done, 3);
  begin(filter());
  const auto before = rows();
  EXPECT_GE(fail_each_read([&] { return try_go_on(); },
                           [&] {
                             purges.undo();
                             lose_batch();
                             EXPECT_EQ(rows(), before);
                           }),
            5U);
  finish();
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(rows_of(Table::kHistory), 0U);
}

// Failed reads.

TEST_F(PurgesTest, EraseEachRowDespiteFailedReads) {
  const NamespaceNumber shop = fill("shop");
  erase(shop, "shop");
  const auto before = rows();
  const uint64_t failed = fail_each_read([&] { return try_go_on(); },
                                         [&] {
                                           purges.undo();
                                           lose_batch();
                                           EXPECT_EQ(rows(), before);
                                           EXPECT_TRUE(purges.is_erasing(shop));
                                         });
  EXPECT_GE(failed, 5U);
  finish();
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
  EXPECT_EQ(rows_of(Table::kSecrets), 0U);
}

TEST_F(PurgesTest, LoadCompletelyDespiteFailedReads) {
  const NamespaceNumber shop = fill("shop");
  erase(shop, "shop");
  Purges next(batch, groups, instances);
  EXPECT_GE(fail_each_read([&] { return next.load(); }, [] {}), 3U);
  EXPECT_TRUE(next.is_erasing(shop));
  EXPECT_EQ(damages.count(), 0U);
}

}  // namespace
}  // namespace millrace
