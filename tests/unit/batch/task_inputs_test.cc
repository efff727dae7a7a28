// TaskInputs: what is made of each thing that is told of a task, and what is late, double or
// somebody else's.
#include "orchestrator/batch/task_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/batch/draft_fixture.h"

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

class TaskInputsTest : public DraftTest {
 protected:
  /// An instance waits for its call, whose task has been handed out.
  void call(const std::string& text = kPaysInTwoHours) {
    id = start(define(text));
    commit_draft();
    task = actions_of<StartTask>(outcome).at(0).task;
    tasks.hand_out(actions_of<StartTask>(outcome)[0]);
  }
  /// A task that nobody waits for, of an instance that has ended.
  void detach(bool sealed = false) {
    task = numbered_id(77);
    draft.tasks.begin(*tx, {.space = space,
                            .task = task,
                            .by = numbered_id(76),
                            .workflow = WorkflowNumber(1),
                            .runs = NamedService{.name = "charge"},
                            .sealed = sealed});
    commit_draft();
  }
  template <class Input>
  Status try_take(const Input& input) {
    TRY(inputs.take(now, input));
    return try_commit_draft();
  }
  template <class Input>
  void take(const Input& input) {
    const Status done = try_take(input);
    ASSERT_TRUE(done) << done.error().message;
  }
  TaskInput told(decltype(TaskReport::what) what) const {
    return {{.task = task, .what = std::move(what)}};
  }
  static TaskEnded paid() {
    return {.result = "7",
            .variables = {
                {.scope = VariableScope::kNamespace, .key = "receipt", .value = {.bytes = "r"}}}};
  }
  std::optional<Variable> receipt() {
    const VariableOwner owner = owner_of(space, {}, {}, VariableScope::kNamespace);
    return read_variable(*tx, {owner, "receipt"}).value();
  }
  Instance stored() { return read_instance(*tx, space, id).value().value(); }
  std::string error_code() { return stored().error ? stored().error->code : "none"; }
  bool has_begun() { return read_living(*tx, space, id).value()->calls.at(0).begun; }

  FanOuts fan_outs{draft, instances};
  Groups groups{draft, instances};
  Schedules schedules{draft, instances};
  TimerInputs timers{draft, instances, fan_outs, groups, schedules};
  TaskInputs inputs{draft, instances, timers};
  InstanceId id;    ///< the caller
  InstanceId task;  ///< of its call
};

TEST_F(TaskInputsTest, EndATaskOnceWithWhatItLeaves) {
  call();
  take(told(paid()));
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(stored().data.value(), (Json{{"return", 7}}));
  EXPECT_EQ(receipt()->bytes, "r");
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
  EXPECT_THAT(actions_of<EndedTask>(outcome), SizeIs(1));
  erase_variable(*tx, {owner_of(space, {}, {}, VariableScope::kNamespace), "receipt"});
  take(told(paid()));
  EXPECT_FALSE(receipt()) << "it is told again, which is late";
  EXPECT_THAT(outcome.actions, IsEmpty());
}

TEST_F(TaskInputsTest, ReadAnAnswerAsJsonOrAsBytesOrAsNothing) {
  const struct {
    std::string answer;
    Json result;
  } cases[] = {{R"({"a": [1]})", Json::parse(R"({"a": [1]})")},
               {"", nullptr},
               {"no JSON", "bm8gSlNPTg=="},
               {std::string("\0\xff", 2), "AP8="}};
  for (const auto& [answer, result] : cases) {
    call();
    take(told(TaskEnded{.result = answer}));
    EXPECT_EQ(stored().data.value().at("return"), result);
  }
}

TEST_F(TaskInputsTest, RaiseTheErrorOfATaskThatHasFailed) {
  call();
  take(told(TaskEnded{.result = fail("card.declined", "no money")}));
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_EQ(error_code(), "card.declined");
  EXPECT_THAT(actions_of<EndedTask>(outcome), SizeIs(1));
}

TEST_F(TaskInputsTest, CountOnlyWhatIsToldForTheNamespaceOfTheTask) {
  create_namespace("shop");
  call();
  for (const char* const other : {"shop", "nowhere", ""}) {
    TaskInput input = told(paid());
    input.report.space = other;
    take(input);
    EXPECT_EQ(outcome.counts.answers_stray, 1U) << other;
    EXPECT_EQ(status_of(id), "waiting") << other;
    EXPECT_FALSE(receipt()) << other;
  }
  TaskInput input = told(paid());
  input.report.space = "default";
  take(input);
  EXPECT_EQ(outcome.counts.answers_stray, 0U);
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TaskInputsTest, HaveEachSourceToldThatItsReportIsStoredOrOfNoUse) {
  call();
  const auto stored_reports = [&](TaskInput input) {
    input.stored = [] {};
    take(input);
    return actions_of<StoredReport>(outcome).size();
  };
  TaskInput stray = told(paid());
  stray.report.space = "nowhere";
  EXPECT_EQ(stored_reports(stray), 1U);
  EXPECT_EQ(stored_reports({{.task = numbered_id(99), .what = TaskAlive()}}), 1U);
  EXPECT_EQ(stored_reports(told(TaskAlive())), 1U);
  EXPECT_EQ(stored_reports(told(paid())), 1U);
  EXPECT_EQ(stored_reports(told(paid())), 1U) << "it is late";
  take(told(paid()));
  EXPECT_THAT(actions_of<StoredReport>(outcome), IsEmpty()) << "nobody asked";
}

