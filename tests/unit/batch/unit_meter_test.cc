// UnitMeter: when a unit of work and a turn end, and what a unit costs.
#include "orchestrator/batch/unit_meter.h"

#include <utility>

#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

class UnitMeterTest : public testing::Test {
 protected:
  /// Begins a turn with a unit of that kind that changes so many instances.
  void begin_turn_of(UnitKind kind, int changes) {
    meter.begin_turn();
    meter.set_kind(kind);
    for (int i = 0; i < changes; ++i) meter.add_change();
    meter.end();
  }
  /// Makes such a turn, whose end needs that time to write the changes.
  void turn_of(UnitKind kind, int changes, Duration to_write) {
    begin_turn_of(kind, changes);
    clock.advance(to_write);
    meter.end_turn();
  }
  /// With how many changes a unit of that kind ends, at most `most`, in a turn that is lost.
  int changes_in_a_unit(UnitKind kind, int most = 1'000) {
    meter.begin_turn();
    meter.set_kind(kind);
    int changes = 0;
    for (; changes < most && !meter.is_spent(); ++changes) meter.add_change();
    return changes;
  }

  VirtualClock clock;
  UnitMeter meter{clock,
                  {.unit_time = Duration(2),
                   .unit_bytes = 100,
                   .write_time = Duration(2),
                   .turn_time = Duration(5),
                   .turn_bytes = 250}};
};

TEST_F(UnitMeterTest, EndsAUnitAfterItsTime) {
  meter.begin_turn();
  clock.advance(Duration(1));
  EXPECT_FALSE(meter.is_spent());
  clock.advance(Duration(1));
  EXPECT_TRUE(meter.is_spent());
  EXPECT_EQ(meter.end().time, Duration(2));
  EXPECT_FALSE(meter.is_spent());
}

TEST_F(UnitMeterTest, LeavesAPartOfTwoMillisecondsToWhatAUnitHasStarted) {
  UnitMeter usual(clock);
  usual.begin_turn();
  clock.advance(Duration(1));
  EXPECT_FALSE(usual.is_spent());
  clock.let_looks_take(std::chrono::microseconds(500));
  EXPECT_TRUE(usual.is_spent());
}

TEST_F(UnitMeterTest, EndsAUnitAfterItsBytes) {
  meter.begin_turn();
  meter.add_bytes(60);
  EXPECT_FALSE(meter.is_spent());
  EXPECT_FALSE(meter.is_spent(39));
  EXPECT_TRUE(meter.is_spent(40));
  meter.add_bytes(40);
  EXPECT_TRUE(meter.is_spent());
  EXPECT_EQ(meter.end().bytes, 100U);
  EXPECT_FALSE(meter.is_spent());
}

TEST_F(UnitMeterTest, EndsATurnAfterItsTimeOrItsBytes) {
  meter.begin_turn();
  clock.advance(Duration(4));
  meter.end();
  EXPECT_TRUE(meter.is_turn_spent(0.8));
  EXPECT_FALSE(meter.is_turn_spent());
  clock.advance(Duration(1));
  meter.end();
  EXPECT_TRUE(meter.is_turn_spent());
  meter.begin_turn();
  EXPECT_FALSE(meter.is_turn_spent());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(meter.is_turn_spent());
    meter.add_bytes(90);
    meter.end();
  }
  EXPECT_TRUE(meter.is_turn_spent());
}

TEST_F(UnitMeterTest, KeepsTheLongestUnitOfEachKindUntilItIsTaken) {
  const auto events = static_cast<size_t>(UnitKind::kEvent);
  const auto timers = static_cast<size_t>(UnitKind::kTimer);
  meter.begin_turn();
  const std::pair<int64_t, UnitKind> units[] = {
      {3, UnitKind::kEvent}, {7, UnitKind::kEvent}, {5, UnitKind::kTimer}, {2, UnitKind::kEvent}};
  for (const auto& [time, kind] : units) {
    meter.set_kind(kind);
    clock.advance(Duration(time));
    meter.end();
  }
  const auto longest = meter.take_longest();
  EXPECT_EQ(longest[events].processor, Duration(7));
  EXPECT_EQ(longest[timers].processor, Duration(5));
  EXPECT_EQ(meter.take_longest()[events].processor, Duration(0));
}

TEST_F(UnitMeterTest, CountsTheProcessorTimeOfAUnitThatWaitedForAProcessor) {
  const auto events = static_cast<size_t>(UnitKind::kEvent);
  meter.begin_turn();
  meter.end();
  meter.set_kind(UnitKind::kEvent);
  clock.advance(Duration(1));
  clock.let_thread_wait(Duration(9));
  EXPECT_EQ(meter.end().time, Duration(1));
  const auto longest = meter.take_longest();
  EXPECT_EQ(longest[events].processor, Duration(1));
  EXPECT_EQ(longest[events].elapsed, Duration(10));
}

