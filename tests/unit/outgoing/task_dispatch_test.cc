// TaskDispatch: hands each task to the runner once and completely, also after a lost batch or a
// failed read.
#include "orchestrator/outgoing/task_dispatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/task_dispatch_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(TaskDispatchTest, KnowsAndStoresATaskFromItsStartToItsEnd) {
  EXPECT_EQ(tasks->find(numbered_id(1)), nullptr);
  begin({task(1), task(2)});
  ASSERT_NE(tasks->find(numbered_id(1)), nullptr);
  EXPECT_EQ(tasks->find(numbered_id(1))->by, numbered_id(200));
  EXPECT_EQ(tasks->size(), 2U);
  EXPECT_TRUE(read_task(*tx, numbered_id(1)).value());

  tasks->end(*tx, numbered_id(1));
  tasks->end(*tx, numbered_id(9));  // a task that does not exist
  commit_tasks();
  EXPECT_EQ(tasks->find(numbered_id(1)), nullptr);
  EXPECT_EQ(tasks->size(), 1U);
  EXPECT_FALSE(read_task(*tx, numbered_id(1)).value());
}

TEST_F(TaskDispatchTest, HandsOutNoAcceptedTaskAgainAfterARestart) {
  begin({task(1), task(2)});
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(1)).value());
  EXPECT_FALSE(tasks->accept(*tx, numbered_id(1)).value()) << "it is accepted already";
  EXPECT_FALSE(tasks->accept(*tx, numbered_id(9)).value()) << "there is none with this id";
  commit_tasks();
  EXPECT_TRUE(tasks->is_called_directly(numbered_id(1)));
  restart();
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(2)));
  ASSERT_NE(tasks->find(numbered_id(1)), nullptr) << "it waits for its answer";
  EXPECT_TRUE(tasks->is_called_directly(numbered_id(1)));
  EXPECT_FALSE(tasks->is_called_directly(numbered_id(2)));
}

TEST_F(TaskDispatchTest, HandsOutATaskAgainIfItsAcceptanceWasLost) {
  begin({task(1)});
  EXPECT_TRUE(tasks->accept(*tx, numbered_id(1)).value());
  lose_batch();
  EXPECT_FALSE(tasks->find(numbered_id(1))->is_accepted);
  restart();
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1)));
}

TEST_F(TaskDispatchTest, ListsTheTasksOfAnInstanceInOrderOfTheirIds) {
  StartTask other = task(2);
  other.by = numbered_id(201);
  begin({task(3), other, task(1)});
  EXPECT_THAT(tasks->of(numbered_id(200)), ElementsAre(numbered_id(1), numbered_id(3)));
  EXPECT_THAT(tasks->of(numbered_id(202)), IsEmpty());
}

TEST_F(TaskDispatchTest, IsUnchangedByALostBatch) {
  begin({with_heartbeat(1), task(2)});
  EXPECT_TRUE(tasks->heard(numbered_id(1)) == std::nullopt);
  batches.begin();
  const auto silence = tasks->next_heartbeat_deadline();
  ASSERT_TRUE(silence);

  clock.advance(seconds(1));
  tasks->heard(numbered_id(1));
  tasks->heard(numbered_id(2));
  tasks->end(*tx, numbered_id(1));
  tasks->begin(*tx, with_heartbeat(3));
  tasks->heard(numbered_id(3));
  EXPECT_FALSE(started->contains(numbered_id(1)));
  lose_batch();

  EXPECT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->find(numbered_id(3)), nullptr);
  ASSERT_NE(tasks->find(numbered_id(1)), nullptr);
  EXPECT_TRUE(tasks->find(numbered_id(1))->has_started);
  EXPECT_FALSE(tasks->find(numbered_id(2))->has_started);
  EXPECT_EQ(tasks->next_heartbeat_deadline(), silence);
  EXPECT_TRUE(started->contains(numbered_id(1)));
  EXPECT_FALSE(started->contains(numbered_id(2)));
  EXPECT_FALSE(started->contains(numbered_id(3)));
}

