// Compensations that an instance has dropped: some rows are erased in the commit that drops them,
// the others by a purge, in portions. It erases none that the instance has.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/ended_instances.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/purges_fixture.h"

namespace millrace {
namespace {

/// More than one commit and one portion of a purge erase.
constexpr uint32_t kManyNotes = 700;

class DroppedNotes : public PurgesTest {
 protected:
  DroppedNotes() : entry(define(kWaits)), id(start(entry)) {
    commit_batch();
    note(kManyNotes, "old");
    commit_notes();
    EXPECT_EQ(notes(), kManyNotes);
  }

  LoadedInstance& loaded() {
    LoadedInstance& one = *instances.load(now, ns, id).value();
    one.changed = true;
    return one;
  }
  void note(uint32_t count, const std::string& text) {
    Instance& instance = loaded().instance;
    for (uint32_t i = 0; i < count; ++i) note_compensation(instance, {.input = Json(text)});
  }
  void drop() { remove_compensations(loaded().instance); }
  /// Commits the batch as Batch::finish() does.
  void commit_notes() {
    ASSERT_TRUE(instances.write());
    ASSERT_TRUE(purges.begin_compensations());
    commit_batch();
  }
  /// The number of rows of compensations of the instance.
  uint32_t notes() const {
    uint32_t count = 0;
    tx->scan(Table::kEnded, part_key(rows::instance_prefix(ns, id), Part::kCompensation),
             [&](auto, auto) {
               ++count;
               return true;
             });
    return count;
  }
  Instance head() const { return *read_head_anywhere(*tx, ns, id).value(); }
  /// Whether the instance has `count` compensations with that input, and no other row of them.
  void expect_notes(uint32_t count, const std::string& text) const {
    EXPECT_EQ(notes(), count);
    const Instance now_is = head();
    EXPECT_EQ(now_is.compensations, count);
    EXPECT_EQ(now_is.part_bytes[static_cast<size_t>(Part::kCompensation)],
              compensation_bytes(*tx, now_is));
    for (uint32_t number = 0; number < count; ++number) {
      const auto one = read_compensation(*tx, now_is, number);
      ASSERT_TRUE(one) << one.error().message;
      EXPECT_EQ(one->input, LazyJson(Json(text)));
    }
  }

