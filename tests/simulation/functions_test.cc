// Calls of functions: tasks that are handed out, answered, timed out, stopped and handed out again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/charge_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

constexpr std::string_view kRetryTwice = ", retries: {max_attempts: 2, delay: PT10S, codes: ['*']}";

TEST(FunctionCall, HandsOutATaskWithItsInputAndTarget) {
  World world;
  world.apply(order());
  const std::string id = world.start_order({{"amount", 7}});
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  const Task& task = world.functions.tasks()[0];
  EXPECT_EQ(task.ns, "default");
  EXPECT_EQ(to_string(task.instance), id);
  EXPECT_EQ(task.state, "pay");
  EXPECT_EQ(task.function, "charge");
  EXPECT_EQ(task.attempt, 1u);
  EXPECT_EQ(task.input, R"({"amount":7})");
  EXPECT_EQ(task.target, TaskTarget(WorkQueue{"millrace.tasks.default.charge"}));
  EXPECT_EQ(world.instance(id)["calls"][0]["task"], to_string(task.id));
}

/// The id of the first task in a world whose id key is `key`.
InstanceId first_task(const std::string& key) {
  World world({.id_key = key});
  world.apply(order());
  world.start_order();
  return world.functions.tasks()[0].id;
}

TEST(FunctionCall, DerivesTaskIdsFromASecretKey) {
  const InstanceId one = first_task("one");
  EXPECT_EQ(one, first_task("one")) << "the same key and the same call give the same id";
  for (const std::string other : {"two", ""}) {
    const InstanceId task = first_task(other);
    EXPECT_TRUE(std::equal(one.bytes.begin(), one.bytes.begin() + 8, task.bytes.begin()))
        << "ids sort by time and by the index of their call";
    EXPECT_FALSE(std::equal(one.bytes.begin() + 8, one.bytes.end(), task.bytes.begin() + 8));
  }
}

