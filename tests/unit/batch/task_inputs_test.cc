// TaskInputs: the effect of each report of a task. Reports that are late, repeated or of another
// namespace have no effect.
#include "orchestrator/batch/task_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPaysInTwoHours = R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, timeout: PT2H, action: {function: charge}}
)";
constexpr const char* kPaysInTime = R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, scheduleToStartTimeout: 10s, startToCloseTimeout: 1h, heartbeatTimeout: 5s, retries: {maximumAttempts: 1}}
)";

class TaskInputsTest : public BatchPartTest {
 protected:
  /// Starts an instance that waits for its call, and hands out the task of the call.
  void call(const std::string& text = kPaysInTwoHours) {
    id = start(define(text));
    commit_batch();
    task = actions_of<StartTask>(outcome).at(0).task;
    tasks.hand_out(actions_of<StartTask>(outcome)[0]);
  }
  /// Stores a task without a waiting caller: its instance has ended.
  void detach(bool sealed = false) {
    task = numbered_id(77);
    batch.tasks.begin(*tx, {.ns = ns,
                            .task = task,
                            .by = numbered_id(76),
                            .workflow = WorkflowNumber(1),
                            .runs = NamedService{.name = "charge"},
                            .sealed = sealed});
    commit_batch();
  }
  template <class Input>
  Status try_take(const Input& input) {
    TRY(inputs.apply_input(now, input));
    return try_commit_batch();
  }
  template <class Input>
  void take(const Input& input) {
    const Status done = try_take(input);
    ASSERT_TRUE(done) << done.error().message;
  }
  TaskInput report_of(decltype(TaskReport::what) what) const {
    return {{.task = task, .what = std::move(what)}};
  }
  /// Applies a callback of the task and commits; returns whether it was taken.
  bool says(decltype(AnswerTask::what) what) {
    const auto taken = inputs.answer(now, ns, {.task = task, .what = std::move(what)});
    EXPECT_TRUE(taken) << taken.error().message;
    commit_batch();
    return taken.value_or(false);
  }
  static TaskEnded paid() {
    return {.result = "7",
            .variables = {
                {.scope = VariableScope::kNamespace, .key = "receipt", .value = {.bytes = "r"}}}};
  }
  std::optional<Variable> receipt() {
    const VariableOwner owner = owner_of(ns, {}, {}, VariableScope::kNamespace);
    return read_variable(*tx, {owner, "receipt"}).value();
  }
  Instance stored() { return read_instance(*tx, ns, id).value().value(); }
  std::string error_code() { return stored().error ? stored().error->code : "none"; }
  bool has_started() { return read_live(*tx, ns, id).value()->calls.at(0).started; }

  FanOuts fan_outs{batch, instances};
  Groups groups{batch, instances};
  Schedules schedules{batch, instances};
  TimerInputs timers{batch, instances, fan_outs, groups, schedules};
  TaskInputs inputs{batch, instances, timers};
  InstanceId id;    ///< the caller
  InstanceId task;  ///< the task of the caller's call
};

TEST_F(TaskInputsTest, EndATaskOnceWithItsResultAndVariables) {
  call();
  take(report_of(paid()));
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(stored().data.value(), (Json{{"return", 7}}));
  EXPECT_EQ(receipt()->bytes, "r");
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
  EXPECT_THAT(actions_of<EndedTask>(outcome), SizeIs(1));
  erase_variable(*tx, {owner_of(ns, {}, {}, VariableScope::kNamespace), "receipt"});
  take(report_of(paid()));
  EXPECT_FALSE(receipt()) << "a repeated report is late and has no effect";
  EXPECT_THAT(outcome.actions, IsEmpty());
}

TEST_F(TaskInputsTest, StoreThatAServiceHasAcceptedATask) {
  call(kPaysInTime);
  take(report_of(TaskAccepted()));
  EXPECT_THAT(actions_of<AcceptedTask>(outcome), SizeIs(1));
  EXPECT_TRUE(read_task(*tx, task).value()->is_accepted);
  EXPECT_TRUE(has_started()) << "the report of the start may be lost";
  take(report_of(TaskAccepted()));
  EXPECT_THAT(actions_of<AcceptedTask>(outcome), IsEmpty()) << "it is stored already";
  TaskInput of_worker = report_of(paid());
  of_worker.report.ns = "default";
  take(of_worker);
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "a message on NATS does not answer the task";
}

