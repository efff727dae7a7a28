// Purges: the rows of deleted namespaces, workflows and instances are erased, some in each batch.
#include "orchestrator/batch/purges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

constexpr const char* kDone = "id: done\nstates:\n- {id: a, type: noop}\n";

class PurgesTest : public BatchPartTest {
 protected:
  /// Creates a namespace with a workflow, variables, a secret and a task.
  NamespaceNumber fill(const std::string& name, int variables = 3) {
    const NamespaceNumber filled = create_namespace(name);
    auto workflow = load_stored(kDone);
    EXPECT_TRUE(catalog.apply(*tx, filled, kDone, *workflow, now));
    commit_catalog();
    const WorkflowEntry& entry = *catalog.find_workflow(filled, "done");
    EXPECT_TRUE(instances.start(now, entry, **workflow, {.data = Json::object()}));
    for (int i = 0; i < variables; ++i) {
      write_variable(*tx,
                     {owner_of(filled, {}, {}, VariableScope::kNamespace), "v" + std::to_string(i)},
                     {.bytes = "1"});
    }
    write_secret(*tx, filled, "key", "hidden");
    StartTask task{.ns = filled, .task = numbered_id(100), .runs = NamedService{.name = "s"}};
    tasks.begin(*tx, task);
    commit_batch();
    return filled;
  }
  /// Deletes the namespace, in a batch of its own.
  void erase(NamespaceNumber number, const std::string& name) {
    catalog.remove_namespace(*tx, number);
    purges.begin(number, name);
    commit_batch();
  }
  Status try_go_on() {
    TRY(purges.go_on());
    return try_commit_batch();
  }
  void go_on() {
    const Status done = try_go_on();
    ASSERT_TRUE(done) << done.error().message;
  }
  void finish() {
    for (int i = 0; i < 100 && !purges.empty(); ++i) go_on();
    EXPECT_TRUE(purges.empty()) << "the purge does not end";
  }
  size_t purge_rows() {
    size_t count = 0;
    EXPECT_TRUE(each_purge(*tx, [&](const Purge&) { ++count; }));
    return count;
  }

  Groups groups{batch, instances};
  Purges purges{batch, groups};
};

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
  purges.begin_history(7);
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
  Purges next(batch, groups);
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

TEST_F(PurgesTest, EraseTheHistoryOfADeletedInstance) {
  const WorkflowEntry& entry = define(kDone);
  const InstanceId id = start(entry);
  commit_batch();
  const auto instance = read_instance(*tx, ns, id).value();
  erase_instance(*tx, *instance);
  purges.begin_history(instance->last_history);
  commit_batch();
  finish();
  EXPECT_EQ(rows_of(Table::kHistory), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

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
  Purges next(batch, groups);
  EXPECT_GE(fail_each_read([&] { return next.load(); }, [] {}), 3U);
  EXPECT_TRUE(next.is_erasing(shop));
  EXPECT_EQ(damages.count(), 0U);
}

}  // namespace
}  // namespace millrace
