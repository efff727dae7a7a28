// TaskDispatch: tasks that wait for a slot or the throttle of their service.
#include <chrono>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/task_dispatch_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(TaskDispatchTest, HandsOutNoTaskThatWaitsForASlot) {
  StartTask waits = task(1);
  waits.created = clock.now();
  waits.slot = TaskSlot{.limit = 1, .timeout = Span::parse("PT1M").value(), .number = 7};
  StartTask holds = task(2);
  holds.slot = TaskSlot{.limit = 1, .number = 8};
  const CallPlace waiting{.kind = QueueRow::kCallWaiting, .number = 7};
  const CallPlace holding{.kind = QueueRow::kCallHolder, .number = 8};
  for (const auto& [one, place] : {std::pair(waits, waiting), std::pair(holds, holding)}) {
    write_call_place(*tx, call_slot_key_of(one), place,
                     {.task = one.task, .since = clock.now(), .limit = 1});
    tasks->begin(*tx, one, place);
  }
  commit_tasks();
  EXPECT_TRUE(tasks->find(waits.task)->awaits_slot());
  EXPECT_FALSE(tasks->find(holds.task)->awaits_slot());
  EXPECT_EQ(tasks->awaiting_slots().at(ns), 1U);
  const TimePoint until = waits.created + std::chrono::minutes(1);
  EXPECT_EQ(tasks->next_wait_end(), until);
  restart();
  EXPECT_THAT(tasks->ended_waits(until, 5), ElementsAre(waits.task));
  EXPECT_THAT(hand_out_due(), ElementsAre(holds.task));
  EXPECT_EQ(tasks->awaiting_slots().at(ns), 1U);
  const CallPlace admitted{.kind = QueueRow::kCallHolder, .number = 7};
  tasks->set_place(waits.task, admitted);
  EXPECT_THAT(tasks->awaiting_slots(), IsEmpty());
  EXPECT_EQ(tasks->next_wait_end(), std::nullopt);
  lose_batch();
  EXPECT_TRUE(tasks->find(waits.task)->awaits_slot());
  EXPECT_EQ(tasks->awaiting_slots().at(ns), 1U);
  tasks->set_place(waits.task, admitted);
  commit_tasks();
  tasks->hand_out_later(waits.task);
  EXPECT_THAT(hand_out_due(), ElementsAre(waits.task));
}

TEST_F(TaskDispatchTest, HandsOutNoTaskThatWaitsForItsThrottle) {
  StartTask waits = task(1);
  waits.throttle = TaskThrottle{.number = 7};
  waits.throttle->rate.period = Span::parse("PT1M").value();
  StartTask passed = task(2);
  passed.throttle = waits.throttle;
  passed.throttle->number = 8;
  const CallPlace waiting{.kind = QueueRow::kCallThrottled, .number = 7};
  const TimePoint until = clock.now() + Duration(500);
  write_call_place(*tx, call_throttle_key_of(waits), waiting,
                   {.task = waits.task,
                    .since = clock.now(),
                    .period = waits.throttle->rate.period,
                    .until = until});
  for (const StartTask& one : {waits, passed}) tasks->begin(*tx, one);
  tasks->set_throttled(waits.task, waiting, until);
  commit_tasks();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(tasks->find(passed.task)->awaits_turn());
    EXPECT_EQ(tasks->awaiting_slots().at(ns), 1U);
    EXPECT_EQ(tasks->next_wait_end(), until);
    EXPECT_THAT(tasks->ended_waits(until - Duration(1), 5), IsEmpty());
    EXPECT_THAT(tasks->ended_waits(until, 5), ElementsAre(waits.task));
    restart();
  }
  EXPECT_THAT(hand_out_due(), ElementsAre(passed.task));
  tasks->set_throttled(waits.task, std::nullopt);
  EXPECT_THAT(tasks->awaiting_slots(), IsEmpty());
  EXPECT_EQ(tasks->next_wait_end(), std::nullopt);
  lose_batch();
  EXPECT_EQ(tasks->next_wait_end(), until);
  tasks->set_throttled(waits.task, std::nullopt);
  commit_tasks();
  tasks->hand_out_later(waits.task);
  EXPECT_THAT(hand_out_due(), ElementsAre(waits.task));
}

}  // namespace
}  // namespace millrace