TEST_F(TaskInputsTest, StoreThatAWorkerOfTheNamespaceHasAcceptedATask) {
  call();
  for (const char* const name : {"another", "default"}) {
    TaskInput of_worker = report_of(TaskAccepted());
    of_worker.report.ns = name;
    take(of_worker);
    EXPECT_EQ(read_task(*tx, task).value()->is_accepted, name == std::string("default")) << name;
  }
  TaskInput later = report_of(paid());
  later.report.ns = "default";
  take(later);
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "its answer is a callback";
}

TEST_F(TaskInputsTest, EndATaskByACallbackOnce) {
  for (const bool is_accepted : {true, false}) {
    call();
    if (is_accepted) take(report_of(TaskAccepted()));
    EXPECT_TRUE(says(TaskEnded{.result = "7"}));
    EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(is_accepted ? 0 : 1))
        << "a service that has not answered the call may never do so";
    EXPECT_EQ(status_of(id), "complete");
    EXPECT_EQ(stored().data.value(), (Json{{"return", 7}}));
    EXPECT_EQ(rows_of(Table::kTasks), 0U);
    EXPECT_FALSE(says(TaskEnded{.result = "8"})) << "the attempt has ended";
    EXPECT_FALSE(says(TaskHeartbeat()));
    EXPECT_EQ(stored().data.value(), (Json{{"return", 7}}));
  }
}

TEST_F(TaskInputsTest, FailATaskByACallback) {
  call();
  take(report_of(TaskAccepted()));
  EXPECT_TRUE(says(TaskEnded{.result = fail("card.declined", "no money")}));
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_EQ(error_code(), "card.declined");
}

TEST_F(TaskInputsTest, FailATaskByACallbackWithAFileThatCannotBecomeAVariable) {
  call();
  take(report_of(TaskAccepted()));
  ASSERT_TRUE(inputs.answer(now, ns,
                            {.task = task,
                             .what = TaskEnded{.result = "7"},
                             .has_files = true,
                             .wrong_files = Error{"millrace.function.files", "it is too large"}}));
  commit_batch();
  EXPECT_EQ(error_code(), "millrace.function.files");
  EXPECT_THAT(actions_of<StopTask>(outcome), IsEmpty());
}

TEST_F(TaskInputsTest, StopTheRunnerOfAnAcceptedTaskThatIsAnsweredWithoutItsFiles) {
  call(R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge, files: [{key: order}]}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  take(report_of(TaskAccepted()));
  EXPECT_THAT(actions_of<AcceptedTask>(outcome), SizeIs(1));
  take(report_of(TaskAccepted()));
  EXPECT_THAT(actions_of<AcceptedTask>(outcome), IsEmpty()) << "it is accepted already";
  EXPECT_TRUE(says(TaskEnded{.result = "7"}));
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1)) << "the runner has its files";
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TaskInputsTest, RefuseACallbackOfAnotherNamespace) {
  call();
  EXPECT_FALSE(inputs.answer(now, NamespaceNumber(99), {.task = task, .what = paid()}).value());
  EXPECT_EQ(rows_of(Table::kTasks), 1U);
}

TEST_F(TaskInputsTest, RefuseACallbackAfterADeadline) {
  call();
  take(report_of(TaskAccepted()));
  now += hours(2);
  EXPECT_FALSE(says(paid()));
  EXPECT_EQ(error_code(), "direktiv.stateTimeout");
  EXPECT_FALSE(receipt());
}

TEST_F(TaskInputsTest, ReadAResultAsJsonOrBytesOrNull) {
  const struct {
    std::string answer;
    Json result;
  } cases[] = {{R"({"a": [1]})", Json::parse(R"({"a": [1]})")},
               {"", nullptr},
               {"no JSON", "bm8gSlNPTg=="},
               {std::string("\0\xff", 2), "AP8="}};
  for (const auto& [answer, result] : cases) {
    call();
    take(report_of(TaskEnded{.result = answer}));
    EXPECT_EQ(stored().data.value().at("return"), result);
  }
}

