// Purges: the portions in which rows are erased, and the turns of the namespaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/work_budget.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/batch/purges_fixture.h"

namespace millrace {
namespace {

using PurgeTurnsTest = PurgesTest;

TEST_F(PurgeTurnsTest, TakeTurnsOverTheirNamespaces) {
  const NamespaceNumber large = fill("large", 5'000);
  const NamespaceNumber small = fill("small");
  erase(large, "large");
  erase(small, "small");
  for (int i = 0; i < 4 && purges.is_erasing(small); ++i) go_on();
  EXPECT_FALSE(purges.is_erasing(small)) << "the larger deletion, which began before, holds it up";
  EXPECT_TRUE(purges.is_erasing(large));
  finish();
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(PurgeTurnsTest, SayWhetherAnotherPortionCanFollowInTheBatch) {
  const NamespaceNumber large = fill("large", 5'000);
  erase(large, "large");
  EXPECT_TRUE(purges.go_on().value());
  const uint64_t first = batch.outcome.counts.rows_purged;
  EXPECT_TRUE(purges.go_on().value());
  EXPECT_GT(batch.outcome.counts.rows_purged, first);
  commit_batch();
  finish();
  EXPECT_FALSE(purges.go_on().value());
}

TEST_F(PurgeTurnsTest, EndAPortionWithItsUnitOfWork) {
  struct Spent final : WorkBudget {
    bool is_spent(size_t) const override { return ++asked > 20; }
    mutable int asked = 0;
  };
  const NamespaceNumber shop = fill("shop", 100);
  erase(shop, "shop");
  for (int i = 0; i < 200 && !purges.empty(); ++i) {
    Spent unit;
    ASSERT_TRUE(purges.go_on(&unit));
    EXPECT_LE(batch.outcome.counts.rows_purged, 20U);
    commit_batch();
  }
  EXPECT_TRUE(purges.empty());
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(PurgeTurnsTest, EraseTheHistoriesThatADeletedNamespaceLeavesBeforeFurtherInstances) {
  const NamespaceNumber shop = fill("shop", 0);
  uint64_t last = 1'000;
  for (uint8_t i = 201; i <= 203; ++i) {
    uint64_t previous = 0;
    for (int row = 0; row < 400; ++row) {
      write_history(*tx, ++last,
                    {.ns = shop,
                     .instance = numbered_id(i),
                     .previous = previous,
                     .records = {{.time = now, .kind = HistoryKind::kLog}}});
      previous = last;
    }
    Instance head{.id = numbered_id(i),
                  .ns = shop,
                  .revision = {catalog.find_workflow(shop, "done")->number, 1},
                  .status = InstanceStatus::kComplete,
                  .phase = Phase::kEnded,
                  .started_at = now,
                  .ended_at = now,
                  .last_history = last};
    write_instance(*tx, head, {.input = true});
  }
  commit();
  erase(shop, "shop");
  for (int i = 0; i < 100 && !purges.empty(); ++i) {
    EXPECT_LE(purges.size(), 2U) << "the namespace, and one history that it has left";
    go_on();
  }
  EXPECT_TRUE(purges.empty());
  EXPECT_EQ(rows_of(Table::kHistory), 0U);
}

}  // namespace
}  // namespace millrace
