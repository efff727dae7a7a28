// TaskDispatch and CallBudget: tasks beyond the budget of their namespace wait in the store.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/task_dispatch_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(TaskDispatchTest, HoldsTasksForHttpServicesBeyondTheBudgetOfTheirNamespace) {
  tasks = make({.tasks = 2});
  set_settings(Json::parse(R"({"services": {"charges": {"url": "http://charges"}}})"));
  const std::vector<StartTask> all = {task(1), task(2), task(3), task(4)};
  begin(all);
  for (const StartTask& one : all) tasks->hand_out(one);
  EXPECT_THAT(runner.take_ran(), ElementsAre(numbered_id(1), numbered_id(2)));
  EXPECT_EQ(tasks->held(), 2U);
  EXPECT_FALSE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), IsEmpty());

  tasks->end(*tx, numbered_id(2));
  commit_tasks();
  tasks->forget(numbered_id(2));
  EXPECT_TRUE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(3)));
  EXPECT_FALSE(tasks->has_due());
  tasks->end(*tx, numbered_id(1));
  commit_tasks();
  tasks->stop(numbered_id(1));
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(4)));
  EXPECT_EQ(tasks->held(), 0U);

  ASSERT_TRUE(tasks->load(*tx));
  EXPECT_THAT(hand_out_due(), IsEmpty()) << "both are with their runner";
}

TEST_F(TaskDispatchTest, HandsOutHeldTasksBeforeNewOnes) {
  tasks = make({.tasks = 1});
  set_settings(Json::parse(R"({"services": {"charges": {"url": "http://charges"}}})"));
  const std::vector<StartTask> all = {task(1), task(2), task(3)};
  begin(all);
  tasks->hand_out(all[0]);
  tasks->hand_out(all[1]);
  EXPECT_THAT(runner.take_ran(), ElementsAre(numbered_id(1)));
  tasks->end(*tx, numbered_id(1));
  commit_tasks();
  tasks->forget(numbered_id(1));
  tasks->hand_out(all[2]);
  EXPECT_THAT(runner.take_ran(), IsEmpty());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(2)));
  EXPECT_EQ(tasks->held(), 1U);
}

TEST_F(TaskDispatchTest, HoldsNoTasksForWorkers) {
  tasks = make({.tasks = 1});
  const std::vector<StartTask> all = {task(1), task(2)};
  begin(all);
  for (const StartTask& one : all) tasks->hand_out(one);
  EXPECT_THAT(runner.take_ran(), ElementsAre(numbered_id(1), numbered_id(2)));
}

TEST_F(TaskDispatchTest, HoldsTasksForWorkersWhileTheBrokerDoesNotHaveManyBytesOfTheirNamespace) {
  StartTask other = task(3);
  other.ns = create_namespace("other");
  const std::vector<StartTask> all = {task(1), task(2), other, task(4)};
  begin(all);
  tasks->hand_out(all[0]);
  runner.waiting["default"] = uint64_t{16} << 20;
  tasks->hand_out(all[1]);
  tasks->hand_out(all[2]);
  EXPECT_THAT(runner.take_ran(), ElementsAre(numbered_id(1), numbered_id(3)));
  EXPECT_EQ(tasks->held(), 1U);
  EXPECT_FALSE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), IsEmpty());
  EXPECT_GT(tasks->next_time(), clock.elapsed()) << "the next look is later";

  runner.waiting["default"] = 0;
  tasks->hand_out(all[3]);
  EXPECT_THAT(runner.take_ran(), IsEmpty()) << "the older task comes first";
  EXPECT_EQ(tasks->held(), 2U);
  clock.advance(std::chrono::seconds(1));
  EXPECT_LE(tasks->next_time(), clock.elapsed());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(2), numbered_id(4)));
  EXPECT_EQ(tasks->held(), 0U);
  EXPECT_EQ(tasks->next_time(), std::nullopt);
}

TEST_F(TaskDispatchTest, ForgetsAHeldTaskForAWorkerThatHasEnded) {
  begin({task(1), task(2)});
  runner.waiting["default"] = uint64_t{16} << 20;
  tasks->hand_out(task(1));
  tasks->hand_out(task(2));
  EXPECT_EQ(tasks->held(), 2U);
  tasks->end(*tx, numbered_id(1));
  commit_tasks();
  tasks->stop(numbered_id(1));
  EXPECT_THAT(runner.stopped, IsEmpty()) << "the runner does not have the task";
  EXPECT_EQ(tasks->held(), 1U);
  ASSERT_TRUE(tasks->load(*tx));
  EXPECT_EQ(tasks->held(), 0U);
  EXPECT_THAT(hand_out_due(), IsEmpty());
  EXPECT_EQ(tasks->held(), 1U) << "the task is held again after its rows were read again";
}

}  // namespace
}  // namespace millrace