TEST_F(TaskInputsTest, RaiseTheErrorOfAFailedTask) {
  call();
  take(report_of(TaskEnded{.result = fail("card.declined", "no money")}));
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_EQ(error_code(), "card.declined");
  EXPECT_THAT(actions_of<EndedTask>(outcome), SizeIs(1));
}

TEST_F(TaskInputsTest, NoteTheErrorOfAFailedTaskForItsService) {
  const auto last = [&] { return started.services().of(ns, "charge").last_failure; };
  call();
  EXPECT_FALSE(last());
  take(report_of(TaskEnded{.result = fail("card.declined", "no money")}));
  ASSERT_TRUE(last());
  EXPECT_EQ(last()->code, "card.declined");
  EXPECT_EQ(last()->message, "no money");
  EXPECT_EQ(last()->at, now);
  detach(true);
  take(report_of(TaskEnded{.result = fail("card.lost", "4242")}));
  EXPECT_EQ(last()->code, "card.lost");
  EXPECT_EQ(last()->message, std::nullopt) << "it may have data of a secret";
}

TEST_F(TaskInputsTest, IgnoreAReportOfAnotherNamespace) {
  create_namespace("shop");
  call();
  for (const char* const other : {"shop", "nowhere", ""}) {
    TaskInput input = report_of(paid());
    input.report.ns = other;
    take(input);
    EXPECT_EQ(outcome.counts.answers_stray, 1U) << other;
    EXPECT_EQ(status_of(id), "waiting") << other;
    EXPECT_FALSE(receipt()) << other;
  }
  TaskInput input = report_of(paid());
  input.report.ns = "default";
  take(input);
  EXPECT_EQ(outcome.counts.answers_stray, 0U);
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TaskInputsTest, IgnoreAnAnswerOfAWorkerToACallOfAnHttpService) {
  set_settings(Json::parse(R"({"services": {"charge": {"url": "http://charge"}}})"));
  call();
  TaskInput forged = report_of(paid());
  forged.report.ns = "default";
  take(forged);
  EXPECT_EQ(outcome.counts.answers_stray, 1U);
  EXPECT_EQ(status_of(id), "waiting");
  take(report_of(paid()));
  EXPECT_EQ(outcome.counts.answers_stray, 0U) << "the runner of the call reports its answer";
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TaskInputsTest, ConfirmEachReportToItsSource) {
  call();
  const auto stored_reports = [&](TaskInput input) {
    input.stored = [] {};
    take(input);
    return actions_of<StoredReport>(outcome).size();
  };
  TaskInput stray = report_of(paid());
  stray.report.ns = "nowhere";
  EXPECT_EQ(stored_reports(stray), 1U);
  EXPECT_EQ(stored_reports({{.task = numbered_id(99), .what = TaskHeartbeat()}}), 1U);
  EXPECT_EQ(stored_reports(report_of(TaskHeartbeat())), 1U);
  EXPECT_EQ(stored_reports(report_of(paid())), 1U);
  EXPECT_EQ(stored_reports(report_of(paid())), 1U) << "a late report is confirmed";
  take(report_of(paid()));
  EXPECT_THAT(actions_of<StoredReport>(outcome), IsEmpty())
      << "this source asks for no confirmation";
}

TEST_F(TaskInputsTest, MeasureTheStartOfATaskOnceAtItsFirstReport) {
  call(kPaysInTime);
  clock.advance(seconds(3));
  take(report_of(TaskHeartbeat()));
  EXPECT_THAT(outcome.counts.started_after, ElementsAre(Duration(seconds(3))));
  EXPECT_TRUE(started.contains(task));
  EXPECT_FALSE(has_started());
  take(report_of(TaskStarted()));
  EXPECT_THAT(outcome.counts.started_after, IsEmpty()) << "the start was measured before";
  EXPECT_TRUE(has_started());
}

TEST_F(TaskInputsTest, WriteTheOutputOfATaskToTheHistory) {
  call();
  take(report_of(TaskOutput{"hello"}));
  const auto history = read_history(*tx, stored());
  ASSERT_TRUE(history);
  EXPECT_EQ(history->back().kind, HistoryKind::kOutput);
  EXPECT_EQ(history->back().detail.value()["text"], "hello");
}

TEST_F(TaskInputsTest, RejectAResultAfterADeadlineOfTheCaller) {
  call();
  now += hours(2);
  take(report_of(paid()));
  EXPECT_EQ(error_code(), "direktiv.stateTimeout");
  EXPECT_FALSE(receipt());
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
  EXPECT_THAT(actions_of<EndedTask>(outcome), IsEmpty());
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
}

TEST_F(TaskInputsTest, AcceptAResultWhileTheRunnerChecksWhetherAWorkerHasTheTask) {
  call(kPaysInTime);
  now += seconds(11);
  const TimePoint deadline = now - seconds(1);
  ASSERT_TRUE(tasks.awaits_start_check(task, deadline));
  take(report_of(paid()));
  EXPECT_EQ(status_of(id), "complete");

  now -= seconds(11);
  call(kPaysInTime);
  now += seconds(11);
  ASSERT_TRUE(tasks.awaits_start_check(task, now - seconds(1)));
  tasks.start_checked(task);
  take(report_of(paid()));
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart")
      << "no worker started the task in time";
}

TEST_F(TaskInputsTest, FireADueScheduleToStartTimeoutIfTheTaskIsReportedAsNotStarted) {
  call(kPaysInTime);
  now += seconds(9);
  take(report_of(TaskNotStarted()));
  EXPECT_EQ(status_of(id), "waiting") << "the timeout is not due yet";
  now += seconds(1);
  ASSERT_TRUE(tasks.awaits_start_check(task, now));
  take(report_of(TaskNotStarted()));
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart");
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(TaskInputsTest, EndACallWhoseTaskMissedItsHeartbeat) {
  call(kPaysInTime);
  take(report_of(TaskStarted()));
  take(MissedHeartbeatInput{numbered_id(99)});
  EXPECT_EQ(status_of(id), "waiting");
  take(MissedHeartbeatInput{task});
  EXPECT_EQ(error_code(), "millrace.timeout.heartbeat");
  detach();
  take(MissedHeartbeatInput{task});
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "the row stays, because no call waits for the task";
}

TEST_F(TaskInputsTest, StoreTheVariablesOfATaskWithoutAWaitingCaller) {
  for (const bool sealed : {false, true}) {
    detach(sealed);
    take(report_of(TaskStarted()));
    EXPECT_THAT(outcome.actions, IsEmpty());
    take(report_of(paid()));
    EXPECT_EQ(receipt()->bytes, "r");
    EXPECT_EQ(receipt()->sealed, sealed);
    EXPECT_EQ(rows_of(Table::kTasks), 0U);
  }
}

TEST_F(TaskInputsTest, IgnoreAReportOfATaskOfADeletedNamespace) {
  detach();
  catalog.remove_namespace(*tx, ns);
  take(report_of(paid()));
  EXPECT_THAT(outcome.actions, IsEmpty());
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "the row stays until a purge erases it";
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(TaskInputsTest, HaveTheirEffectOnceDespiteFailedReads) {
  call(kPaysInTime);
  const auto survive = [&](const auto& input) {
    const auto before = rows();
    return fail_each_read([&] { return try_take(input); },
                          [&] {
                            lose_batch();
                            EXPECT_EQ(rows(), before);
                          });
  };
  EXPECT_GE(survive(report_of(TaskStarted())), 1U);
  EXPECT_TRUE(has_started());
  EXPECT_GE(survive(report_of(TaskOutput{"hello"})), 1U);
  EXPECT_GE(survive(report_of(paid())), 1U);
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(receipt()->bytes, "r");
  call(kPaysInTime);
  EXPECT_GE(survive(MissedHeartbeatInput{task}), 1U);
  EXPECT_EQ(error_code(), "millrace.timeout.heartbeat");
}

TEST_F(TaskInputsTest, FireATimeoutOnceDespiteFailedReads) {
  call(kPaysInTime);
  runner.can_look = false;
  now += seconds(10);
  EXPECT_GE(
      fail_each_read([&] { return try_take(report_of(TaskNotStarted())); }, [&] { lose_batch(); }),
      1U);
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart");
}

}  // namespace
}  // namespace millrace
