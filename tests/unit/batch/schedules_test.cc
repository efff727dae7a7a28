// Schedules: each tick starts one instance, and one start replaces all missed ticks.
#include "orchestrator/batch/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSingleTicks = R"(
id: ticks
singular: true
start: {type: scheduled, cron: '0 * * * *'}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

class SchedulesTest : public BatchPartTest {
 protected:
  /// Sets the schedule of a new workflow now; returns its first tick.
  TimePoint set(const std::string& text) {
    number = define(text).number;
    schedules.set(now, number, std::nullopt, cron());
    commit_batch();
    return *next_tick();
  }
  std::optional<Cron> cron() { return definition(*catalog.find_workflow(number))->start.cron; }
  /// The next tick, if a timer is armed. Computes the tick from the stored row, so that the timer
  /// stays armed.
  std::optional<TimePoint> next_tick() {
    const auto row = read_schedule(*tx, number);
    if (!row || !*row || waiting.timers() == 0) return std::nullopt;
    return cron()->next((*row)->from);
  }
  Status try_tick(TimePoint tick) {
    TRY(schedules.tick(now, number, tick));
    return try_commit_batch();
  }
  void tick(TimePoint at) {
    const Status done = try_tick(at);
    ASSERT_TRUE(done) << done.error().message;
  }
  Schedules schedules{batch, instances};
  WorkflowNumber number{};
};

TEST_F(SchedulesTest, StartOneInstanceAtEachTickAndArmTheNextTick) {
  const TimePoint first = set(kTicks);
  EXPECT_GT(first, now);
  EXPECT_LE(first, now + hours(1));
  now = first;
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_EQ(next_tick(), first + hours(1));
  EXPECT_EQ(read_schedule(*tx, number).value()->last, first);
  EXPECT_EQ(read_schedule(*tx, number).value()->first, first);
}

TEST_F(SchedulesTest, IgnoreATickThatIsNotTheNextTick) {
  const TimePoint first = set(kTicks);
  now = first;
  tick(first - minutes(1));
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  tick(first);
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 0U) << "the same tick has no second effect";
}

TEST_F(SchedulesTest, StartOneInstanceForAllMissedTicks) {
  const TimePoint first = set(kTicks);
  now = first + hours(5);
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  EXPECT_GT(*next_tick(), now);
  EXPECT_LE(*next_tick(), now + hours(1));
}

TEST_F(SchedulesTest, AreUnchangedIfTheNewCronIsTheSame) {
  const TimePoint first = set(kTicks);
  now += minutes(1);
  const auto before = rows();
  schedules.set(now, number, cron(), cron());
  commit_batch();
  EXPECT_EQ(rows(), before);
  EXPECT_EQ(next_tick(), first);
}

TEST_F(SchedulesTest, AreRemovedWithTheirCronOrTheirWorkflow) {
  const TimePoint first = set(kTicks);
  schedules.set(now, number, cron(), std::nullopt);
  commit_batch();
  EXPECT_EQ(rows_of(Table::kSchedules), 0U);
  EXPECT_EQ(waiting.timers(), 0U);
  now = first;
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 0U) << "a tick of the removed schedule has no effect";

  schedules.set(now, number, std::nullopt, cron());
  schedules.remove(number);
  commit_batch();
  EXPECT_EQ(rows_of(Table::kSchedules), 0U);
  EXPECT_EQ(waiting.timers(), 0U);
}

TEST_F(SchedulesTest, SkipATickWhileAnInstanceOfASingularWorkflowIsLive) {
  const TimePoint first = set(kSingleTicks);
  now = first;
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
  now = first + hours(1);
  tick(now);
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  EXPECT_EQ(outcome.counts.starts_skipped, 1U);
  EXPECT_EQ(next_tick(), now + hours(1)) << "the next tick is armed";
}

TEST_F(SchedulesTest, TickOnceDespiteFailedReads) {
  const TimePoint first = set(kTicks);
  const auto before = rows();
  now = first;
  const uint64_t failed = fail_each_read([&] { return try_tick(first); },
                                         [&] {
                                           lose_batch();
                                           EXPECT_EQ(rows(), before);
                                           EXPECT_EQ(next_tick(), first);
                                         });
  EXPECT_GE(failed, 1U);
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(SchedulesTest, DoNotTickIfTheirRowIsDamaged) {
  const TimePoint first = set(kTicks);
  damage(Table::kSchedules);
  now = first;
  tick(first);
  EXPECT_EQ(outcome.counts.instances_started, 0U);
  EXPECT_EQ(damages.count(), 1U);
}

}  // namespace
}  // namespace millrace
