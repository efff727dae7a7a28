// LiveCounts: the number of live instances of a workflow, also after a lost batch.
#include "orchestrator/memory/live_counts.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr NamespaceNumber kShopNamespace{1};
constexpr NamespaceNumber kBank{2};
constexpr WorkflowNumber kOrders{1};
constexpr WorkflowNumber kBills{2};

TEST(LiveCounts, CountsTheInstancesThatHaveNotEnded) {
  BatchCount batches;
  LiveCounts live(batches);
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_EQ(live.count(kOrders), 0U);
  live.began(kShopNamespace, kOrders);
  live.began(kShopNamespace, kOrders);
  live.began(kShopNamespace, kBills);
  EXPECT_TRUE(live.any(kOrders));
  EXPECT_EQ(live.count(kOrders), 2U);
  live.ended(kShopNamespace, kOrders);
  live.ended(kShopNamespace, kOrders);
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_EQ(live.count(kBills), 1U);
}

TEST(LiveCounts, CountsTheInstancesOfEachNamespace) {
  BatchCount batches;
  LiveCounts live(batches);
  batches.begin();
  live.began(kShopNamespace, kOrders);
  live.began(kShopNamespace, kBills);
  live.began(kBank, WorkflowNumber(3));
  EXPECT_EQ(live.count(kShopNamespace), 2U);
  EXPECT_EQ(live.count(kBank), 1U);
  live.ended(kShopNamespace, kOrders);
  live.ended(kShopNamespace, kOrders);
  EXPECT_EQ(live.count(kShopNamespace), 1U);
  live.undo();
  EXPECT_EQ(live.count(kShopNamespace), 0U);
  EXPECT_EQ(live.count(kBank), 0U);
}

TEST(LiveCounts, StaysAtZeroWhenAnUncountedInstanceEnds) {
  BatchCount batches;
  LiveCounts live(batches);
  live.ended(kShopNamespace, kOrders);
  EXPECT_EQ(live.count(kOrders), 0U);
  live.began(kShopNamespace, kOrders);
  EXPECT_EQ(live.count(kOrders), 1U);
}

TEST(LiveCounts, IsUnchangedByALostBatch) {
  BatchCount batches;
  LiveCounts live(batches);
  live.began(kShopNamespace, kOrders);
  live.began(kShopNamespace, kBills);
  batches.begin();

  live.began(kShopNamespace, kOrders);
  live.began(kShopNamespace, kOrders);
  live.ended(kShopNamespace, kBills);
  live.began(kShopNamespace, WorkflowNumber(3));
  live.ended(kShopNamespace, WorkflowNumber(3));
  live.undo();
  EXPECT_EQ(live.count(kOrders), 1U);
  EXPECT_EQ(live.count(kBills), 1U);
  EXPECT_FALSE(live.any(WorkflowNumber(3)));

  live.undo();
  EXPECT_EQ(live.count(kOrders), 1U) << "the lost batch is undone only once";
}

TEST(LiveCounts, KeepsCommittedChangesWhenTheNextBatchIsLost) {
  BatchCount batches;
  LiveCounts live(batches);
  live.began(kShopNamespace, kOrders);
  batches.begin();
  live.ended(kShopNamespace, kOrders);
  batches.begin();
  live.began(kShopNamespace, kBills);
  live.undo();
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_FALSE(live.any(kBills));
}

TEST(LiveCounts, ForgetsAllCountsWhenItIsCleared) {
  BatchCount batches;
  LiveCounts live(batches);
  live.began(kShopNamespace, kOrders);
  live.clear();
  EXPECT_FALSE(live.any(kOrders));
  live.undo();
  EXPECT_FALSE(live.any(kOrders)) << "clear() leaves nothing to undo";
}

}  // namespace
}  // namespace millrace