TEST(FunctionCall, ReturnsTheResultOfItsTask) {
  World world;
  world.apply(order());
  const std::string id = world.start_order();
  world.functions.answer(world.functions.tasks()[0].id, {{"paid", true}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"], Json::parse(R"({"return": {"paid": true}})"));
  EXPECT_THAT(world.history(id), ElementsAre("started", "entered pay", "called pay", "returned pay",
                                             "entered ship", "ended ship"));
  EXPECT_EQ(world.rows_of("tasks"), 0u);
}

TEST(FunctionCall, ReturnsAResultAsBase64IfItIsNotJson) {
  World world;
  world.apply(order());
  const std::string id = world.start_order();
  world.functions.report({world.functions.tasks()[0].id, TaskEnded{.result = "hello\n"}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"]["return"], "aGVsbG8K");
}

TEST(FunctionCall, IgnoresASecondAnswerAndAnAnswerToAnUnknownTask) {
  World world;
  world.apply(order());
  const std::string id = world.start_order();
  const InstanceId task = world.functions.tasks()[0].id;
  int stored = 0;
  for (const int n : {1, 2}) {
    world.intake().report({task, TaskEnded{.result = std::to_string(n)}}, [&] { ++stored; });
  }
  world.intake().report({InstanceId{}, TaskEnded{.result = "3"}}, [&] { ++stored; });
  EXPECT_EQ(stored, 0);
  world.run_until_idle();
  EXPECT_EQ(stored, 3);
  EXPECT_EQ(world.instance(id)["output"]["return"], 1);
}

TEST(FunctionCall, IgnoresAnAnswerOfAnotherNamespace) {
  World world;
  world.apply(order());
  const std::string id = world.start_order();
  const InstanceId task = world.functions.tasks()[0].id;
  const auto answer = [&](std::string ns, std::string result) {
    world.functions.report(
        {.task = task, .what = TaskEnded{.result = std::move(result)}, .ns = std::move(ns)});
    world.run_until_idle();
  };
  answer("evil", R"("forged")");
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  EXPECT_EQ(world.metric("millrace_answers_stray_total"), 1);
  answer("default", R"("mine")");
  EXPECT_EQ(world.instance(id)["output"]["return"], "mine");
  answer("default", R"("late")");
  EXPECT_EQ(world.metric("millrace_answers_stray_total"), 1);
}

TEST(FunctionCall, HandsOutAnOpenTaskAgainUnderItsIdAfterACrash) {
  World world;
  world.apply(order());
  const std::string id = world.start_order();
  const InstanceId task = world.functions.tasks()[0].id;
  world.crash();
  world.functions.be_replaced();
  world.recover();
  world.run_until_idle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.functions.tasks()[0].id, task);
  EXPECT_EQ(world.functions.tasks()[0].input, "{}");
  world.functions.answer(task, 1);
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["status"], "complete");
}

TEST(FunctionCall, RetriesAFailedAttemptUnderAnotherTaskId) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  fail(world, world.functions.tasks()[0].id, "card.declined");
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
  world.run_for(seconds(10));
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  EXPECT_EQ(world.functions.tasks()[1].attempt, 2u);
  EXPECT_NE(world.functions.tasks()[1].id, world.functions.tasks()[0].id);
  // The result of the first task comes late.
  world.functions.answer(world.functions.tasks()[0].id, "late");
  world.functions.answer(world.functions.tasks()[1].id, "in time");
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"]["return"], "in time");
}

TEST(FunctionCall, GivesTheProgressOfAHeartbeatToTheNextAttemptAlsoAfterACrash) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  const Task first = world.functions.tasks()[0];
  EXPECT_EQ(first.progress, "");
  const size_t records = world.history(id).size();
  for (const char* const progress : {R"({"done":3})", R"({"done":4})"}) {
    world.must(AnswerTask{.ns = "default", .task = first.id, .what = TaskHeartbeat{progress}});
  }
  EXPECT_EQ(world.history(id).size(), records);
  EXPECT_EQ(world.instance(id)["calls"][0]["progress"], (Json{{"done", 4}}));
  world.must(AnswerTask{.ns = "default", .task = first.id, .what = TaskHeartbeat{}});
  world.crash();
  world.recover();
  fail(world, first.id, "card.declined");
  world.run_for(seconds(10));
  const Task second = world.functions.tasks().back();
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_EQ(second.progress, R"({"done":4})");
}

/// The details of the records `returned` of an instance.
Json returned_details(World& world, const std::string& id) {
  Json details = Json::array();
  const Json records = world.history_items(id);
  for (const Json& record : records) {
    if (record["kind"] == "returned") details.push_back(record["detail"]);
  }
  return details;
}

TEST(FunctionCall, SaysInTheHistoryWhichWayAnAnswerCameThatWasNotTheRunners) {
  using enum AnsweredBy;
  for (const AnsweredBy by : {kRunner, kHttpCallback, kNatsCallback, kOperator}) {
    World world;
    world.apply(order());
    const std::string id = world.start_order();
    const InstanceId task = world.functions.tasks()[0].id;
    Json expected{{"attempt", 1}, {"index", 0}, {"task", to_string(task)}};
    if (by == kRunner) {
      world.functions.answer(task, 7);
    } else {
      expected["by"] = to_string(by);
      world.functions.report({task, TaskAccepted{}});
      world.run_until_idle();
      world.must(
          AnswerTask{.ns = "default", .task = task, .what = TaskEnded{.result = "7"}, .by = by});
    }
    world.run_until_idle();
    EXPECT_EQ(returned_details(world, id), Json::array({expected}));
    EXPECT_EQ(world.instance(id)["output"]["return"], 7);
  }
}