TEST_F(UnitMeterTest, CountsNoMoreThanTheProcessorTimeSinceItsLastReading) {
  constexpr auto kShort = std::chrono::microseconds(400);
  meter.begin_turn();
  clock.let_looks_take(kShort);
  meter.end();  // too early for another reading
  clock.let_looks_take(std::chrono::nanoseconds(0));
  clock.advance(Duration(1));
  clock.let_thread_wait(Duration(5));
  EXPECT_EQ(meter.end().time, Duration(1) + kShort) << "at most";
}

TEST_F(UnitMeterTest, LetsAUnitGoOnThatWaitedForAProcessor) {
  meter.begin_turn();
  clock.advance(Duration(1));
  clock.let_thread_wait(Duration(2));
  EXPECT_FALSE(meter.is_spent());
  clock.advance(Duration(1));
  EXPECT_TRUE(meter.is_spent());
}

TEST_F(UnitMeterTest, EndsAUnitAndATurnAfterTwiceTheirTimeHoweverLongTheThreadWaits) {
  meter.begin_turn();
  clock.let_thread_wait(Duration(3));
  EXPECT_FALSE(meter.is_spent());
  clock.let_thread_wait(Duration(1));
  EXPECT_TRUE(meter.is_spent());
  meter.end();
  EXPECT_FALSE(meter.is_turn_spent(0.5));
  clock.let_thread_wait(Duration(5));
  meter.end();
  EXPECT_FALSE(meter.is_turn_spent());
  clock.let_thread_wait(Duration(1));
  meter.end();
  EXPECT_TRUE(meter.is_turn_spent());
}

TEST_F(UnitMeterTest, ReadsTheProcessorTimeSeldom) {
  meter.begin_turn();
  EXPECT_EQ(clock.readings(), 1U);
  clock.let_looks_take(std::chrono::microseconds(10));
  for (int i = 0; i < 49; ++i) meter.end();
  EXPECT_EQ(clock.readings(), 1U);
  meter.end();
  EXPECT_EQ(clock.readings(), 2U) << "half of a millisecond has passed";
  clock.let_looks_take(std::chrono::nanoseconds(0));
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(meter.is_spent());
  EXPECT_EQ(clock.readings(), 2U) << "the unit has time by the clock";
  clock.advance(Duration(1));
  clock.let_thread_wait(Duration(2));
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(meter.is_spent());
  EXPECT_EQ(clock.readings(), 3U) << "the unit cannot have used its time since then";
}

TEST_F(UnitMeterTest, MeasuresAUnitWithoutAKindAsOther) {
  meter.begin_turn();
  meter.set_kind(UnitKind::kPurge);
  meter.end();
  clock.advance(Duration(1));
  meter.end();
  EXPECT_EQ(meter.take_longest()[static_cast<size_t>(UnitKind::kOther)].processor, Duration(1));
}

TEST_F(UnitMeterTest, MeasuresTheCommitWithoutTheTimeOfTheSync) {
  meter.begin_turn();
  clock.advance(Duration(2));
  meter.end_turn();
  clock.advance(Duration(1));
  clock.let_thread_wait(Duration(30));
  meter.end_commit();
  const UnitTime commit = meter.take_longest()[static_cast<size_t>(UnitKind::kCommit)];
  EXPECT_EQ(commit.processor, Duration(1));
  EXPECT_EQ(commit.elapsed, Duration(1));
  meter.begin_turn();
  EXPECT_FALSE(meter.is_turn_spent()) << "the next turn has its own time";
}

