// Instances: a batch reads each instance once, steps it, and writes it once. Damaged instances are
// skipped.
#include "orchestrator/batch/instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

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

class InstancesTest : public BatchPartTest {
 protected:
  LoadedInstance* load(const InstanceId& id) {
    const auto loaded = instances.load(now, ns, id);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded.value_or(nullptr);
  }
  static Matched matched(const Event& event) { return {.event = &event, .entries = {0}}; }
  Event go{.id = "1", .source = "/s", .type = "go"};
};

TEST_F(InstancesTest, RunToTheirFirstWaitWhenTheyStart) {
  const InstanceId id = start(define(kWaits));
  EXPECT_EQ(batch.outcome.counts.instances_started, 1U);
  EXPECT_TRUE(waiting.listens(id));
  EXPECT_EQ(status_of(id), "none") << "nothing is written before the batch ends";
  commit_batch();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_TRUE(live.any(catalog.find_workflow(ns, "waits")->number));
}

TEST_F(InstancesTest, TakeTheirFirstStepInALaterBatchOnRequest) {
  const WorkflowEntry& entry = define(kWaits);
  const auto id = instances.start_later(now, entry, *definition(entry), {.data = Json::object()});
  ASSERT_TRUE(id);
  EXPECT_THAT(actions_of<ContinueInput>(batch.outcome), SizeIs(1));
  commit_batch();
  EXPECT_EQ(status_of(*id), "pending");
  EXPECT_FALSE(waiting.listens(*id));
  EXPECT_TRUE(kept_events.wants(ns, "go")) << "events are kept for the instance";
}

TEST_F(InstancesTest, StartPausedInAPausedWorkflow) {
  const WorkflowEntry& entry = define(kWaits);
  catalog.pause_workflow(*tx, entry.number, true);
  const InstanceId id = start(entry);
  commit_batch();
  EXPECT_EQ(status_of(id), "paused");
}

TEST_F(InstancesTest, AreShownOnlyWhileTheyAreWatched) {
  WatchRing ring;
  batch.watch = &ring;
  const WorkflowEntry& entry = define(kWaits);
  start(entry);
  commit_batch();
  EXPECT_THAT(actions_of<ShowChange>(outcome), IsEmpty());
  ring.watch(true);
  const InstanceId id = start(entry);
  commit_batch();
  const std::vector<ShowChange> shown = actions_of<ShowChange>(outcome);
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].ring, &ring);
  EXPECT_EQ(shown[0].change, (WatchedChange{.instance = id,
                                            .ns = ns,
                                            .workflow = entry.number,
                                            .state = 0,
                                            .status = InstanceStatus::kWaiting}));
}

TEST_F(InstancesTest, AreReadOnceInABatch) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  LoadedInstance* const first = load(id);
  ASSERT_NE(first, nullptr);
  EXPECT_FALSE(first->is_new);
  fail_reads_of(Table::kLive);
  EXPECT_EQ(load(id), first);
}

TEST_F(InstancesTest, AreNotFoundByAnUnknownIdOrInAnotherNamespace) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  EXPECT_EQ(load(numbered_id(99)), nullptr);
  const auto elsewhere = instances.load(now, NamespaceNumber(99), id);
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(*elsewhere, nullptr);
  EXPECT_EQ(batch.outcome.counts.instances_damaged, 0U);
}

TEST_F(InstancesTest, AreSkippedIfTheirRowsAreDamaged) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  damage(Table::kLive);
  EXPECT_EQ(load(id), nullptr);
  EXPECT_EQ(batch.outcome.counts.instances_damaged, 1U);
  EXPECT_EQ(damages.count(), 1U);
  const auto undamaged = instances.load_undamaged(now, ns, id);
  ASSERT_FALSE(undamaged);
  EXPECT_EQ(undamaged.error().code, kDamagedRow);
}

TEST_F(InstancesTest, CanBeRemovedIfTheirRowsAreDamaged) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  damage(Table::kLive);
  const auto removed = instances.remove_damaged(ns, id);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_GT(removed->rows, 0U);
  EXPECT_EQ(removed->last_history, 0U) << "the head does not decode";
  EXPECT_FALSE(waiting.listens(id));
  commit_batch();
  EXPECT_EQ(rows_of(Table::kLive), 0U);
  EXPECT_THAT(actions_of<InstanceEnd>(outcome),
              ElementsAre(testing::Field(&InstanceEnd::instance, id)));
}

TEST_F(InstancesTest, RunOneAtATimeInASingularWorkflow) {
  const WorkflowEntry& entry = define(kSingle);
  const auto workflow = definition(entry);
  EXPECT_TRUE(instances.refuse_singular(entry, *workflow));
  const InstanceId id = start(entry);
  const auto gate = instances.admit(now, entry, *workflow, Json::object());
  ASSERT_TRUE(gate) << gate.error().message;
  ASSERT_TRUE(gate->refusal);
  EXPECT_EQ(gate->refusal->code, "direktiv.mutex");
  EXPECT_EQ(gate->effect, EventEffect::Kind::kSkipped);
  instances.count_skipped(*gate);
  EXPECT_EQ(batch.outcome.counts.starts_skipped, 1U);
  commit_batch();
  ASSERT_NE(load(id), nullptr);
  ASSERT_TRUE(instances.step(now, *load(id), matched(go)));
  EXPECT_TRUE(instances.refuse_singular(entry, *workflow)) << "the instance has ended";
}