TEST_F(TaskDispatchTest, KeepsCommittedTasksWhenTheNextBatchIsLost) {
  begin({task(1)});
  lose_batch();
  EXPECT_NE(tasks->find(numbered_id(1)), nullptr);
}

TEST_F(TaskDispatchTest, HandsOutATaskWithAllThatTheRunnerNeeds) {
  put_prices("cheap");
  StartTask one = with_file(1);
  one.deadline = now;
  one.start_to_close = seconds(3);
  begin({one});
  hand_out(one);
  ASSERT_THAT(runner.ran, SizeIs(1));
  const Task& ran = runner.ran[0];
  EXPECT_EQ(ran.id, numbered_id(1));
  EXPECT_EQ(ran.ns, "default");
  EXPECT_EQ(ran.instance, numbered_id(200));
  EXPECT_EQ(ran.state, "pay");
  EXPECT_EQ(ran.function, "charge");
  EXPECT_EQ(std::pair(ran.attempt, ran.call), std::pair(2U, to_string(numbered_id(1))));
  EXPECT_EQ(ran.target, TaskTarget(WorkQueue{"millrace.tasks.default.charges"}));
  EXPECT_EQ(ran.input, R"({"sum":1})");
  EXPECT_EQ(ran.deadline, now);
  EXPECT_EQ(ran.start_to_close, seconds(3));
  ASSERT_THAT(ran.files, SizeIs(1));
  EXPECT_EQ(ran.files[0].name, "prices.txt");
  EXPECT_EQ(ran.files[0].bytes, "cheap");
}

TEST_F(TaskDispatchTest, HandsOutAnEmptyFileForAMissingVariable) {
  begin({with_file(1)});
  hand_out(with_file(1));
  ASSERT_THAT(runner.ran, SizeIs(1));
  EXPECT_EQ(runner.ran[0].files.at(0).bytes, "");
}

TEST_F(TaskDispatchTest, SealsATaskThatGetsASealedVariableAsAFile) {
  begin({with_file(1), with_file(2)});
  put_prices("cheap");
  hand_out(with_file(1));
  write_variable(*tx, prices(), {.bytes = "a secret", .sealed = true});
  commit();
  hand_out(with_file(2));
  ASSERT_THAT(runner.ran, SizeIs(2));
  EXPECT_FALSE(runner.ran[0].sealed || tasks->find(numbered_id(1))->sealed);
  EXPECT_TRUE(runner.ran[1].sealed && tasks->find(numbered_id(2))->sealed);
  ASSERT_TRUE(tasks->load(*tx));
  EXPECT_TRUE(tasks->find(numbered_id(2))->sealed) << "its function still has the file";
}

