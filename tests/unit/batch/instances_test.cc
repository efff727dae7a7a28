// Instances: each is read once, stepped and written once, and what cannot be read is none of them.
#include "orchestrator/batch/instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/batch/draft_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSingle = R"(
id: single
singular: true
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

class InstancesTest : public DraftTest {
 protected:
  Touched* touch(const InstanceId& id) {
    const auto touched = instances.touch(now, space, id);
    EXPECT_TRUE(touched) << touched.error().message;
    return touched.value_or(nullptr);
  }
  static Matched matched(const Event& event) { return {.event = &event, .entries = {0}}; }
  Event go{.id = "1", .source = "/s", .type = "go"};
};

TEST_F(InstancesTest, RunAsFarAsTheyGoWhenTheyStart) {
  const InstanceId id = start(define(kWaits));
  EXPECT_EQ(draft.outcome.counts.instances_started, 1U);
  EXPECT_TRUE(waiting.listens(id));
  EXPECT_EQ(status_of(id), "none") << "nothing is written before the batch ends";
  commit_draft();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_TRUE(living.any(catalog.find_workflow(space, "waits")->number));
}

TEST_F(InstancesTest, TakeTheirFirstStepInAnotherBatchWhereThatIsAsked) {
  const WorkflowEntry& entry = define(kWaits);
  const auto id = instances.start_later(now, entry, *definition(entry), {.data = Json::object()});
  ASSERT_TRUE(id);
  EXPECT_THAT(actions_of<ContinueInput>(draft.outcome), SizeIs(1));
  commit_draft();
  EXPECT_EQ(status_of(*id), "pending");
  EXPECT_FALSE(waiting.listens(*id));
  EXPECT_TRUE(recent.wants(space, "go")) << "it misses nothing that comes until then";
}

TEST_F(InstancesTest, OfAPausedWorkflowBeginPaused) {
  const WorkflowEntry& entry = define(kWaits);
  catalog.pause_workflow(*tx, entry.number, true);
  const InstanceId id = start(entry);
  commit_draft();
  EXPECT_EQ(status_of(id), "paused");
}

TEST_F(InstancesTest, AreReadOnceInABatch) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  Touched* const first = touch(id);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(first->is_new);
  fail_reads_of(Table::kLive);
  EXPECT_EQ(touch(id), first);
}

TEST_F(InstancesTest, ThatAreNotThereAreNone) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  EXPECT_EQ(touch(numbered_id(99)), nullptr);
  const auto elsewhere = instances.touch(now, NamespaceNumber(99), id);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(*elsewhere, nullptr);
  EXPECT_EQ(draft.outcome.counts.instances_damaged, 0U);
}

TEST_F(InstancesTest, WhoseRowsAreDamagedArePassedOver) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  damage(Table::kLive);
  EXPECT_EQ(touch(id), nullptr);
  EXPECT_EQ(draft.outcome.counts.instances_damaged, 1U);
  EXPECT_EQ(damages.count(), 1U);
  const auto sound = instances.touch_sound(now, space, id);
  ASSERT_FALSE(sound);
  EXPECT_EQ(sound.error().code, kDamagedRow);
}

TEST_F(InstancesTest, AreRemovedWhateverTheirRowsHold) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  damage(Table::kLive);
  const auto removed = instances.remove_damaged(space, id);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_GT(removed->rows, 0U);
  EXPECT_EQ(removed->last_history, 0U) << "its head does not decode";
  EXPECT_FALSE(waiting.listens(id));
  commit_draft();
  EXPECT_EQ(rows_of(Table::kLive), 0U);
  EXPECT_THAT(actions_of<InstanceEnd>(outcome),
              ElementsAre(testing::Field(&InstanceEnd::instance, id)));
}

TEST_F(InstancesTest, OfASingularWorkflowStartOneAtATime) {
  const WorkflowEntry& entry = define(kSingle);
  const auto workflow = definition(entry);
  EXPECT_TRUE(instances.refuse_singular(entry, *workflow));
  EXPECT_FALSE(instances.skips(entry, *workflow));
  const InstanceId id = start(entry);
  const Status refused = instances.refuse_singular(entry, *workflow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "direktiv.mutex");
  EXPECT_TRUE(instances.skips(entry, *workflow));
  EXPECT_EQ(draft.outcome.counts.starts_skipped, 1U);
  commit_draft();
  ASSERT_NE(touch(id), nullptr);
  ASSERT_TRUE(instances.step(now, *touch(id), matched(go)));
  EXPECT_TRUE(instances.refuse_singular(entry, *workflow)) << "it has ended";
}