  const WorkflowEntry entry;
  const InstanceId id;
};

TEST_F(DroppedNotes, AreErasedInPortionsOfWhichTheFirstOneIsInTheCommitThatDropsThem) {
  drop();
  commit_notes();
  EXPECT_EQ(notes(), kManyNotes - kErasedCompensations);
  EXPECT_EQ(head().compensations, 0U);
  EXPECT_EQ(head().part_bytes[static_cast<size_t>(Part::kCompensation)], 0U);
  EXPECT_EQ(purge_rows(), 1U);
  go_on();
  EXPECT_EQ(outcome.counts.rows_purged, PurgeBudget().rows);
  EXPECT_EQ(notes(), kManyNotes - kErasedCompensations - PurgeBudget().rows);
  finish();
  expect_notes(0, "");
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(DroppedNotes, NeedNoPurgeIfOneCommitErasesThem) {
  drop();
  commit_notes();
  finish();
  note(kErasedCompensations, "few");
  commit_notes();
  drop();
  commit_notes();
  EXPECT_TRUE(purges.empty());
  expect_notes(0, "");
}

TEST_F(DroppedNotes, AreLargeAndEndAPortionByTheirBytes) {
  drop();
  commit_notes();
  finish();
  const std::string large(size_t{64} << 10, 'x');
  note(kErasedCompensations + 20, large);
  commit_notes();
  drop();
  commit_notes();
  EXPECT_EQ(notes(), 20U);
  go_on();
  EXPECT_EQ(outcome.counts.rows_purged, 4U) << "256 KiB, as any portion of a purge";
  finish();
  expect_notes(0, "");
}

TEST_F(DroppedNotes, AreReplacedByThoseThatTheInstanceNotesMeanwhile) {
  drop();
  note(2, "new");
  commit_notes();
  EXPECT_EQ(notes(), kManyNotes - kErasedCompensations);
  note(100, "new");
  ASSERT_TRUE(purges.go_on()) << "before the batch has written the new ones";
  commit_notes();
  go_on();
  finish();
  expect_notes(102, "new");
}

TEST_F(DroppedNotes, AreDroppedTwiceBeforeThePurgeOfTheFirstOnesHasEnded) {
  drop();
  note(300, "new");
  commit_notes();
  drop();
  note(1, "newest");
  commit_notes();
  EXPECT_EQ(purge_rows(), 2U);
  finish();
  expect_notes(1, "newest");
}

TEST_F(DroppedNotes, DoNotTakeThoseOfAnInstanceThatTheBatchRevives) {
  drop();
  note(5, "new");
  ASSERT_TRUE(instances.step(now, loaded(), Cancel{.error = {"a.b", "stops"}}));
  commit_notes();
  EXPECT_EQ(status_of(id), "cancelled");
  Instance ended = *read_instance(*tx, ns, id).value();
  LoadedInstance* const revived = instances.revive(now, entry, std::move(ended)).value();
  ASSERT_TRUE(instances.step(now, *revived, Rerun{.state = 0, .data = Json::object()}));
  EXPECT_FALSE(read_head_anywhere(*tx, ns, id).value()) << "its head is written with the batch";
  ASSERT_TRUE(purges.go_on());
  commit_notes();
  finish();
  EXPECT_EQ(status_of(id), "waiting");
  expect_notes(5, "new");
}

TEST_F(DroppedNotes, AreErasedByTheNextProcess) {
  drop();
  commit_notes();
  go_on();
  Purges next(batch, groups, instances);
  ASSERT_TRUE(next.load());
  EXPECT_EQ(next.size(), 1U);
  for (int i = 0; i < 10 && !next.empty(); ++i) {
    ASSERT_TRUE(next.go_on());
    commit_batch();
  }
  EXPECT_TRUE(next.empty());
  expect_notes(0, "");
}

TEST_F(DroppedNotes, AreThoseOfADeletedInstance) {
  ASSERT_TRUE(instances.step(now, loaded(), Cancel{.error = {"a.b", "stops"}}));
  commit_notes();
  EXPECT_EQ(notes(), kManyNotes) << "an instance that is cancelled keeps them";
  PurgeBudget budget{.rows = 40};
  const auto left = [this](uint64_t row) { purges.begin_history(ns, row); };
  EXPECT_TRUE(delete_ended(batch, head(), DeletionReason::kRequest, budget, left).value());
  EXPECT_EQ(budget.rows, 0U) << "the deletion counts what it has erased";
  commit_notes();
  EXPECT_EQ(status_of(id), "none");
  EXPECT_EQ(notes(), kManyNotes - 40);
  finish();
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(DroppedNotes, AreThoseOfARemovedDamagedInstance) {
  tx->put(Table::kLive, part_key(rows::instance_prefix(ns, id), Part::kHead), "rubbish");
  commit();
  const auto removed = instances.remove_damaged(ns, id);
  ASSERT_TRUE(removed) << removed.error().message;
  commit_notes();
  EXPECT_EQ(rows_of(Table::kLive), 0U);
  EXPECT_EQ(notes(), kManyNotes - kErasedCompensations);
  finish();
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
}

TEST_F(DroppedNotes, StayIfTheHeadOfTheInstanceIsDamaged) {
  drop();
  commit_notes();
  tx->put(Table::kLive, part_key(rows::instance_prefix(ns, id), Part::kHead), "rubbish");
  commit();
  const uint32_t before = notes();
  finish();
  EXPECT_EQ(notes(), before) << "it is not known which ones the instance has";
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(DroppedNotes, AreLeftToThePurgeOfTheirNamespace) {
  drop();
  commit_notes();
  erase(ns, "default");
  finish();
  EXPECT_EQ(rows_of(Table::kEnded), 0U);
  EXPECT_EQ(purge_rows(), 0U);
}

TEST_F(DroppedNotes, AreAllErasedDespiteFailedReads) {
  drop();
  note(3, "new");
  commit_notes();
  const auto before = rows();
  EXPECT_GE(fail_each_read([&] { return try_go_on(); },
                           [&] {
                             purges.undo();
                             lose_batch();
                             EXPECT_EQ(rows(), before);
                           }),
            1U);
  finish();
  expect_notes(3, "new");
}

}  // namespace
}  // namespace millrace