TEST_F(TaskDispatchTest, SendsATaskToTheServiceInTheSettingsOrToItsContainer) {
  set_settings(Json::parse(R"({"services": {"charges": {"url": "http://charges"}}})"));
  begin({task(1)});
  hand_out(task(1));
  StartTask contained = task(2);
  contained.runs = Container{.image = "an/image"};
  begin({contained});
  hand_out(contained);
  ASSERT_THAT(runner.ran, SizeIs(2));
  EXPECT_EQ(runner.ran[0].target, TaskTarget(HttpService{"http://charges"}));
  EXPECT_EQ(runner.ran[1].target, TaskTarget(Container{.image = "an/image"}));
}

TEST_F(TaskDispatchTest, TakesTheTargetOfAGlobalServiceFromTheDefaultNamespace) {
  set_settings(Json::parse(R"({"services": {"charges": {"url": "http://charges"}}})"));
  StartTask one = task(1);
  one.ns = create_namespace("other");
  one.runs = NamedService{.name = "charges", .global = true};
  begin({one});
  hand_out(one);
  ASSERT_THAT(runner.ran, SizeIs(1));
  EXPECT_EQ(runner.ran[0].ns, "other");
  EXPECT_EQ(runner.ran[0].target, TaskTarget(HttpService{"http://charges"}));
}

TEST_F(TaskDispatchTest, HandsOutNoTaskThatHasEndedOrWhoseNamespaceIsDeleted) {
  const StartTask ended = task(1);
  tasks->begin(*tx, ended);
  tasks->end(*tx, ended.task);
  commit_tasks();
  hand_out(ended);

  StartTask orphan = task(2);
  orphan.ns = create_namespace("gone");
  begin({orphan});
  catalog.remove_namespace(*tx, orphan.ns);
  commit_catalog();
  hand_out(orphan);
  EXPECT_THAT(runner.ran, IsEmpty());
}

TEST_F(TaskDispatchTest, HandsOutTheTasksOfAPausedServiceInOrderWhenTheServiceIsResumed) {
  set_settings(Json::parse(R"({"paused": ["charges"]})"));
  begin({task(1), task(2), task(3)});
  for (uint8_t i = 1; i <= 3; ++i) hand_out(task(i));
  EXPECT_THAT(runner.take_ran(), IsEmpty());
  EXPECT_FALSE(tasks->has_due());
  tasks->resume(ns, "another");
  EXPECT_FALSE(tasks->has_due());

  tasks->end(*tx, numbered_id(2));
  commit_tasks();
  set_settings(Json::object());
  tasks->resume(ns, "charges");
  EXPECT_TRUE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1), numbered_id(3)));
  EXPECT_FALSE(tasks->has_due());
}

TEST_F(TaskDispatchTest, HoldsTasksWhileTheSettingsCannotBeRead) {
  begin({task(1)});
  damage_settings();
  hand_out(task(1));
  EXPECT_THAT(runner.take_ran(), IsEmpty());
  set_settings(Json::object());
  tasks->resume_all();
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1)));
}

TEST_F(TaskDispatchTest, HandsOutTheTasksOfAnEarlierProcessOnlyOnce) {
  begin({task(1), task(2), task(3)});
  restart();
  EXPECT_EQ(tasks->size(), 3U);
  EXPECT_TRUE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1), numbered_id(2), numbered_id(3)));
  EXPECT_FALSE(tasks->has_due());
  ASSERT_TRUE(tasks->load(*tx));
  EXPECT_FALSE(tasks->has_due()) << "this process has already handed them out";
}

TEST_F(TaskDispatchTest, HandsOutManyDueTasksOverSeveralTurns) {
  for (int i = 0; i < 300; ++i) {
    StartTask one = task(0);
    one.task.bytes[14] = static_cast<uint8_t>(i / 256);
    one.task.bytes[15] = static_cast<uint8_t>(i % 256);
    tasks->begin(*tx, one);
  }
  commit_tasks();
  restart();
  const size_t first = hand_out_due().size();
  EXPECT_GT(first, 0U);
  EXPECT_LT(first, 300U);
  size_t all = first;
  while (tasks->has_due()) all += hand_out_due().size();
  EXPECT_EQ(all, 300U);
}

TEST_F(TaskDispatchTest, LoadsNoTaskOfADeletedNamespace) {
  StartTask orphan = task(2);
  orphan.ns = NamespaceNumber(99);
  begin({task(1), orphan});
  restart();
  EXPECT_EQ(tasks->size(), 1U);
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1)));
}

TEST_F(TaskDispatchTest, LoadsAllTasksAfterFailedReads) {
  tasks->begin(*tx, called(1, std::nullopt, true));
  begin({task(2)});
  started = std::make_unique<StartedTasks>();
  tasks = make();
  const uint64_t failed = fail_each_read([&] { return tasks->load(*tx); }, [] {});
  EXPECT_GE(failed, 2U) << "the tasks and the instance of the first task are read";
  EXPECT_EQ(tasks->size(), 2U);
  EXPECT_EQ(tasks->next_heartbeat_deadline(), clock.elapsed() + kHeartbeat)
      << "the heartbeat timeout of a started task restarts";
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1), numbered_id(2)));
}