TEST_F(UnitMeterTest, EndsAUnitOrATurnThatChangesMoreThanTheEndOfItsBatchCanWriteInTime) {
  turn_of(UnitKind::kOther, 1'000, Duration(0));
  turn_of(UnitKind::kOther, 10, Duration(1));  // a tenth of a millisecond for each
  meter.begin_turn();
  for (int i = 0; i < 19; ++i) meter.add_change();
  EXPECT_FALSE(meter.is_spent());
  EXPECT_TRUE(meter.is_turn_spent(0.9));
  EXPECT_FALSE(meter.is_turn_spent());
  meter.add_change();
  EXPECT_TRUE(meter.is_spent());
  meter.end();
  EXPECT_FALSE(meter.is_spent());
  EXPECT_TRUE(meter.is_turn_spent()) << "the end of the batch is a unit, too";
}

TEST_F(UnitMeterTest, KnowsHowLongTheEndOfABatchNeedsForTheChangesOfEachKind) {
  turn_of(UnitKind::kTimer, 10, Duration(1));  // a tenth of a millisecond for each
  for (int i = 0; i < 5; ++i) turn_of(UnitKind::kEvent, 50, Duration(1));  // a fiftieth
  EXPECT_EQ(changes_in_a_unit(UnitKind::kEvent), 100);
  EXPECT_EQ(changes_in_a_unit(UnitKind::kTimer), 20) << "whatever the last turns have changed";
}

TEST_F(UnitMeterTest, ExpectsMoreTimeSoonerThanLess) {
  turn_of(UnitKind::kTimer, 50, Duration(1));  // a fiftieth of a millisecond for each
  turn_of(UnitKind::kTimer, 10, Duration(1));  // a tenth
  EXPECT_EQ(changes_in_a_unit(UnitKind::kTimer), 20);
  turn_of(UnitKind::kTimer, 50, Duration(1));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kTimer), 22) << "0.095 ms for each";
}

TEST_F(UnitMeterTest, LearnsFromATurnThatChangesInstancesByUnitsOfSeveralKinds) {
  turn_of(UnitKind::kEvent, 20, Duration(1));  // 0.05 ms for each
  for (int i = 0; i < 8; ++i) {
    begin_turn_of(UnitKind::kEvent, 20);
    meter.set_kind(UnitKind::kTimer);
    for (int change = 0; change < 10; ++change) meter.add_change();
    meter.end();
    clock.advance(Duration(2));
    meter.end_turn();
  }
  begin_turn_of(UnitKind::kEvent, 20);
  meter.set_kind(UnitKind::kTimer);
  for (int change = 0; change < 9; ++change) meter.add_change();
  EXPECT_FALSE(meter.is_turn_spent());
  for (int change = 0; change < 3; ++change) meter.add_change();
  EXPECT_TRUE(meter.is_turn_spent()) << "as many as the end of a batch writes in 2 ms";
}

TEST_F(UnitMeterTest, LetsTheUnitsOfAKindChangeFewInstancesBeforeATurnHasMeasuredThem) {
  turn_of(UnitKind::kTimer, 1'000, Duration(0));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kTimer, 5'000), 5'000) << "the clock stands still";
  turn_of(UnitKind::kEvent, 50, Duration(1));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kReport), 65) << "one more than 64 ends the unit";
  EXPECT_TRUE(meter.is_turn_spent());
  turn_of(UnitKind::kReport, 40, Duration(0));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kReport), 81) << "twice as many as in the turn before";
  turn_of(UnitKind::kReport, 1, Duration(0));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kReport), 76) << "a sixteenth less than 80";
  for (int i = 0; i < 20; ++i) turn_of(UnitKind::kReport, 1, Duration(0));
  EXPECT_EQ(changes_in_a_unit(UnitKind::kReport), 65);
}

TEST_F(UnitMeterTest, ExpectsALimitedTimeForOneInstance) {
  meter.begin_turn();
  meter.add_change();
  clock.advance(Duration(1'000));
  meter.end_turn();
  meter.begin_turn();
  for (int i = 0; i < 9; ++i) meter.add_change();
  EXPECT_FALSE(meter.is_spent());
  meter.add_change();
  EXPECT_TRUE(meter.is_spent()) << "a fifth of a millisecond for each";
}

TEST_F(UnitMeterTest, CountsTheTimeToWriteTheChangesOfAUnitInItsShareOfATurn) {
  meter.begin_turn();
  for (int i = 0; i < 10; ++i) meter.add_change();
  clock.advance(Duration(1));
  meter.end_turn();  // a tenth of a millisecond for each
  meter.begin_turn();
  UnitCost cost;
  for (int i = 0; i < 2; ++i) {
    for (int change = 0; change < 5; ++change) meter.add_change();
    clock.advance(Duration(1));
    meter.add_bytes(40);
    cost += meter.end();
  }
  EXPECT_EQ(cost.time, Duration(2));
  EXPECT_EQ(cost.to_write, Duration(1));
  EXPECT_EQ(cost.bytes, 80U);
  EXPECT_TRUE(meter.is_used(cost, 0.5));
  EXPECT_FALSE(meter.is_used(cost, 0.7));
  cost.bytes = 175;
  EXPECT_TRUE(meter.is_used(cost, 0.7));
}

TEST_F(UnitMeterTest, HasNoBoundsBeforeTheFirstTurn) {
  meter.add_bytes(1'000);
  clock.advance(Duration(1'000));
  EXPECT_FALSE(meter.is_spent());
}

}  // namespace
}  // namespace millrace
