// Errands: what instances want of each other is done once, in this batch or in a later one.
#include "orchestrator/batch/errands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/batch/draft_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kParent = R"(
id: parent
functions:
- {id: call, type: subflow, workflow: child}
states:
- {id: a, type: action, action: {function: call}}
)";
constexpr const char* kChild = "id: child\nstates:\n- {id: a, type: noop}\n";
constexpr const char* kWaitingChild =
    "id: child\nstates:\n- {id: a, type: consumeEvent, event: {type: go}}\n";

class ErrandsTest : public DraftTest {
 protected:
  Status try_run(size_t most = 100) {
    errands.begin_batch(most);
    TRY(errands.run(now));
    return errands.write();
  }
  void run(size_t most = 100) {
    const Status done = try_run(most);
    ASSERT_TRUE(done) << done.error().message;
    commit_draft();
  }
  Errands errands{draft, instances};
};

TEST_F(ErrandsTest, StartAChildAndTellItsCallerHowItEnded) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  EXPECT_FALSE(draft.errands.empty());
  run();
  EXPECT_TRUE(draft.errands.empty());
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(2));
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(ErrandsTest, ThatABatchHasNoRoomForAreLeftToTheNextOnes) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  EXPECT_EQ(rows_of(Table::kInbox), 1U);
  EXPECT_EQ(status_of(parent), "waiting");
  run(1);
  EXPECT_EQ(rows_of(Table::kInbox), 1U) << "the child has ended, and its caller is to be told";
  run(1);
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(ErrandsTest, ThatAreStoredAreFoundByTheNextProcess) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  lose_draft();
  ASSERT_TRUE(errands.load());
  EXPECT_FALSE(draft.errands.empty());
  EXPECT_TRUE(recent.wants(space, "go")) << "the child that is to start misses nothing";
  run();
  EXPECT_EQ(stored_living().size(), 2U);
  EXPECT_EQ(status_of(parent), "waiting");
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(ErrandsTest, ToStartWhatIsNotThereFailTheCall) {
  const InstanceId parent = start(define(kParent));
  run();
  EXPECT_EQ(status_of(parent), "failed");
  EXPECT_EQ(read_instance(*tx, space, parent).value()->error->code, "direktiv.subflow.notExist");
}

TEST_F(ErrandsTest, ForACallerThatIsGoneAreNotRun) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  Touched* const touched = *instances.touch(now, space, parent);
  ASSERT_NE(touched, nullptr);
  ASSERT_TRUE(*instances.step(now, *touched, Cancel{.error = {"stop", ""}}));
  run();
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  EXPECT_EQ(status_of(parent), "cancelled");
  EXPECT_THAT(stored_living(), IsEmpty());
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(ErrandsTest, OfACancelledCallerCancelItsChild) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run();
  EXPECT_THAT(stored_living(), SizeIs(2));
  Touched* const touched = *instances.touch(now, space, parent);
  ASSERT_TRUE(*instances.step(now, *touched, Cancel{.error = {"stop", ""}}));
  run();
  EXPECT_THAT(stored_living(), IsEmpty());
  EXPECT_EQ(outcome.counts.ended[static_cast<size_t>(InstanceStatus::kCancelled)], 2U);
}

TEST_F(ErrandsTest, DoNotCancelAChildForWhoseResultItsCallerWaits) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run();
  InstanceId child;
  for (const Instance& head : stored_living()) {
    if (head.id != parent) child = head.id;
  }
  draft.errands.push_back({CancelChild{.space = space, .child = child}});
  run();
  EXPECT_EQ(status_of(child), "waiting");
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(ErrandsTest, AreRunOnceThoughReadsFailBefore) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  const auto before = rows();
  const auto work_off = [&]() -> Status {
    TRY(try_run());
    return try_commit_draft();
  };
  const uint64_t failed = fail_each_read(work_off, [&] {
    lose_draft();
    EXPECT_EQ(rows(), before);
    ASSERT_TRUE(errands.load());
  });
  EXPECT_GE(failed, 2U);
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(ErrandsTest, AreLoadedWholeOnceAllReadsSucceed) {
  define(kChild);
  start(define(kParent));
  run(0);
  EXPECT_GE(fail_each_read([&] { return errands.load(); }, [&] { load_caches(); }), 1U);
  EXPECT_THAT(draft.errands, SizeIs(1));
}

}  // namespace
}  // namespace millrace
