// History sweep: a pass of the retention trims the histories of instances that no write trims.
#include "orchestrator/batch/history_sweep.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

constexpr const char* kGoesRound = R"(
id: rounds
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)";

class HistorySweepTest : public BatchPartTest {
 protected:
  HistorySweepTest() { entry = define(kGoesRound); }

  void limit(const char* limits) {
    set_settings({{"retention", {{"history", Json::parse(limits)}}}});
  }
  void commit_all() {
    ASSERT_TRUE(instances.write());
    for (const auto& [of, row] : std::exchange(batch.trimmed_rows, {})) {
      purges.begin_history(of, row);
    }
    ASSERT_TRUE(batch.index.write(*tx, damages.noting()));
    commit_batch();
  }
  /// Wakes the instance so often, without a commit. Each time it makes two records.
  void wake(const InstanceId& id, int times) {
    const Event go{.id = "1", .source = "/s", .type = "go"};
    LoadedInstance* const loaded = instances.load(now, ns, id).value();
    ASSERT_NE(loaded, nullptr);
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(instances.step(now, *loaded, Matched{.event = &go, .entries = {0}}));
    }
  }
  /// Starts an instance that then has `count` more history rows, each with 2 * `wakes` records.
  InstanceId add(int count, int wakes = 1) {
    const InstanceId id = start(entry);
    commit_all();
    for (int i = 0; i < count; ++i) {
      wake(id, wakes);
      commit_all();
    }
    return id;
  }
  void end(const InstanceId& id) {
    LoadedInstance* const loaded = instances.load(now, ns, id).value();
    ASSERT_NE(loaded, nullptr);
    ASSERT_TRUE(instances.step(now, *loaded, Cancel{.error = {"a.code", "cancelled"}}));
    commit_all();
  }

  /// Takes one step, without a commit. Returns whether the sweep is finished.
  bool step() {
    PurgeBudget budget;
    const auto done = sweep.go_on(ns, at, budget);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(true);
  }
  /// Runs a sweep and the purges to their ends. Returns the number of steps of the sweep.
  int run() {
    at = {};
    int steps = 1;
    for (; steps < 1'000; ++steps) {
      EXPECT_TRUE(purges.go_on());
      const bool is_done = step();
      commit_all();
      if (is_done) break;
    }
    while (!purges.empty()) {
      EXPECT_TRUE(purges.go_on());
      commit_all();
    }
    return steps;
  }
  uint64_t kept(const InstanceId& id) {
    const auto head = read_head_anywhere(*tx, ns, id).value();
    EXPECT_TRUE(head);
    return head ? head->history_count - head->history_trimmed : 0;
  }
  /// Expects that each head has the records of its history, and the index the sizes of all heads.
  void expect_fits() {
    std::vector<InstanceId> ids;
    const auto see = [&](const Instance& head) {
      ids.push_back(head.id);
      return true;
    };
    ASSERT_TRUE(each_live(*tx, ns, std::nullopt, see));
    ASSERT_TRUE(each_ended(*tx, ns, std::nullopt, see));
    Usage sum;
    for (const InstanceId& id : ids) {
      const Instance one = read_instance(*tx, ns, id).value().value();
      const auto records = read_history(*tx, one);
      ASSERT_TRUE(records) << records.error().message;
      EXPECT_EQ(records->size(), kept(id));
      sum.row_bytes += indexed(one).row_bytes;
      sum.history_bytes += one.history_bytes;
    }
    const Usage usage = read_usage(*tx, ns).value();
    EXPECT_EQ(usage.row_bytes, sum.row_bytes);
    EXPECT_EQ(usage.history_bytes, sum.history_bytes);
    EXPECT_EQ(damages.count(), 0U);
  }

  WorkflowEntry entry;
  Groups groups{batch, instances};
  Purges purges{batch, groups, instances};
  HistorySweep sweep{batch, purges, instances};
  HistoryPosition at;
};

TEST_F(HistorySweepTest, TrimsLiveAndEndedInstancesThatWereWrittenBeforeTheLimitWasSet) {
  const InstanceId waits = add(150);
  const InstanceId ended = add(150);
  end(ended);
  const InstanceId shorter = add(90);
  const uint64_t before = kept(shorter);
  run();
  EXPECT_GT(kept(waits), 300U) << "there is no limit";
  limit(R"({"records": 100})");
  run();
  EXPECT_THAT(kept(waits), AllOf(Ge(100U), Le(101U)));
  EXPECT_THAT(kept(ended), AllOf(Ge(100U), Le(101U)));
  EXPECT_EQ(kept(shorter), before) << "it has less than twice as many records";
  expect_fits();
  uint64_t records = 0;
  for (const InstanceId& id : {waits, ended, shorter}) records += kept(id);
  EXPECT_LE(rows_of(Table::kHistory), records) << "the purges have erased the other rows";
  EXPECT_EQ(run(), 1);
  expect_fits();
}

