// LiveCounts: the number of live instances of a workflow, also after a lost batch.
#include "orchestrator/memory/live_counts.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr WorkflowNumber kOrders{1};
constexpr WorkflowNumber kBills{2};

TEST(LiveCounts, CountsTheInstancesThatHaveNotEnded) {
  BatchCount batches;
  LiveCounts live(batches);
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_EQ(live.count(kOrders), 0U);
  live.began(kOrders);
  live.began(kOrders);
  live.began(kBills);
  EXPECT_TRUE(live.any(kOrders));
  EXPECT_EQ(live.count(kOrders), 2U);
  live.ended(kOrders);
  live.ended(kOrders);
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_EQ(live.count(kBills), 1U);
}

TEST(LiveCounts, StaysAtZeroWhenAnUncountedInstanceEnds) {
  BatchCount batches;
  LiveCounts live(batches);
  live.ended(kOrders);
  EXPECT_EQ(live.count(kOrders), 0U);
  live.began(kOrders);
  EXPECT_EQ(live.count(kOrders), 1U);
}

TEST(LiveCounts, IsUnchangedByALostBatch) {
  BatchCount batches;
  LiveCounts live(batches);
  live.began(kOrders);
  live.began(kBills);
  batches.begin();

  live.began(kOrders);
  live.began(kOrders);
  live.ended(kBills);
  live.began(WorkflowNumber(3));
  live.ended(WorkflowNumber(3));
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
  live.began(kOrders);
  batches.begin();
  live.ended(kOrders);
  batches.begin();
  live.began(kBills);
  live.undo();
  EXPECT_FALSE(live.any(kOrders));
  EXPECT_FALSE(live.any(kBills));
}

TEST(LiveCounts, ForgetsAllCountsWhenItIsCleared) {
  BatchCount batches;
  LiveCounts live(batches);
  live.began(kOrders);
  live.clear();
  EXPECT_FALSE(live.any(kOrders));
  live.undo();
  EXPECT_FALSE(live.any(kOrders)) << "clear() leaves nothing to undo";
}

}  // namespace
}  // namespace millrace