TEST(FunctionCall, SaysInTheHistoryThatAnOperatorFailedItAndEndedItForACancelledInstance) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  const auto answer = [&](TaskEnded ended) {
    const InstanceId task = world.functions.tasks().back().id;
    world.functions.report({task, TaskAccepted{}});
    world.run_until_idle();
    world.must(AnswerTask{
        .ns = "default", .task = task, .what = std::move(ended), .by = AnsweredBy::kOperator});
    return to_string(task);
  };
  const std::string first = answer({.result = tl::unexpected(Error{"declined", "no"})});
  world.run_for(seconds(10));
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(id)});
  const std::string second = answer({.result = "7"});
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(
      returned_details(world, id),
      Json::array({Json{{"attempt", 1},
                        {"by", "operator"},
                        {"code", "declined"},
                        {"index", 0},
                        {"msg", "no"},
                        {"task", first}},
                   Json{{"attempt", 2}, {"by", "operator"}, {"index", 0}, {"task", second}}}));
}

/// Reports that the service is busy, with a Retry-After.
void refuse(World& world, const InstanceId& task, Duration retry_after) {
  TaskEnded ended{.result = tl::unexpected(Error{"busy", "no"})};
  ended.retry_after = retry_after;
  world.functions.report({task, std::move(ended)});
  world.run_until_idle();
}

TEST(FunctionCall, DelaysTheNextAttemptByRetryAfterOrByALongerWaitOfThePolicy) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  refuse(world, world.functions.tasks()[0].id, seconds(60));
  world.run_for(seconds(30));
  world.restart();
  world.run_for(milliseconds(29'999));
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
  world.run_for(milliseconds(1));
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  refuse(world, world.functions.tasks()[1].id, seconds(1));
  world.run_for(milliseconds(9'999));
  EXPECT_THAT(world.functions.tasks(), SizeIs(2)) << "the wait of the policy is longer";
  world.run_for(milliseconds(1));
  EXPECT_THAT(world.functions.tasks(), SizeIs(3));
}

TEST(FunctionCall, TimesOutByScheduleToCloseDuringRetryAfter) {
  World world;
  world.apply(
      order(", scheduleToCloseTimeout: 1m, retries: {maximumAttempts: 0, initialInterval: 1s}"));
  const std::string id = world.start_order();
  refuse(world, world.functions.tasks()[0].id, hours(24));
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.scheduleToClose");
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
}

TEST(FunctionCall, HandsOutAStartedTaskAfterACrashWithTheDeadlineOfItsAttempt) {
  World world;
  world.functions.act("charge", {{.takes = std::nullopt}});
  world.apply(order(", startToCloseTimeout: 10m"));
  world.start_order();
  EXPECT_EQ(world.functions.tasks()[0].start_to_close, std::chrono::minutes(10));
  EXPECT_FALSE(world.functions.tasks()[0].deadline);
  const TimePoint end = world.clock.now() + std::chrono::minutes(10);
  world.run_for(seconds(60));
  world.crash();
  world.functions.be_replaced();
  world.recover();
  world.run_until_idle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.functions.tasks()[0].deadline, end);
}

TEST(FunctionCall, StopsItsTaskWhenTheStateTimesOut) {
  World world;
  world.apply(
      order("", "  timeout: PT1M\n  catch: [{error: direktiv.stateTimeout, transition: ship}]\n"));
  const std::string id = world.start_order();
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(id)["status"], "complete");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(world.functions.tasks()[0].id));
  EXPECT_EQ(world.rows_of("tasks"), 0u);
}

TEST(FunctionCall, ErasesADetachedTaskWhenItEnds) {
  World world;
  world.apply(order("", "  async: true\n"));
  const std::string id = world.start_order();
  EXPECT_EQ(world.instance(id)["status"], "complete");
  EXPECT_EQ(world.rows_of("tasks"), 1u);
  world.restart();
  world.functions.answer(world.functions.tasks()[0].id, 1);
  world.run_until_idle();
  EXPECT_EQ(world.rows_of("tasks"), 0u);
}

TEST(FunctionCall, StoresTheVariablesOfItsTaskTogetherWithTheResult) {
  World world;
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}, transition: look}
- id: look
  type: getter
  variables: [{key: receipt, scope: workflow}, {key: mine}]
)");
  const std::string id = world.start_order();
  TaskEnded ended{.result = "{}"};
  ended.variables.push_back({VariableScope::kWorkflow, "receipt", {"application/json", "17"}});
  ended.variables.push_back({VariableScope::kInstance, "mine", {"application/json", "\"x\""}});
  world.functions.report({world.functions.tasks()[0].id, ended});
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"]["var"], Json::parse(R"({"receipt": 17, "mine": "x"})"));
}