TEST_F(InstancesTest, AreNotWrittenIfAStimulusChangesNothing) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  const auto before = rows();
  const auto stepped =
      instances.step(now, *load(id), Fired{.kind = TimerKind::kDelay, .deadline = now});
  ASSERT_TRUE(stepped);
  EXPECT_FALSE(*stepped);
  commit_batch();
  EXPECT_EQ(rows(), before);
}

TEST_F(InstancesTest, AreWrittenWithTheirHistoryWhenTheyEnd) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  ASSERT_TRUE(*instances.step(now, *load(id), matched(go)));
  commit_batch();
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome),
              ElementsAre(testing::Field(&InstanceEnd::instance, id)));
  EXPECT_EQ(rows_of(Table::kLive), 0U);
  const auto instance = read_instance(*tx, ns, id).value();
  const auto history = read_history(*tx, *instance);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->size(), instance->history_count);
  EXPECT_EQ(history->front().kind, HistoryKind::kStarted);
  EXPECT_EQ(history->back().kind, HistoryKind::kEnded);
  EXPECT_EQ(load(id), nullptr) << "the instance is not live";
}

TEST_F(InstancesTest, GetKeptEventsWhenTheyBeginToListen) {
  const WorkflowEntry& entry = define(kWaits);
  const auto id = instances.start_later(now, entry, *definition(entry), {.data = Json::object()});
  ASSERT_TRUE(id);
  commit_batch();
  kept_events.keep(*tx, ns, go, fingerprint({"1"}), {1, 1});
  ASSERT_TRUE(*instances.step(now, *load(*id), Proceed{}));
  EXPECT_EQ(batch.outcome.counts.instances_woken, 1U);
  commit_batch();
  EXPECT_EQ(status_of(*id), "complete");
}

TEST_F(InstancesTest, LeaveTheRestOfALongSearchThroughKeptEventsToLateMatches) {
  const InstanceId id = start(define(R"(
id: picky
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {subject: wanted}}}
)"));
  constexpr uint64_t kEvents = 1'000;
  go.subject = "another";
  for (uint64_t i = 1; i <= kEvents; ++i) {
    kept_events.keep(*tx, ns, go, fingerprint({std::to_string(i)}), {1, i});
  }
  EXPECT_FALSE(*instances.offer_kept_events(now, *load(id)));
  ASSERT_THAT(batch.unfinished, SizeIs(1));
  EXPECT_EQ(batch.unfinished[0].instance, id);
  EXPECT_GT(batch.unfinished[0].number, 10U);
  EXPECT_LT(batch.unfinished[0].number, kEvents) << "one unit of work searches through some events";
  EXPECT_TRUE(kept_events.undecided().has(id));
  EXPECT_GT(batch.kept_budget.steps, 0U) << "the batch has budget for other instances";
  EXPECT_LT(batch.kept_budget.steps, kKeptBudget.steps);
}

TEST_F(InstancesTest, AreLiveAgainAfterAnOperatorRestartsThem) {
  const WorkflowEntry& entry = define(kWaits);
  const InstanceId id = start(entry);
  ASSERT_TRUE(*instances.step(now, *load(id), Cancel{.error = {"stop", ""}}));
  commit_batch();
  EXPECT_EQ(status_of(id), "cancelled");
  auto ended = read_instance(*tx, ns, id).value();
  const auto revived = instances.revive(now, entry, std::move(*ended));
  ASSERT_TRUE(revived);
  ASSERT_TRUE(*instances.step(now, **revived, Restart{}));
  commit_batch();
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(live.count(entry.number), 1U);
}

TEST_F(InstancesTest, AreListedWithTheChangesOfTheCurrentBatch) {
  const WorkflowEntry& entry = define(kWaits);
  const InstanceId first = start(entry);
  const InstanceId second = start(entry);
  commit_batch();
  const InstanceId third = start(entry);
  ASSERT_TRUE(*instances.step(now, *load(first), matched(go)));
  const auto any = [](const Instance&) { return true; };
  const auto all = instances.live(ns, std::nullopt, 10, any);
  ASSERT_TRUE(all);
  EXPECT_THAT(all->ids, testing::UnorderedElementsAre(second, third));
  EXPECT_EQ(all->last, std::nullopt);
  EXPECT_THAT(instances.live(ns, second, 10, any)->ids, ElementsAre(third));
  EXPECT_THAT(instances.live(ns, std::nullopt, 10, [](const Instance&) { return false; })->ids,
              IsEmpty());
  const auto some = instances.live(ns, std::nullopt, 1, any);
  ASSERT_TRUE(some);
  EXPECT_THAT(some->ids, SizeIs(1));
  ASSERT_TRUE(some->last);
  EXPECT_THAT(instances.live(ns, some->last, 10, any)->ids, ElementsAre(third));
}

TEST_F(InstancesTest, AreUnchangedAfterAFailedRead) {
  const InstanceId id = start(define(kWaits));
  commit_batch();
  const auto before = rows();
  const auto wake = [&]() -> Status {
    LoadedInstance* const loaded = TRY(instances.load(now, ns, id));
    EXPECT_NE(loaded, nullptr);
    if (loaded != nullptr) TRY(instances.step(now, *loaded, matched(go)));
    return try_commit_batch();
  };
  const uint64_t failed = fail_each_read(wake, [&] {
    lose_batch();
    EXPECT_EQ(rows(), before);
    EXPECT_TRUE(waiting.listens(id));
  });
  EXPECT_GE(failed, 2U);
  EXPECT_EQ(status_of(id), "complete");
}

}  // namespace
}  // namespace millrace