TEST_F(TaskDispatchTest, HandsOutATaskOnlyOnceAfterFailedReads) {
  put_prices("cheap");
  tasks->begin(*tx, called(1, std::nullopt, false));
  begin({with_file(2)});
  restart();
  std::vector<InstanceId> all;
  const auto note = [&] {
    for (const InstanceId& id : runner.take_ran()) all.push_back(id);
  };
  const uint64_t failed = fail_each_read([&] { return tasks->hand_out_due(*tx); },
                                         [&] {
                                           note();
                                           EXPECT_TRUE(tasks->has_due());
                                         });
  EXPECT_GE(failed, 1U);
  note();
  EXPECT_THAT(all, testing::UnorderedElementsAre(numbered_id(1), numbered_id(2)));
  EXPECT_FALSE(tasks->has_due());
}

TEST_F(TaskDispatchTest, HandsOutATaskOnlyWhenTheVariableOfItsFileCanBeRead) {
  put_prices("cheap");
  begin({with_file(1)});
  fail_reads_of(Table::kVariables);
  tasks->hand_out(with_file(1));
  const Status done = tasks->hand_out_due(*tx);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, "store.io");
  EXPECT_THAT(done.error().message, testing::HasSubstr("reading variable prices"));
  EXPECT_THAT(runner.ran, IsEmpty());
  heal();
  EXPECT_TRUE(tasks->has_due());
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(1)));
}

TEST_F(TaskDispatchTest, HandsOutATaskWithTheCurrentDeadlineOfItsCall) {
  StartTask one = called(1, now + seconds(60), false);
  one.deadline = now + seconds(5);
  begin({one});
  restart();
  ASSERT_TRUE(tasks->hand_out_due(*tx));
  ASSERT_THAT(runner.ran, SizeIs(1));
  EXPECT_EQ(runner.ran[0].deadline, now + seconds(60));
}

TEST_F(TaskDispatchTest, SkipsAndRecordsATaskWithADamagedRow) {
  begin({task(1), task(2)});
  restart();
  std::string key;
  tx->scan(Table::kTasks, "", [&](std::string_view first, std::string_view) {
    key = first;
    return false;
  });
  tx->put(Table::kTasks, key, "rubbish");
  commit();
  EXPECT_THAT(hand_out_due(), ElementsAre(numbered_id(2)));
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_FALSE(tasks->has_due());
}

TEST_F(TaskDispatchTest, ReportsHowLongATaskWaitedForItsStart) {
  begin({task(1)});
  hand_out(task(1));
  clock.advance(seconds(2));
  EXPECT_EQ(tasks->heard(numbered_id(1)), Duration(seconds(2)));
  EXPECT_TRUE(started->contains(numbered_id(1)));
  EXPECT_EQ(tasks->heard(numbered_id(1)), std::nullopt)
      << "only the first report counts as the start";
  EXPECT_EQ(tasks->heard(numbered_id(9)), std::nullopt) << "no task has that id";
  EXPECT_FALSE(started->contains(numbered_id(9)));
  EXPECT_EQ(started->services().of(ns, "charges").p50, Duration(seconds(2)))
      << "the start counts for the service of the task";
  tasks->end(*tx, numbered_id(1));
  EXPECT_FALSE(started->contains(numbered_id(1)));
}

TEST_F(TaskDispatchTest, ReportsAMissedHeartbeatOnlyOnce) {
  begin({with_heartbeat(1), with_heartbeat(2)});
  EXPECT_EQ(tasks->next_heartbeat_deadline(), std::nullopt) << "no task has started";
  tasks->heard(numbered_id(1));
  clock.advance(seconds(4));
  tasks->heard(numbered_id(2));
  EXPECT_EQ(tasks->next_heartbeat_deadline(), Duration(kHeartbeat));
  clock.advance(seconds(6) - Duration(1));
  EXPECT_THAT(tasks->missed_heartbeats(), IsEmpty());
  clock.advance(Duration(1));
  EXPECT_THAT(tasks->missed_heartbeats(), ElementsAre(numbered_id(1)));
  EXPECT_THAT(tasks->missed_heartbeats(), IsEmpty());
  clock.advance(seconds(4));
  EXPECT_THAT(tasks->missed_heartbeats(), ElementsAre(numbered_id(2)));
  EXPECT_EQ(tasks->next_heartbeat_deadline(), std::nullopt);
}