TEST(FunctionCall, ShowsItsStatusDeadlineAndNextRetry) {
  World world;
  world.functions.act("charge", {{.begins = seconds(5), .takes = std::nullopt}});
  world.apply(
      order(", scheduleToStartTimeout: 10s, startToCloseTimeout: 1m, retries: "
            "{maximumAttempts: 3, initialInterval: 30s}"));
  const TimePoint from = world.clock.now();
  const std::string id = world.start_order();
  Json shown = world.instance(id);
  EXPECT_EQ(shown["attempt"], 1);
  EXPECT_EQ(shown["deadline"], format_rfc3339(from + seconds(10)));
  EXPECT_EQ(shown["calls"][0]["status"], "scheduled") << "no worker has taken it";
  world.run_for(seconds(5));
  shown = world.instance(id);
  EXPECT_EQ(shown["calls"][0]["status"], "running");
  EXPECT_EQ(shown["deadline"], format_rfc3339(from + seconds(65)));
  fail(world, world.functions.tasks()[0].id, "down");
  shown = world.instance(id);
  EXPECT_EQ(shown["nextRetryAt"], format_rfc3339(from + seconds(35)));
  EXPECT_FALSE(shown.contains("deadline"));
  world.run_for(seconds(30));
  EXPECT_EQ(world.instance(id)["attempt"], 2);
}

TEST(FunctionCall, ShowsItsLastErrorUntilItSucceeds) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  EXPECT_FALSE(world.instance(id)["calls"][0].contains("lastError"));
  const std::string at = format_rfc3339(world.clock.now());
  fail(world, world.functions.tasks()[0].id, "down");
  world.restart();
  Json call = world.instance(id)["calls"][0];
  EXPECT_EQ(call["status"], "retrying");
  EXPECT_EQ(call["lastError"], (Json{{"code", "down"}, {"message", "no"}, {"at", at}}));
  world.run_for(seconds(10));
  call = world.instance(id)["calls"][0];
  EXPECT_EQ(call["status"], "scheduled");
  EXPECT_EQ(call["lastError"]["code"], "down") << "the error is shown until the call succeeds";
}

TEST(FunctionCall, TruncatesItsLastErrorToOneKibibyte) {
  World world;
  world.apply(order(kRetryTwice));
  const std::string id = world.start_order();
  world.functions.report(
      {world.functions.tasks()[0].id,
       TaskEnded{.result = tl::unexpected(Error{"down", std::string(5'000, 'x')})}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["calls"][0]["lastError"]["message"],
            std::string(kMostCallFailureBytes, 'x') + "...");
}

TEST(FunctionCall, MeasuresHowLongItsTaskWaitsForAWorker) {
  World world;
  world.functions.act("charge", {{.begins = seconds(3), .takes = std::nullopt}});
  world.apply(order());
  world.start_order();
  world.run_for(seconds(3));
  EXPECT_EQ(world.metric("millrace_tasks"), 1);
  EXPECT_EQ(world.metric("millrace_function_schedule_to_start_seconds_sum"), 3);
}

TEST(Foreach, RunsAtMostSixteenTasksAtOnceByDefault) {
  World world;
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: each, type: foreach, array: jq(.items), action: {function: charge}}
)");
  Json items = Json::array();
  for (int i = 0; i < 40; ++i) items.push_back(Json{{"n", i}});
  const std::string id = world.start_order({{"items", items}});
  EXPECT_THAT(world.functions.tasks(), SizeIs(16));
  for (size_t i = 0; i < 40; ++i) {
    world.functions.answer(world.functions.tasks()[i].id, i);
    world.run_until_idle();
  }
  EXPECT_EQ(world.instance(id)["output"]["return"][39], 39);
}

}  // namespace
}  // namespace millrace
