// DueTimers: the order in which timers become due, which timers are held back, and what is restored
// after a lost batch.
#include "orchestrator/loop/due_timers.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DueTimers::With kWithHeld{.held = true};
constexpr DueTimers::With kWithTicks{.ticks = true};
constexpr DueTimers::With kWithBoth{.held = true, .ticks = true};

TimePoint at(int second) { return from_millis(1'000 * second); }

/// The timer of a delayed event.
TimerInput timer(uint64_t number, int second) {
  return {at(second), TimerInput::OfDelayedEvent{number}};
}
TimerInput tick(uint32_t workflow, int second) {
  return {at(second), TimerInput::OfSchedule{WorkflowNumber(workflow)}};
}

std::string shown(const TimerInput& input) {
  const auto second = std::chrono::floor<std::chrono::seconds>(input.deadline).time_since_epoch();
  if (const auto* const schedule = std::get_if<TimerInput::OfSchedule>(&input.owner)) {
    return fmt::format("tick {} at {}", static_cast<uint32_t>(schedule->workflow), second.count());
  }
  return fmt::format("{} at {}", std::get<TimerInput::OfDelayedEvent>(input.owner).number,
                     second.count());
}

class DueTimersTest : public testing::Test {
 protected:
  DueTimersTest() { batches.begin(); }

  std::vector<std::string> take(int second, DueTimers::With with = {}, size_t most = Wheel::kAll) {
    std::vector<std::string> taken;
    for (const TimerInput& one : timers.take(at(second), with, most)) taken.push_back(shown(one));
    return taken;
  }
  void commit() { batches.begin(); }

  BatchCount batches;
  WaitIndex waiting{batches};
  DueTimers timers{waiting, batches};
};

TEST_F(DueTimersTest, AreTakenOnceInTheOrderOfTheirDeadlines) {
  waiting.arm_delayed(1, at(7));
  waiting.arm_delayed(2, at(5));
  waiting.arm_schedule(WorkflowNumber(3), at(6));
  waiting.arm_delayed(4, at(9));
  EXPECT_THAT(take(4), IsEmpty());
  EXPECT_THAT(take(7), ElementsAre("2 at 5", "tick 3 at 6", "1 at 7"));
  EXPECT_THAT(take(8, kWithBoth), IsEmpty());
  EXPECT_THAT(take(9), ElementsAre("4 at 9"));
}

TEST_F(DueTimersTest, AreHeldUntilTheEventStreamIsReadUpToTheirDeadlines) {
  timers.hold(timer(1, 5));
  timers.hold(timer(2, 8));
  EXPECT_THAT(take(9), IsEmpty());
  EXPECT_THAT(take(4, kWithHeld), IsEmpty());
  EXPECT_THAT(take(5, kWithHeld), ElementsAre("1 at 5"));
  EXPECT_THAT(take(7, kWithHeld), IsEmpty());
  EXPECT_THAT(take(9, kWithHeld), ElementsAre("2 at 8"));
}

TEST_F(DueTimersTest, KeepTicksUntilNewWorkIsAccepted) {
  timers.put_back_tick(tick(1, 50));
  timers.put_back_tick(tick(2, 5));
  EXPECT_THAT(take(60, kWithHeld), IsEmpty());
  EXPECT_THAT(take(1, kWithTicks), ElementsAre("tick 1 at 50", "tick 2 at 5"));
  EXPECT_THAT(take(60, kWithTicks), IsEmpty());
}

TEST_F(DueTimersTest, ReturnHeldTimersBeforeNewOnesAndTicksLast) {
  timers.put_back_tick(tick(1, 1));
  timers.hold(timer(2, 4));
  waiting.arm_delayed(3, at(3));
  EXPECT_THAT(take(5, kWithBoth), ElementsAre("2 at 4", "3 at 3", "tick 1 at 1"));
}

TEST_F(DueTimersTest, KnowTheWorkflowsWithWaitingTicks) {
  timers.hold(tick(1, 5));
  timers.put_back_tick(tick(2, 5));
  EXPECT_FALSE(timers.has_tick_of(WorkflowNumber(1)));
  EXPECT_TRUE(timers.has_tick_of(WorkflowNumber(2)));
  take(5, kWithTicks);
  EXPECT_FALSE(timers.has_tick_of(WorkflowNumber(2)));
}

TEST_F(DueTimersTest, AreRestoredAfterALostBatch) {
  for (int second = 1; second <= 3; ++second) timers.hold(timer(second, second));
  timers.put_back_tick(tick(4, 1));
  commit();
  EXPECT_THAT(take(1, kWithHeld), ElementsAre("1 at 1"));
  EXPECT_THAT(take(2, kWithBoth), ElementsAre("2 at 2", "tick 4 at 1"));
  timers.hold(timer(5, 9));
  timers.put_back_tick(tick(6, 9));
  timers.undo();
  EXPECT_FALSE(timers.has_tick_of(WorkflowNumber(6)));
  EXPECT_THAT(take(9, kWithBoth), ElementsAre("1 at 1", "2 at 2", "3 at 3", "tick 4 at 1"));
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), ElementsAre("1 at 1", "2 at 2", "3 at 3", "tick 4 at 1"))
      << "a second lost batch restores them again";
}

