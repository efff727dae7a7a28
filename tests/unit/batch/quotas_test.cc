// Quotas: which starts of a namespace are refused, as the counters of the batch and the store are.
#include "orchestrator/batch/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

class QuotasTest : public BatchPartTest {
 protected:
  /// The code of the refusal; empty: an instance may start.
  std::string refusal() {
    const auto refused = quotas.refusal_of_start(ns);
    EXPECT_TRUE(refused) << refused.error().message;
    return refused && *refused ? (*refused)->code : "";
  }
  uint64_t refusals(Quota quota) const {
    return batch.outcome.counts.over_quota[static_cast<size_t>(quota)];
  }
  /// Adds an instance of that size to the index.
  void add_bytes(uint8_t number, uint64_t bytes) {
    batch.index.add(*tx, {.id = numbered_id(number),
                          .place = {.ns = ns, .status = InstanceStatus::kComplete},
                          .row_bytes = bytes});
    ASSERT_TRUE(batch.index.write(*tx, damages.noting()));
    commit();
    batches.begin();
  }

  Quotas quotas{batch};
};

TEST_F(QuotasTest, CountTheInstancesThatTheBatchHasStarted) {
  set_settings({{"quotas", {{"instances", 2}}}});
  const WorkflowEntry& waits = define(kWaits);
  EXPECT_EQ(refusal(), "");
  start(waits);
  EXPECT_EQ(refusal(), "");
  start(waits);
  EXPECT_EQ(refusal(), "millrace.quota.instances");
  EXPECT_EQ(refusals(Quota::kInstances), 1U);
  lose_batch();
  EXPECT_EQ(refusal(), "");
}

TEST_F(QuotasTest, ReadTheBytesOfTheInstancesOnceInABatch) {
  set_settings({{"quotas", {{"storeBytes", 1'000}}}});
  add_bytes(1, 999);
  EXPECT_EQ(refusal(), "");
  add_bytes(2, 1);
  EXPECT_EQ(refusal(), "millrace.quota.storeBytes");
  EXPECT_EQ(refusals(Quota::kStoreBytes), 1U);
  fail_reads_of(Table::kUsage);
  EXPECT_EQ(refusal(), "millrace.quota.storeBytes") << "the bytes are known for this batch";
  batches.begin();
  const auto unread = quotas.refusal_of_start(ns);
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code, "store.io");
}

TEST_F(QuotasTest, RefuseNothingForBytesThatAreNotKnown) {
  set_settings({{"quotas", {{"storeBytes", 1'000}}}});
  add_bytes(1, 5'000);
  request_index_build(*tx);
  EXPECT_EQ(refusal(), "") << "the index does not have all instances";
  tx->drop();
  batches.begin();
  damage(Table::kUsage);
  batches.begin();
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(QuotasTest, HaveNoLimitThatIsUnlimited) {
  set_settings({{"quotas", {{"instances", "unlimited"}, {"storeBytes", "unlimited"}}}});
  add_bytes(1, uint64_t{1} << 50);
  fail_reads_of(Table::kUsage);
  EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace millrace