TEST_F(TaskDispatchTest, ReportsNoMissedHeartbeatIfTheRunnerReceivedAHeartbeat) {
  begin({with_heartbeat(1)});
  tasks->heard(numbered_id(1));
  clock.advance(kHeartbeat);
  runner.silences[numbered_id(1)] = seconds(3);
  EXPECT_THAT(tasks->missed_heartbeats(), IsEmpty());
  EXPECT_EQ(tasks->next_heartbeat_deadline(), clock.elapsed() + kHeartbeat - seconds(3));
}

TEST_F(TaskDispatchTest, ReportsAMissedHeartbeatAgainAfterALostBatch) {
  begin({with_heartbeat(1)});
  tasks->heard(numbered_id(1));
  batches.begin();
  clock.advance(kHeartbeat);
  EXPECT_THAT(tasks->missed_heartbeats(), ElementsAre(numbered_id(1)));
  lose_batch();
  EXPECT_THAT(tasks->missed_heartbeats(), ElementsAre(numbered_id(1)));
}

TEST_F(TaskDispatchTest, AsksTheRunnerOnceForEachDeadlineWhetherATaskHasStarted) {
  begin({task(1)});
  hand_out(task(1));
  EXPECT_TRUE(tasks->awaits_start_check(numbered_id(1), now));
  EXPECT_TRUE(tasks->awaits_start_check(numbered_id(1), now)) << "the runner has not answered yet";
  EXPECT_THAT(runner.looked_for, SizeIs(1));
  tasks->start_checked(numbered_id(1));
  EXPECT_FALSE(tasks->awaits_start_check(numbered_id(1), now));
  EXPECT_TRUE(tasks->awaits_start_check(numbered_id(1), now + seconds(1)));
  EXPECT_THAT(runner.looked_for, SizeIs(2));
  EXPECT_FALSE(tasks->awaits_start_check(numbered_id(9), now));
}

TEST_F(TaskDispatchTest, AwaitsNoStartCheckIfTheRunnerLacksTheTaskOrCannotCheck) {
  begin({task(1), task(2)});
  EXPECT_FALSE(tasks->awaits_start_check(numbered_id(1), now)) << "the task was not handed out";
  EXPECT_THAT(runner.looked_for, IsEmpty());
  hand_out(task(2));
  runner.can_look = false;
  EXPECT_FALSE(tasks->awaits_start_check(numbered_id(2), now));
}

TEST_F(TaskDispatchTest, AsksTheRunnerAgainAfterALostBatchWhetherATaskHasStarted) {
  begin({task(1)});
  hand_out(task(1));
  EXPECT_TRUE(tasks->awaits_start_check(numbered_id(1), now));
  tasks->start_checked(numbered_id(1));
  lose_batch();
  EXPECT_TRUE(tasks->awaits_start_check(numbered_id(1), now));
  EXPECT_THAT(runner.looked_for, SizeIs(2));
}

TEST_F(TaskDispatchTest, StopsATaskOnceAndOnlyIfTheRunnerHasIt) {
  begin({task(1), task(2), task(3)});
  hand_out(task(1));
  hand_out(task(2));
  tasks->forget(numbered_id(2));  // the task has ended
  for (uint8_t i = 1; i <= 3; ++i) tasks->stop(numbered_id(i));
  tasks->stop(numbered_id(1));
  EXPECT_THAT(runner.stopped, ElementsAre(numbered_id(1)));
}

}  // namespace
}  // namespace millrace