TEST_F(DueTimersTest, AreNotRestoredAfterACommit) {
  timers.hold(timer(1, 1));
  timers.hold(timer(2, 2));
  timers.put_back_tick(tick(3, 1));
  EXPECT_THAT(take(1, kWithHeld), ElementsAre("1 at 1"));
  commit();
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), ElementsAre("2 at 2", "tick 3 at 1"));
  commit();
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), IsEmpty());
}

TEST_F(DueTimersTest, LeaveTimersOfTheWaitIndexToTheUndoOfTheWaitIndex) {
  waiting.arm_delayed(1, at(5));
  commit();
  EXPECT_THAT(take(5), ElementsAre("1 at 5"));
  timers.undo();
  EXPECT_THAT(take(5, kWithBoth), IsEmpty());
  EXPECT_THAT(waiting.undo().delayed, ElementsAre(1U));
}

TEST_F(DueTimersTest, DropAllTimersWhenTheyAreCleared) {
  timers.hold(timer(1, 1));
  timers.hold(timer(2, 2));
  timers.put_back_tick(tick(3, 1));
  commit();
  take(1, kWithHeld);
  timers.clear();
  EXPECT_FALSE(timers.has_tick_of(WorkflowNumber(3)));
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), IsEmpty());
}

TEST_F(DueTimersTest, AreTakenInPortions) {
  EXPECT_THAT(take(0), IsEmpty());
  timers.hold(timer(1, 1));
  timers.hold(timer(2, 2));
  waiting.arm_delayed(3, at(3));
  waiting.arm_delayed(4, at(4));
  timers.put_back_tick(tick(5, 1));
  timers.put_back_tick(tick(6, 1));
  EXPECT_THAT(take(4, kWithBoth, 1), ElementsAre("1 at 1"));
  EXPECT_TRUE(timers.has_left());
  EXPECT_THAT(take(4, kWithBoth, 2), ElementsAre("2 at 2", "3 at 3"));
  EXPECT_TRUE(timers.has_left());
  EXPECT_THAT(take(4, kWithBoth, 2), ElementsAre("4 at 4", "tick 5 at 1"));
  EXPECT_TRUE(timers.has_left());
  EXPECT_THAT(take(4, kWithHeld, 2), IsEmpty());
  EXPECT_FALSE(timers.has_left()) << "ticks were not asked for";
  EXPECT_THAT(take(4, kWithBoth, 2), ElementsAre("tick 6 at 1"));
  EXPECT_FALSE(timers.has_left());
}

TEST_F(DueTimersTest, AreRestoredAfterALostBatchThatTookAPortion) {
  for (int second = 1; second <= 4; ++second) timers.hold(timer(second, second));
  for (int workflow = 5; workflow <= 7; ++workflow) timers.put_back_tick(tick(workflow, 1));
  commit();
  EXPECT_THAT(take(9, kWithBoth, 3), ElementsAre("1 at 1", "2 at 2", "3 at 3"));
  EXPECT_THAT(take(9, kWithBoth, 2), ElementsAre("4 at 4", "tick 5 at 1"));
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), ElementsAre("1 at 1", "2 at 2", "3 at 3", "4 at 4", "tick 5 at 1",
                                              "tick 6 at 1", "tick 7 at 1"));
}

