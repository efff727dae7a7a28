// InstanceMessages: each message of one instance to another is processed once, in the current batch
// or in a later batch.
#include "orchestrator/batch/instance_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/batch/batch_part_fixture.h"

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

/// The first of its two subflows that succeeds counts.
constexpr const char* kRace = R"(
id: race
functions:
- {id: call-a, type: subflow, workflow: child-a}
- {id: call-b, type: subflow, workflow: child-b}
states:
- {id: both, type: parallel, mode: or, actions: [{function: call-a}, {function: call-b}]}
)";
constexpr const char* kChildA =
    "id: child-a\nstates:\n- {id: a, type: noop, transform: 'jq({who: \"a\"})'}\n";
constexpr const char* kChildB =
    "id: child-b\nstates:\n- {id: b, type: noop, transform: 'jq({who: \"b\"})'}\n";
constexpr const char* kWaitingChildB =
    "id: child-b\nstates:\n- {id: b, type: consumeEvent, event: {type: go}}\n";

class InstanceMessagesTest : public BatchPartTest {
 protected:
  Status try_run(size_t most = 100) {
    messages.begin_batch(most);
    TRY(messages.run(now));
    for (const WorkLane& lane : messages.lanes()) {
      while (messages.may_go_on(lane)) TRY(messages.go_on(now, lane));
    }
    return messages.write();
  }
  void run(size_t most = 100) {
    const Status done = try_run(most);
    ASSERT_TRUE(done) << done.error().message;
    commit_batch();
  }
  InstanceMessages messages{batch, instances};
};

TEST_F(InstanceMessagesTest, StartAChildAndReturnItsResultToItsCaller) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  EXPECT_FALSE(batch.messages.empty());
  run();
  EXPECT_TRUE(batch.messages.empty());
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(2));
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, AreProcessedInALaterBatchIfTheyExceedTheLimitOfABatch) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  EXPECT_EQ(rows_of(Table::kInbox), 1U);
  EXPECT_EQ(status_of(parent), "waiting");
  run(1);
  EXPECT_EQ(rows_of(Table::kInbox), 1U)
      << "the child has ended; its result is queued for the caller";
  run(1);
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, SurviveARestartOfTheProcess) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  lose_batch();
  ASSERT_TRUE(messages.load());
  EXPECT_FALSE(messages.empty());
  EXPECT_TRUE(kept_events.wants(ns, "go")) << "events are kept for the child that is to start";
  run();
  EXPECT_EQ(stored_live().size(), 2U);
  EXPECT_EQ(status_of(parent), "waiting");
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, FailTheCallIfTheWorkflowOfTheSubflowDoesNotExist) {
  const InstanceId parent = start(define(kParent));
  run();
  EXPECT_EQ(status_of(parent), "failed");
  EXPECT_EQ(read_instance(*tx, ns, parent).value()->error->code, "direktiv.subflow.notExist");
}

TEST_F(InstanceMessagesTest, StartNoChildIfTheCallerHasEnded) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  LoadedInstance* const loaded = *instances.load(now, ns, parent);
  ASSERT_NE(loaded, nullptr);
  ASSERT_TRUE(*instances.step(now, *loaded, Cancel{.error = {"stop", ""}}));
  run();
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  EXPECT_EQ(status_of(parent), "cancelled");
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, CancelTheChildOfACancelledCaller) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run();
  EXPECT_THAT(stored_live(), SizeIs(2));
  LoadedInstance* const loaded = *instances.load(now, ns, parent);
  ASSERT_TRUE(*instances.step(now, *loaded, Cancel{.error = {"stop", ""}}));
  run();
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_EQ(outcome.counts.ended[static_cast<size_t>(InstanceStatus::kCancelled)], 2U);
}

TEST_F(InstanceMessagesTest, DoNotCancelAChildWhoseCallerWaitsForItsResult) {
  define(kWaitingChild);
  const InstanceId parent = start(define(kParent));
  run();
  InstanceId child;
  for (const Instance& head : stored_live()) {
    if (head.id != parent) child = head.id;
  }
  batch.messages.push_back({CancelChild{.ns = ns, .child = child}});
  run();
  EXPECT_EQ(status_of(child), "waiting");
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(InstanceMessagesTest, ReachOneReceiverInTheirOrderWhateverTheirSendersAre) {
  define(kChildB);  // so that the lane of its messages comes first
  define(kChildA);
  const InstanceId race = start(define(kRace));
  run(2);
  EXPECT_EQ(rows_of(Table::kInbox), 2U) << "both subflows have ended";
  EXPECT_THAT(messages.lanes(), SizeIs(1));
  run(1);
  EXPECT_EQ(status_of(race), "complete");
  EXPECT_EQ(read_instance(*tx, ns, race).value()->data.value()["return"],
            (Json{{{"who", "a"}}, nullptr}));
}

TEST_F(InstanceMessagesTest, ComeAfterThoseThatTheProcessBeforeLeftForTheirReceiver) {
  define(kWaitingChildB);
  define(kChildA);
  const InstanceId race = start(define(kRace));
  run(2);
  ASSERT_EQ(rows_of(Table::kInbox), 1U) << "one subflow has ended";
  lose_batch();
  ASSERT_TRUE(messages.load());
  for (const Instance& head : stored_live()) {
    if (head.id == race) continue;
    const Event go{.id = "1", .source = "/s", .type = "go"};
    LoadedInstance* const waits = *instances.load(now, ns, head.id);
    ASSERT_NE(waits, nullptr);
    ASSERT_TRUE(*instances.step(
        now, *waits, Matched{.event = &go, .entries = {0}, .position = batch.listen_from_now()}));
  }
  ASSERT_THAT(batch.messages, SizeIs(1));
  run();
  EXPECT_EQ(status_of(race), "complete");
  EXPECT_EQ(read_instance(*tx, ns, race).value()->data.value()["return"],
            (Json{{{"who", "a"}}, nullptr}));
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, AreProcessedOnceDespiteFailedReads) {
  define(kChild);
  const InstanceId parent = start(define(kParent));
  run(0);
  const auto before = rows();
  const auto run_and_commit = [&]() -> Status {
    TRY(try_run());
    return try_commit_batch();
  };
  const uint64_t failed = fail_each_read(run_and_commit, [&] {
    lose_batch();
    EXPECT_EQ(rows(), before);
    ASSERT_TRUE(messages.load());
  });
  EXPECT_GE(failed, 2U);
  EXPECT_EQ(status_of(parent), "complete");
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_EQ(rows_of(Table::kInbox), 0U);
}

TEST_F(InstanceMessagesTest, LoadCompletelyDespiteFailedReads) {
  define(kChild);
  start(define(kParent));
  run(0);
  EXPECT_GE(fail_each_read([&] { return messages.load(); }, [&] { load_caches(); }), 1U);
  EXPECT_THAT(messages.lanes(), SizeIs(1));
}

}  // namespace
}  // namespace millrace
