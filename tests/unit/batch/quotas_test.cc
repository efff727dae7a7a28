// Quotas: what of a namespace is refused, as the counters of the batch and the store are.
#include "orchestrator/batch/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/variable_rows.h"
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
    const auto refused = batch.outcome.counts.over_quota.find(ns);
    if (refused == batch.outcome.counts.over_quota.end()) return 0;
    return refused->second[static_cast<size_t>(quota)];
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

TEST_F(QuotasTest, PermitAnEighthMoreForWhatActiveInstancesNeed) {
  set_settings({{"quotas", {{"storeBytes", 800}}}});
  add_bytes(1, 799);
  EXPECT_FALSE(quotas.refusal_of_bytes(ns).value());
  add_bytes(2, 100);
  EXPECT_TRUE(quotas.is_full(ns).value());
  EXPECT_EQ(quotas.refusal_of_bytes(ns).value()->code, "millrace.quota.storeBytes");
  EXPECT_FALSE(quotas.refusal_of_need(ns).value());
  EXPECT_EQ(refusals(Quota::kStoreBytes), 1U);
  add_bytes(3, 1);
  EXPECT_EQ(quotas.refusal_of_need(ns).value()->code, "millrace.quota.storeBytes");
  EXPECT_EQ(refusals(Quota::kStoreBytes), 2U);
}

TEST_F(QuotasTest, LimitTheStepsOfActiveInstancesByTheBytesOfTheNamespaceAndOfTheHistory) {
  set_settings({{"quotas", {{"storeBytes", 800}, {"historyBytes", 1 << 20}}}});
  Instance instance{.ns = ns};
  const auto of_step = [&] { return quotas.of_step(instance).value(); };
  add_bytes(1, 899);
  EXPECT_FALSE(of_step().exceeded) << "the quota is used up, but not its eighth";
  add_bytes(2, 1);
  ASSERT_TRUE(of_step().exceeded);
  EXPECT_EQ(of_step().exceeded->quota, Quota::kStoreBytes);
  EXPECT_EQ(of_step().exceeded->limit, 800U);
  EXPECT_FALSE(of_step().is_far_beyond);
  instance.history_bytes = 1 << 20;
  EXPECT_EQ(of_step().exceeded->quota, Quota::kHistoryBytes);
  add_bytes(3, 100);
  EXPECT_TRUE(of_step().is_far_beyond);
  EXPECT_EQ(refusals(Quota::kStoreBytes), 0U) << "only an error that is raised counts";
  set_settings({{"quotas", {{"storeBytes", "unlimited"}, {"historyBytes", "unlimited"}}}});
  EXPECT_FALSE(of_step().exceeded);
  EXPECT_FALSE(of_step().is_far_beyond);
}

TEST_F(QuotasTest, CountTheOtherRowsThatABatchWritesAndErases) {
  set_settings({{"quotas", {{"storeBytes", 1'000}}}});
  const VariableName name{owner_of(ns, {}, {}, VariableScope::kNamespace), "k"};
  const auto settle = [&] {
    ASSERT_TRUE(count_bytes(batch));
    ASSERT_TRUE(batch.index.write(*tx, damages.noting()));
    commit();
    batches.begin();
  };
  write_variable(*tx, name, {.bytes = std::string(1'000, 'v')});
  EXPECT_FALSE(quotas.is_full(ns).value()) << "the rows of a batch count when it is finished";
  settle();
  EXPECT_TRUE(quotas.is_full(ns).value());
  EXPECT_EQ(refusal(), "millrace.quota.storeBytes");
  erase_variable(*tx, name);
  settle();
  EXPECT_FALSE(quotas.is_full(ns).value());
  EXPECT_EQ(damages.count(), 0U);
}

TEST_F(QuotasTest, PermitAValueOfAVariableThatIsNotLonger) {
  set_settings({{"quotas", {{"storeBytes", 1'000}}}});
  const VariableName name{owner_of(ns, {}, {}, VariableScope::kNamespace), "k"};
  write_variable(*tx, name, {.bytes = "1234"});
  EXPECT_FALSE(quotas.refusal_of_variable(name, 100).value()) << "the quota is not used up";
  add_bytes(1, 1'000);
  EXPECT_FALSE(quotas.refusal_of_variable(name, 4).value());
  EXPECT_TRUE(quotas.refusal_of_variable(name, 5).value());
  EXPECT_TRUE(quotas.refusal_of_variable({name.owner, "other"}, 0).value());
  EXPECT_EQ(refusals(Quota::kStoreBytes), 2U);
  damage(Table::kVariables);
  EXPECT_TRUE(quotas.refusal_of_variable(name, 4).value()) << "the present length is not known";
  fail_reads_of(Table::kVariables);
  EXPECT_EQ(quotas.refusal_of_variable(name, 4).error().code, "store.io");
}

TEST_F(QuotasTest, HaveNoLimitThatIsUnlimited) {
  set_settings({{"quotas", {{"instances", "unlimited"}, {"storeBytes", "unlimited"}}}});
  add_bytes(1, uint64_t{1} << 50);
  fail_reads_of(Table::kUsage);
  EXPECT_EQ(refusal(), "");
  EXPECT_FALSE(quotas.refusal_of_bytes(ns).value());
  EXPECT_FALSE(quotas.refusal_of_need(ns).value());
}

}  // namespace
}  // namespace millrace