TEST_F(InstancesTest, ThatAStimulusDoesNotChangeAreNotWritten) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  const auto before = rows();
  const auto stepped =
      instances.step(now, *touch(id), Fired{.kind = TimerKind::kDelay, .deadline = now});
  ASSERT_TRUE(stepped);
  EXPECT_FALSE(*stepped);
  commit_draft();
  EXPECT_EQ(rows(), before);
}

TEST_F(InstancesTest, AreWrittenWithTheirHistoryWhenTheyEnd) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  ASSERT_TRUE(*instances.step(now, *touch(id), matched(go)));
  commit_draft();
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome),
              ElementsAre(testing::Field(&InstanceEnd::instance, id)));
  EXPECT_EQ(rows_of(Table::kLive), 0U);
  const auto instance = read_instance(*tx, space, id).value();
  const auto history = read_history(*tx, *instance);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->size(), instance->history_count);
  EXPECT_EQ(history->front().kind, HistoryKind::kStarted);
  EXPECT_EQ(history->back().kind, HistoryKind::kEnded);
  EXPECT_EQ(touch(id), nullptr) << "it does not live any more";
}

TEST_F(InstancesTest, ThatListenGetWhatWasKeptForThem) {
  const WorkflowEntry& entry = define(kWaits);
  const auto id = instances.start_later(now, entry, *definition(entry), {.data = Json::object()});
  ASSERT_TRUE(id);
  commit_draft();
  recent.keep(*tx, space, go, fingerprint({"1"}));
  ASSERT_TRUE(*instances.step(now, *touch(*id), Proceed{}));
  EXPECT_EQ(draft.outcome.counts.instances_woken, 1U);
  commit_draft();
  EXPECT_EQ(status_of(*id), "complete");
}

TEST_F(InstancesTest, ThatHaveEndedLiveAgainWhenTheyAreRevived) {
  const WorkflowEntry& entry = define(kWaits);
  const InstanceId id = start(entry);
  ASSERT_TRUE(*instances.step(now, *touch(id), Cancel{.error = {"stop", ""}}));
  commit_draft();
  EXPECT_EQ(status_of(id), "cancelled");
  auto ended = read_instance(*tx, space, id).value();
  const auto revived = instances.revive(entry, *definition(entry), std::move(*ended));
  ASSERT_TRUE(revived);
  ASSERT_TRUE(*instances.step(now, **revived, Restart{}));
  commit_draft();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(living.count(entry.number), 1U);
}

TEST_F(InstancesTest, AreListedAsTheBatchLeavesThem) {
  const WorkflowEntry& entry = define(kWaits);
  const InstanceId first = start(entry);
  const InstanceId second = start(entry);
  commit_draft();
  const InstanceId third = start(entry);
  ASSERT_TRUE(*instances.step(now, *touch(first), matched(go)));
  const auto any = [](const Instance&) { return true; };
  const auto all = instances.living(space, std::nullopt, 10, any);
  ASSERT_TRUE(all);
  EXPECT_THAT(all->ids, testing::UnorderedElementsAre(second, third));
  EXPECT_EQ(all->last, std::nullopt);
  EXPECT_THAT(instances.living(space, second, 10, any)->ids, ElementsAre(third));
  EXPECT_THAT(instances.living(space, std::nullopt, 10, [](const Instance&) { return false; })->ids,
              IsEmpty());
  const auto some = instances.living(space, std::nullopt, 1, any);
  ASSERT_TRUE(some);
  EXPECT_THAT(some->ids, SizeIs(1));
  ASSERT_TRUE(some->last);
  EXPECT_THAT(instances.living(space, some->last, 10, any)->ids, ElementsAre(third));
}

TEST_F(InstancesTest, AreAsBeforeWhereAReadFails) {
  const InstanceId id = start(define(kWaits));
  commit_draft();
  const auto before = rows();
  const auto wake = [&]() -> Status {
    Touched* const touched = TRY(instances.touch(now, space, id));
    EXPECT_NE(touched, nullptr);
    if (touched != nullptr) TRY(instances.step(now, *touched, matched(go)));
    return try_commit_draft();
  };
  const uint64_t failed = fail_each_read(wake, [&] {
    lose_draft();
    EXPECT_EQ(rows(), before);
    EXPECT_TRUE(waiting.listens(id));
  });
  EXPECT_GE(failed, 2U);
  EXPECT_EQ(status_of(id), "complete");
}

}  // namespace
}  // namespace millrace
