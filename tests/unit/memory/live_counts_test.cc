// Living: how many instances of a workflow have not ended, and what a lost batch leaves of that.
#include "orchestrator/memory/live_counts.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr WorkflowNumber kOrders{1};
constexpr WorkflowNumber kBills{2};

TEST(Living, CountsWhatBeganAndHasNotEnded) {
  BatchCount batches;
  Living living(batches);
  EXPECT_FALSE(living.any(kOrders));
  EXPECT_EQ(living.count(kOrders), 0U);
  living.began(kOrders);
  living.began(kOrders);
  living.began(kBills);
  EXPECT_TRUE(living.any(kOrders));
  EXPECT_EQ(living.count(kOrders), 2U);
  living.ended(kOrders);
  living.ended(kOrders);
  EXPECT_FALSE(living.any(kOrders));
  EXPECT_EQ(living.count(kBills), 1U);
}

TEST(Living, StaysAtNoneWhereOneEndsThatWasNotCounted) {
  BatchCount batches;
  Living living(batches);
  living.ended(kOrders);
  EXPECT_EQ(living.count(kOrders), 0U);
  living.began(kOrders);
  EXPECT_EQ(living.count(kOrders), 1U);
}

TEST(Living, IsAfterALostBatchAsBeforeIt) {
  BatchCount batches;
  Living living(batches);
  living.began(kOrders);
  living.began(kBills);
  batches.begin();

  living.began(kOrders);
  living.began(kOrders);
  living.ended(kBills);
  living.began(WorkflowNumber(3));
  living.ended(WorkflowNumber(3));
  living.undo();
  EXPECT_EQ(living.count(kOrders), 1U);
  EXPECT_EQ(living.count(kBills), 1U);
  EXPECT_FALSE(living.any(WorkflowNumber(3)));

  living.undo();
  EXPECT_EQ(living.count(kOrders), 1U) << "there is no batch in hand any more";
}

TEST(Living, KeepsWhatIsCommittedWhenTheNextBatchIsLost) {
  BatchCount batches;
  Living living(batches);
  living.began(kOrders);
  batches.begin();
  living.ended(kOrders);
  batches.begin();
  living.began(kBills);
  living.undo();
  EXPECT_FALSE(living.any(kOrders));
  EXPECT_FALSE(living.any(kBills));
}

TEST(Living, ForgetsAllWhenItIsCleared) {
  BatchCount batches;
  Living living(batches);
  living.began(kOrders);
  living.clear();
  EXPECT_FALSE(living.any(kOrders));
  living.undo();
  EXPECT_FALSE(living.any(kOrders)) << "and takes nothing back";
}

}  // namespace
}  // namespace millrace