TEST_F(TaskInputsTest, NoteThatSomebodyHasBegunAndStepNobodyForASignOfLife) {
  call(kPaysInTime);
  clock.advance(seconds(3));
  take(told(TaskAlive()));
  EXPECT_THAT(outcome.counts.begun_after, ElementsAre(Duration(seconds(3))));
  EXPECT_TRUE(begun.contains(task));
  EXPECT_FALSE(has_begun());
  take(told(TaskStarted()));
  EXPECT_THAT(outcome.counts.begun_after, IsEmpty()) << "it was measured";
  EXPECT_TRUE(has_begun());
}

TEST_F(TaskInputsTest, PutWhatIsPrintedIntoTheHistory) {
  call();
  take(told(TaskOutput{"hello"}));
  const auto history = read_history(*tx, stored());
  ASSERT_TRUE(history);
  EXPECT_EQ(history->back().kind, HistoryKind::kOutput);
  EXPECT_EQ(history->back().detail.value()["text"], "hello");
}

TEST_F(TaskInputsTest, TakeNothingOfAnAnswerPastADeadlineOfItsCaller) {
  call();
  now += hours(2);
  take(told(paid()));
  EXPECT_EQ(error_code(), "direktiv.stateTimeout");
  EXPECT_FALSE(receipt());
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
  EXPECT_THAT(actions_of<EndedTask>(outcome), IsEmpty());
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
}

TEST_F(TaskInputsTest, TakeAnAnswerThatComesWhileTheRunnerLooksAsOneOfWhoHadBegun) {
  call(kPaysInTime);
  now += seconds(11);
  const TimePoint deadline = now - seconds(1);
  ASSERT_TRUE(tasks.awaits_look(task, deadline));
  take(told(paid()));
  EXPECT_EQ(status_of(id), "complete");

  now -= seconds(11);
  call(kPaysInTime);
  now += seconds(11);
  ASSERT_TRUE(tasks.awaits_look(task, now - seconds(1)));
  tasks.looked(task);
  take(told(paid()));
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart") << "nobody had it in time";
}

TEST_F(TaskInputsTest, FireTheTimeoutThatWaitedForTheRunnerToSayThatNobodyHasBegun) {
  call(kPaysInTime);
  now += seconds(9);
  take(told(TaskUnbegun()));
  EXPECT_EQ(status_of(id), "waiting") << "it is not due yet";
  now += seconds(1);
  ASSERT_TRUE(tasks.awaits_look(task, now));
  take(told(TaskUnbegun()));
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart");
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(TaskInputsTest, EndTheCallOfATaskThatIsSilent) {
  call(kPaysInTime);
  take(told(TaskStarted()));
  take(SilenceInput{numbered_id(99)});
  EXPECT_EQ(status_of(id), "waiting");
  take(SilenceInput{task});
  EXPECT_EQ(error_code(), "millrace.timeout.heartbeat");
  detach();
  take(SilenceInput{task});
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "nobody waits for it";
}

TEST_F(TaskInputsTest, StoreTheVariablesOfATaskThatNobodyWaitsFor) {
  for (const bool sealed : {false, true}) {
    detach(sealed);
    take(told(TaskStarted()));
    EXPECT_THAT(outcome.actions, IsEmpty());
    take(told(paid()));
    EXPECT_EQ(receipt()->bytes, "r");
    EXPECT_EQ(receipt()->sealed, sealed);
    EXPECT_EQ(rows_of(Table::kTasks), 0U);
  }
}

TEST_F(TaskInputsTest, TakeNothingOfATaskWhoseNamespaceWasDeleted) {
  detach();
  catalog.remove_namespace(*tx, space);
  take(told(paid()));
  EXPECT_THAT(outcome.actions, IsEmpty());
  EXPECT_EQ(rows_of(Table::kTasks), 1U) << "a purge ends it";
  EXPECT_EQ(rows_of(Table::kVariables), 0U);
}

TEST_F(TaskInputsTest, HaveTheirEffectOnceThoughReadsFailBefore) {
  call(kPaysInTime);
  const auto survive = [&](const auto& input) {
    const auto before = rows();
    return fail_each_read([&] { return try_take(input); },
                          [&] {
                            lose_draft();
                            EXPECT_EQ(rows(), before);
                          });
  };
  EXPECT_GE(survive(told(TaskStarted())), 1U);
  EXPECT_TRUE(has_begun());
  EXPECT_GE(survive(told(TaskOutput{"hello"})), 1U);
  EXPECT_GE(survive(told(paid())), 1U);
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(receipt()->bytes, "r");
  call(kPaysInTime);
  EXPECT_GE(survive(SilenceInput{task}), 1U);
  EXPECT_EQ(error_code(), "millrace.timeout.heartbeat");
}

TEST_F(TaskInputsTest, FireTheTimeoutOnceThoughReadsFailBefore) {
  call(kPaysInTime);
  runner.can_look = false;
  now += seconds(10);
  EXPECT_GE(fail_each_read([&] { return try_take(told(TaskUnbegun())); }, [&] { lose_draft(); }),
            1U);
  EXPECT_EQ(error_code(), "millrace.timeout.scheduleToStart");
}

}  // namespace
}  // namespace millrace