TEST_F(HistorySweepTest, UsesTheLimitsOfTheWorkflow) {
  const InstanceId limited = add(150);
  set_settings(Json::parse(R"({"retention": {
      "history": {"records": 1000}, "workflows": {"rounds": {"history": {"records": 100}}}}})"));
  run();
  EXPECT_THAT(kept(limited), AllOf(Ge(100U), Le(101U)));
  set_settings(Json::parse(R"({"retention": {
      "history": {"records": 100}, "workflows": {"rounds": {"history": {}}}}})"));
  const InstanceId whole = add(150);
  run();
  EXPECT_GT(kept(whole), 300U);
  set_settings(Json::parse(R"({"retention": {
      "history": {"records": 100}, "workflows": {"rounds": {"history": {"records": 110}}}}})"));
  run();
  EXPECT_THAT(kept(whole), AllOf(Ge(110U), Le(111U))) << "a change for one workflow is a change";
  expect_fits();
}

TEST_F(HistorySweepTest, TrimsWithinTheRowOfABusyBatch) {
  const InstanceId waits = add(1, 300);
  const InstanceId ended = add(1, 300);
  end(ended);
  limit(R"({"records": 100})");
  run();
  EXPECT_EQ(kept(waits), 100U);
  EXPECT_EQ(kept(ended), 100U);
  expect_fits();
  const InstanceId later = add(1, 300);
  EXPECT_EQ(kept(later), 600U) << "a write trims whole rows only";
  run();
  EXPECT_EQ(kept(later), 100U);
  expect_fits();
}

TEST_F(HistorySweepTest, LooksAtAllInstancesOnceAndThenAtThoseThatAWriteLeft) {
  limit(R"({"records": 100})");
  run();
  const InstanceId forgotten = add(1, 300);
  EXPECT_TRUE(instances.take_long_histories(ns));
  const InstanceId noted = add(1, 300);
  run();
  EXPECT_EQ(kept(forgotten), 600U);
  EXPECT_EQ(kept(noted), 100U);
  limit(R"({"records": 200})");
  run();
  EXPECT_EQ(kept(forgotten), 200U) << "after a change of the limits it looks at all";
  const InstanceId other = add(1, 300);
  EXPECT_TRUE(instances.take_long_histories(ns));
  sweep.clear();
  run();
  EXPECT_EQ(kept(other), 200U);
  expect_fits();
}

TEST_F(HistorySweepTest, TakesSmallSteps) {
  for (int i = 0; i < 20; ++i) add(1, 300);
  limit(R"({"records": 100})");
  PurgeBudget budget{.looked_at = 5};
  at = {};
  EXPECT_FALSE(sweep.go_on(ns, at, budget).value());
  commit_all();
  std::vector<uint64_t> counts;
  for (const Instance& head : stored_live()) counts.push_back(kept(head.id));
  EXPECT_THAT(counts, testing::Contains(100U));
  EXPECT_THAT(counts, testing::Contains(Ge(600U)));
  expect_fits();
}

TEST_F(HistorySweepTest, LeavesAnInstanceOfTheBatchToItsWrite) {
  const InstanceId id = add(150);
  limit(R"({"records": 100})");
  wake(id, 1);
  at = {};
  EXPECT_TRUE(step());
  EXPECT_TRUE(batch.trimmed_rows.empty());
  commit_all();
  EXPECT_THAT(kept(id), AllOf(Ge(100U), Le(101U)));
  expect_fits();
}

TEST_F(HistorySweepTest, WaitsWhileTooManyPurgesRun) {
  const InstanceId id = add(150);
  limit(R"({"records": 100})");
  for (uint64_t i = 0; i < Purges::kMost; ++i) purges.begin_history(ns, 1'000'000 + i);
  at = {};
  EXPECT_FALSE(step());
  EXPECT_GT(kept(id), 300U);
}

TEST_F(HistorySweepTest, BeginsAgainAfterALostBatch) {
  const InstanceId id = add(150);
  limit(R"({"records": 100})");
  at = {};
  EXPECT_TRUE(step());
  batch.trimmed_rows.clear();
  batch.index.clear();
  sweep.clear();
  lose_batch();
  EXPECT_GT(kept(id), 300U);
  run();
  EXPECT_THAT(kept(id), AllOf(Ge(100U), Le(101U)));
  expect_fits();
}

TEST_F(HistorySweepTest, LeavesADamagedHistoryAsItIs) {
  const InstanceId damaged = add(150);
  const uint64_t newest = read_head_anywhere(*tx, ns, damaged).value()->last_history;
  const InstanceId whole = add(150);
  tx->put(Table::kHistory, rows::key_of(newest - 20), "rubbish");
  commit();
  limit(R"({"records": 100})");
  run();
  EXPECT_GT(kept(damaged), 300U);
  EXPECT_THAT(kept(whole), AllOf(Ge(100U), Le(101U)));
  EXPECT_EQ(damages.count(), 1U);
}

}  // namespace
}  // namespace millrace