TEST_F(DueTimersTest, LeaveTimersThatALostBatchHeldAndTookToTheUndoOfTheWaitIndex) {
  timers.hold(timer(1, 1));
  waiting.arm_delayed(2, at(2));
  waiting.arm_delayed(3, at(3));
  commit();
  EXPECT_THAT(take(3), ElementsAre("2 at 2", "3 at 3"));
  timers.hold(timer(2, 2));
  timers.hold(timer(3, 3));
  EXPECT_THAT(take(9, kWithHeld, 2), ElementsAre("1 at 1", "2 at 2"));
  timers.undo();
  EXPECT_THAT(take(9, kWithBoth), ElementsAre("1 at 1"));
  EXPECT_THAT(waiting.undo().delayed, ElementsAre(2U, 3U));
}

TEST(DueTimers, AreTicksOnlyIfTheyBelongToASchedule) {
  EXPECT_TRUE(is_tick(tick(1, 1)));
  EXPECT_FALSE(is_tick(timer(1, 1)));
  EXPECT_FALSE(is_tick({at(1), TimerInput::OfInstance{}}));
  EXPECT_FALSE(is_tick({at(1), TimerInput::OfGroupedEvent{1}}));
}

TEST_F(DueTimersTest, ReturnTimersThatWereNotFiredBeforeAllOthers) {
  waiting.arm_delayed(1, at(5));
  waiting.arm_delayed(2, at(6));
  waiting.arm_delayed(3, at(7));
  timers.put_back(timers.take(at(6), {}));
  EXPECT_TRUE(timers.has_left());
  commit();
  EXPECT_THAT(take(5), ElementsAre("1 at 5")) << "only up to the time";
  EXPECT_TRUE(timers.has_left());
  EXPECT_THAT(take(8, {}, 1), ElementsAre("2 at 6"));
  EXPECT_THAT(take(8), ElementsAre("3 at 7"));
  EXPECT_FALSE(timers.has_left());
}

TEST_F(DueTimersTest, ReturnHeldTimersBetweenThoseThatWereNotFired) {
  const auto prepare = [this] {
    timers.clear();
    for (const int second : {2, 5, 7}) timers.hold(timer(second, second));
    timers.put_back({timer(1, 1), timer(4, 4), timer(6, 6)});
    commit();
  };
  prepare();
  EXPECT_THAT(take(7, kWithHeld),
              ElementsAre("1 at 1", "2 at 2", "4 at 4", "5 at 5", "6 at 6", "7 at 7"));
  prepare();
  EXPECT_THAT(take(5, kWithHeld, 3), ElementsAre("1 at 1", "2 at 2", "4 at 4"));
  EXPECT_THAT(take(5, kWithHeld, 3), ElementsAre("5 at 5"));
  timers.undo();
  EXPECT_THAT(take(7), ElementsAre("1 at 1", "4 at 4", "6 at 6")) << "held timers stay held";
  EXPECT_THAT(take(7, kWithHeld), ElementsAre("2 at 2", "5 at 5", "7 at 7"));
}

TEST_F(DueTimersTest, ReturnTimersThatWereNotFiredAgainAfterALostBatch) {
  waiting.arm_delayed(1, at(5));
  waiting.arm_delayed(2, at(6));
  timers.put_back(timers.take(at(6), {}));
  commit();
  EXPECT_THAT(take(6, {}, 1), ElementsAre("1 at 5"));
  timers.undo();
  EXPECT_THAT(take(6), ElementsAre("1 at 5", "2 at 6"));
}

TEST_F(DueTimersTest, LeaveToTheWaitIndexWhatALostBatchHadPutBack) {
  waiting.arm_delayed(1, at(5));
  commit();
  timers.put_back(timers.take(at(5), {}));
  timers.undo();
  EXPECT_THAT(take(5), IsEmpty()) << "the undo of the wait index arms it again";
}

}  // namespace
}  // namespace millrace
