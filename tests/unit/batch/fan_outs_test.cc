// FanOuts: an event with more targets than one batch wakes reaches each of them once.
#include "orchestrator/batch/fan_outs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/event_rows.h"
#include "tests/unit/batch/draft_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FanOutsTest : public DraftTest {
 protected:
  /// So many instances wait for an event, which has come and is on its way to them.
  void begin(size_t targets) {
    const WorkflowEntry& entry = define(kWaits);
    for (size_t i = 0; i < targets; ++i) start(entry);
    commit_draft();
    const Event go{.id = "1", .source = "/s", .type = "go"};
    recent.keep(*tx, space, go, fingerprint({"1"}));
    const Status fanned =
        fan_outs.begin(waiting.match(std::string(kDefaultNamespace), Attributes(go)).instances);
    ASSERT_TRUE(fanned) << fanned.error().message;
    commit_draft();
  }
  Status try_go_on(size_t most) {
    TRY(fan_outs.go_on(now, most));
    recent.trim(*tx);
    return try_commit_draft();
  }
  void go_on(size_t most) {
    const Status done = try_go_on(most);
    ASSERT_TRUE(done) << done.error().message;
  }
  FanOuts fan_outs{draft, instances};
};

TEST_F(FanOutsTest, ReachSoManyOfTheirTargetsInEachBatch) {
  begin(5);
  EXPECT_EQ(fan_outs.left(), 5U);
  EXPECT_THAT(stored_living(), SizeIs(5)) << "none is woken when it begins";
  go_on(2);
  EXPECT_EQ(fan_outs.left(), 3U);
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
  go_on(3);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_THAT(stored_living(), IsEmpty());
  EXPECT_EQ(rows_of(Table::kFanout), 0U);
  EXPECT_EQ(rows_of(Table::kRecent), 0U) << "the event is not kept any longer";
  go_on(1);
  EXPECT_EQ(outcome.counts.instances_woken, 0U);
}

TEST_F(FanOutsTest, KeepWhatComesBehindThem) {
  begin(2);
  EXPECT_TRUE(recent.wants(space, "another"));
  go_on(2);
  EXPECT_FALSE(recent.wants(space, "another"));
}

TEST_F(FanOutsTest, PassOverTargetsThatHaveEndedMeanwhile) {
  begin(3);
  Touched* const touched = *instances.touch(now, space, numbered_id(2));
  ASSERT_NE(touched, nullptr);
  ASSERT_TRUE(*instances.step(now, *touched, Cancel{.error = {"stop", ""}}));
  go_on(10);
  EXPECT_EQ(outcome.counts.instances_woken, 2U);
  EXPECT_TRUE(fan_outs.empty());
}

TEST_F(FanOutsTest, GoOnInTheNextProcessWithThoseThatWait) {
  begin(4);
  go_on(1);
  lose_draft();
  ASSERT_TRUE(fan_outs.load());
  EXPECT_EQ(fan_outs.left(), 3U);
  go_on(10);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_THAT(stored_living(), IsEmpty());
}

TEST_F(FanOutsTest, ReachEachTargetOnceThoughReadsFailBefore) {
  begin(3);
  const auto before = rows();
  const uint64_t failed = fail_each_read([&] { return try_go_on(10); },
                                         [&] {
                                           lose_draft();
                                           EXPECT_EQ(rows(), before);
                                           ASSERT_TRUE(fan_outs.load());
                                           EXPECT_EQ(fan_outs.left(), 3U);
                                         });
  EXPECT_GE(failed, 3U);
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_EQ(outcome.counts.instances_woken, 3U);
  EXPECT_EQ(rows_of(Table::kRecent), 0U);
}

TEST_F(FanOutsTest, AreLoadedWholeOnceAllReadsSucceed) {
  begin(3);
  EXPECT_GE(fail_each_read([&] { return fan_outs.load(); }, [&] { load_caches(); }), 2U);
  EXPECT_EQ(fan_outs.left(), 3U);
}

TEST_F(FanOutsTest, OfAnEventThatIsNotKeptAreSetAside) {
  write_fan_out(*tx, 77);
  commit();
  ASSERT_TRUE(fan_outs.load());
  EXPECT_TRUE(fan_outs.empty());
  EXPECT_EQ(damages.count(), 1U);
}

}  // namespace
}  // namespace millrace
