// FanOuts: an event with more targets than one batch may wake reaches each of them once.
#include "orchestrator/batch/fan_outs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/event_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FanOutsTest : public BatchPartTest {
 protected:
  /// Starts instances that wait for `go`, and the fan-out of a `go` event to them.
  void begin(size_t targets) {
    const WorkflowEntry& entry = define(kWaits);
    for (size_t i = 0; i < targets; ++i) start(entry);
    commit_batch();
    const Event go{.id = "1", .source = "/s", .type = "go"};
    kept_events.keep(*tx, ns, go, fingerprint({"1"}), {1, 1});
    const Status fanned =
        fan_outs.begin(waiting.match(std::string(kDefaultNamespace), Attributes(go)).instances);
    ASSERT_TRUE(fanned) << fanned.error().message;
    commit_batch();
  }
  Status try_go_on(size_t most) {
    fan_outs.begin_batch(most);
    while (fan_outs.may_go_on({ns})) TRY(fan_outs.go_on(now, {ns}));
    kept_events.trim(*tx);
    return try_commit_batch();
  }
  void go_on(size_t most) {
    const Status done = try_go_on(most);
    ASSERT_TRUE(done) << done.error().message;
  }
  FanOuts fan_outs{batch, instances};
};

TEST_F(FanOutsTest, ReachAtMostTheGivenNumberOfTargetsInABatch) {
  begin(5);
  EXPECT_EQ(fan_outs.left(), 5U);
  EXPECT_THAT(stored_live(), SizeIs(5)) << "the first batch wakes no instance";
  go_on(2);
  EXPECT_EQ(fan_outs.left(), 3U);
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
  go_on(3);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U) << "the event is no longer kept";
  go_on(1);
  EXPECT_EQ(outcome.counts.instances_woken, 0U);
}

TEST_F(FanOutsTest, KeepLaterEventsThatTargetsMayNeedUntilAllTargetsAreReached) {
  begin(2);
  EXPECT_TRUE(kept_events.wants(ns, "go"));
  EXPECT_FALSE(kept_events.wants(ns, "another")) << "no target may come to wait for it";
  go_on(2);
  EXPECT_FALSE(kept_events.wants(ns, "go"));
}

TEST_F(FanOutsTest, SkipTargetsThatHaveEnded) {
  begin(3);
  LoadedInstance* const loaded = *instances.load(now, ns, numbered_id(2));
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(*instances.step(now, *loaded, Cancel{.error = {"stop", ""}}));
  go_on(10);
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
  EXPECT_TRUE(fan_outs.empty());
}

TEST_F(FanOutsTest, ContinueInTheNextProcess) {
  begin(4);
  go_on(1);
  lose_batch();
  ASSERT_TRUE(fan_outs.load());
  EXPECT_EQ(fan_outs.left(), 3U);
  go_on(10);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_THAT(stored_live(), IsEmpty());
}

TEST_F(FanOutsTest, ReachEachTargetOnceDespiteFailedReads) {
  begin(3);
  const auto before = rows();
  const uint64_t failed = fail_each_read([&] { return try_go_on(10); },
                                         [&] {
                                           lose_batch();
                                           EXPECT_EQ(rows(), before);
                                           ASSERT_TRUE(fan_outs.load());
                                           EXPECT_EQ(fan_outs.left(), 3U);
                                         });
  EXPECT_GE(failed, 3U);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_EQ(outcome.counts.instances_woken, 3U);
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(FanOutsTest, LoadCompletelyDespiteFailedReads) {
  begin(3);
  EXPECT_GE(fail_each_read([&] { return fan_outs.load(); }, [&] { load_caches(); }), 2U);
  EXPECT_EQ(fan_outs.left(), 3U);
}

TEST_F(FanOutsTest, AreDroppedIfTheirKeptEventIsMissing) {
  write_fan_out(*tx, 77);
  commit();
  ASSERT_TRUE(fan_outs.load());
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(FanOutsTest, NameATargetOnceHoweverManyEventsItHasToGet) {
  const WorkflowEntry& entry =
      define("id: again\nstates: [{id: a, type: consumeEvent, event: {type: go}, transition: a}]");
  for (int i = 0; i < 4; ++i) start(entry);
  commit_batch();
  const auto fan_out = [&](uint64_t number) {
    const Event go{.id = std::to_string(number), .source = "/s", .type = "go"};
    kept_events.keep(*tx, ns, go, fingerprint({go.id}), {1, number});
    ASSERT_TRUE(
        fan_outs.begin(waiting.match(std::string(kDefaultNamespace), Attributes(go)).instances));
    commit_batch();
  };
  fan_out(1);
  fan_out(2);
  EXPECT_EQ(fan_outs.left(), 4U);
  go_on(2);
  EXPECT_EQ(outcome.counts.instances_woken, 4U) << "two instances by two events";
  EXPECT_EQ(fan_outs.left(), 2U);
  fan_out(3);
  EXPECT_EQ(fan_outs.left(), 4U);
  lose_batch();
  ASSERT_TRUE(fan_outs.load());
  EXPECT_EQ(fan_outs.left(), 4U);
  size_t woken = 0;
  for (int i = 0; i < 10 && !fan_outs.empty(); ++i) {
    go_on(2);
    woken += outcome.counts.instances_woken;
  }
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_EQ(woken, 8U) << "two instances by three events, and two by one event";
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
  EXPECT_EQ(rows_of(Table::kKeptEvents), 0U);
}

TEST_F(FanOutsTest, HaveALaneForEachNamespace) {
  begin(4);
  const NamespaceNumber shop = create_namespace("shop");
  const Event go{.id = "2", .source = "/s", .type = "go"};
  kept_events.keep(*tx, shop, go, fingerprint({"2"}), {1, 2});
  std::vector<InstanceTarget> targets;  // these instances have ended
  for (uint8_t i = 0; i < 4; ++i) {
    targets.push_back({.ns = shop, .instance = numbered_id(static_cast<uint8_t>(100 + i))});
  }
  ASSERT_TRUE(fan_outs.begin(targets));
  EXPECT_TRUE(kept_events.wants(shop, "another")) << "the revision of the targets is not known";
  commit_batch();
  EXPECT_THAT(fan_outs.lanes(), testing::ElementsAre(WorkLane{ns}, WorkLane{shop}));
  fan_outs.begin_batch(5);
  ASSERT_TRUE(fan_outs.go_on(now, {shop}));
  EXPECT_EQ(fan_outs.left(), 4U);
  EXPECT_FALSE(fan_outs.may_go_on({shop}));
  EXPECT_TRUE(fan_outs.may_go_on({ns}));
  ASSERT_TRUE(fan_outs.go_on(now, {ns}));
  EXPECT_EQ(fan_outs.left(), 3U);
  EXPECT_FALSE(fan_outs.may_go_on({ns})) << "the batch has reached five targets";
  EXPECT_THAT(fan_outs.lanes(), testing::ElementsAre(WorkLane{ns}));
  go_on(10);
  EXPECT_TRUE(fan_outs.empty());
}

}  // namespace
}  // namespace millrace
