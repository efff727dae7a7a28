// Next runs: an instance ends its run by `continueAsNew` and begins the next one, through the whole
// engine. The store check at the end of each process compares the heads with the rows that are
// left.
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Le;
using testing::SizeIs;

InstanceId parsed_id(const std::string& id) { return *parse_instance_id(id); }

/// Each event `go` begins the next run, with the sum of the data of all events so far.
constexpr const char* kSums = R"(
id: order
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  transform: 'jq({sum: (.sum + .go), last: .go})'
  continueAsNew: 'jq({sum: .sum, last: .last})'
)";

class NextRuns : public testing::Test {
 protected:
  void go(const Json& data = 1) {
    world.publish("go", fmt::format("go-{}", ++gone_), data);
    world.run_until_idle();
  }
  void fail_task() {
    world.functions.report({world.functions.tasks().back().id,
                            TaskEnded{.result = tl::unexpected(Error{"down", "no"})}});
    world.run_until_idle();
  }

  World world;
  int gone_ = 0;
};

TEST_F(NextRuns, TakesTheResultOfTheQueryAsItsInput) {
  const std::string id = world.apply_order(kSums, {{"sum", 1}});
  EXPECT_EQ(world.instance(id)["run"], 1);
  go(2);
  const Json after = world.instance(id);
  EXPECT_EQ(after["status"], "waiting");
  EXPECT_EQ(after["state"], "wait");
  EXPECT_EQ(after["run"], 2);
  EXPECT_EQ(after["input"], (Json{{"sum", 3}, {"last", 2}}));
  EXPECT_EQ(after["data"], after["input"]);
  EXPECT_EQ(after["transitions"], 0);
  world.restart();
  go(4);
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"sum", 7}, {"last", 4}}));
  EXPECT_EQ(world.metric("millrace_runs_continued_total"), 1) << "since the restart";
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST_F(NextRuns, HasOneRecordOfTheRunBefore) {
  const std::string id = world.apply_order(kSums, {{"sum", 1}});
  for (int i = 1; i <= 3; ++i) {
    go();
    EXPECT_THAT(world.history(id), ElementsAre("continued", "entered wait"));
    const Json items = world.history_items(id);
    EXPECT_EQ(items[0]["detail"], (Json{{"run", i}, {"revision", 1}, {"nextRevision", 1}}));
    // The first run has the records `started`, `entered` and `woken`, each further one `continued`
    // in place of `started`.
    EXPECT_EQ(items[0]["number"], 3 * i + 1);
    EXPECT_EQ(world.instance(id)["historyTrimmed"], 3 * i);
    EXPECT_THAT(world.rows_of("history"), 2U);
  }
}

TEST_F(NextRuns, BeginsInTheStartStateOfTheNewestRevision) {
  const std::string id = world.apply_order(kSums, {{"sum", 1}});
  const Answered end = world.wait_for_end(id, hours(1));
  world.apply(R"(
id: order
start: {type: default, state: second}
states:
- {id: first, type: noop, transition: second}
- {id: second, type: consumeEvent, event: {type: stop}}
)");
  EXPECT_EQ(world.instance(id)["revision"], 1) << "a run keeps its revision";
  go(2);
  EXPECT_EQ(world.instance(id)["revision"], 2);
  EXPECT_EQ(world.instance(id)["state"], "second");
  EXPECT_EQ(world.history_items(id)[0]["detail"],
            (Json{{"run", 1}, {"revision", 1}, {"nextRevision", 2}}));
  EXPECT_FALSE(end->has_value()) << "the wait follows the instance from run to run";
  world.restart();
  world.publish("stop", "stop");
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
}

TEST_F(NextRuns, MissesNoEventThatCameBetweenTwoRuns) {
  const std::string id = world.apply_order(kSums, {{"sum", 0}});
  for (const int data : {1, 2, 4, 8, 16}) world.publish("go", fmt::format("e-{}", data), data);
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["run"], 6);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"sum", 31}, {"last", 16}}));
}

TEST_F(NextRuns, GetsTheEventsThatCameWhileItsInputWasEvaluated) {
  world.evaluator.define("first({n: .n})", [](const Json& data) -> QueryResult {
    return Json{{"n", data["n"]}};
  });
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: go}, continueAsNew: 'jq(first({n: .n}))'}
)",
                                           {{"n", 5}});
  world.evaluator.hold();
  go();
  go();
  EXPECT_EQ(world.instance(id)["run"], 1);
  world.restart();
  world.run_until_idle();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"n", 5}}));
}

TEST_F(NextRuns, ComesExactlyOnceAlthoughTheProcessDiesAtEachCommit) {
  const std::string id = world.apply_order(kSums, {{"sum", 0}});
  constexpr int kRunsBefore = 12;
  int number = 0;
  for (int i = 0; i < kRunsBefore; ++i) {
    world.publish("go", fmt::format("e-{}", i), 1);
    for (int steps = 0; steps < 20 && world.step(); ++steps) world.restart_at(number++);
    world.run_until_idle();
  }
  EXPECT_GT(number, kRunsBefore);
  EXPECT_EQ(world.instance(id)["run"], kRunsBefore + 1);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"sum", kRunsBefore}, {"last", 1}}));
  EXPECT_THAT(world.history(id), ElementsAre("continued", "entered wait"));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

TEST_F(NextRuns, LeavesRowsAndBytesFlatOverTwoThousandRounds) {
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: rest, type: delay, duration: PT1S, continueAsNew: 'jq({round: (.round + 1)})'}
)",
                                           {{"round", 0}});
  world.run_for(seconds(100));
  ASSERT_EQ(world.instance(id)["input"], (Json{{"round", 100}}));
  const size_t rows = world.rows().size();
  const uint64_t bytes = world.stored_bytes();
  world.run_for(seconds(1'900));
  EXPECT_EQ(world.instance(id)["input"], (Json{{"round", 2'000}}));
  EXPECT_EQ(world.instance(id)["run"], 2'001);
  EXPECT_EQ(world.rows().size(), rows);
  EXPECT_THAT(world.rows_of("history"), 2U);
  constexpr uint64_t kForLongerNumbers = 200;
  EXPECT_THAT(world.stored_bytes(), Le(bytes + kForLongerNumbers));
}

TEST_F(NextRuns, LeavesALongHistoryToAPurgeThatARestartMayInterrupt) {
  const std::string id = world.apply_order(R"(
id: order
states:
- id: wait
  type: eventXor
  events:
  - {event: {type: go}, transition: wait}
  - {event: {type: next}, continueAsNew: {}}
)");
  for (int i = 0; i < 300; ++i) go();
  ASSERT_GT(world.rows_of("history"), 250U);
  world.publish("next", "next");
  int restarts = 0;
  for (int steps = 0; steps < 50 && world.step(); ++steps) {
    if (!is_purging(world)) continue;
    world.restart();
    ++restarts;
  }
  world.run_until_idle();
  EXPECT_GE(restarts, 1);
  EXPECT_FALSE(is_purging(world));
  EXPECT_THAT(world.history(id), ElementsAre("continued", "entered wait"));
  EXPECT_THAT(world.rows_of("history"), 2U);
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

// What is kept, and what begins again.

TEST_F(NextRuns, GoesOnWithTheExecutionTimeoutAndBeginsTheRunTimeoutAgain) {
  const std::string id = world.apply_order(R"(
id: order
workflowExecutionTimeout: PT10S
workflowRunTimeout: PT5S
states:
- {id: rest, type: delay, duration: PT3S, continueAsNew: {}}
)");
  world.run_for(seconds(9));
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_EQ(world.instance(id)["run"], 4);
  world.restart();
  world.run_for(seconds(2));
  EXPECT_EQ(world.status(id), "timedout");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.execution");
}

TEST_F(NextRuns, KeepsTheVariablesOfTheInstance) {
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: read, type: getter, variables: [{key: n}], transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}, transition: write}
- {id: write, type: setter, variables: [{key: n, value: jq(.go)}], continueAsNew: {}}
)");
  EXPECT_EQ(world.instance(id)["data"], (Json{{"var", {{"n", nullptr}}}}));
  go(7);
  EXPECT_EQ(world.instance(id)["data"], (Json{{"var", {{"n", 7}}}}));
  EXPECT_EQ(world.instance(id)["input"], Json::object());
}

TEST_F(NextRuns, KeepsTheIdempotencyKey) {
  world.apply(kSums);
  const Json started = world.start("order", {{"sum", 0}}, "key");
  go();
  const Json again = world.start("order", {{"sum", 0}}, "key");
  EXPECT_EQ(again["id"], started["id"]);
  EXPECT_EQ(again["created"], false);
  EXPECT_EQ(world.instance(started["id"])["key"], "key");
}

TEST_F(NextRuns, KeepsASingularWorkflowOccupied) {
  const std::string id = world.apply_order("singular: true" + std::string(kSums), {{"sum", 0}});
  go();
  const StartInstance start{.ns = "default", .workflow = "order", .input = Json{{"sum", 0}}};
  EXPECT_EQ(world.refusal(start).code, "direktiv.mutex");
  EXPECT_EQ(world.instance(id)["run"], 2);
}

TEST_F(NextRuns, OfASubflowReturnsItsOutputToTheCallerAtTheEnd) {
  world.apply(R"(
id: charge
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transition: decide}
- id: decide
  type: switch
  conditions: [{condition: jq(.paid == 2), transition: done}]
  defaultContinueAsNew: 'jq({before: .paid})'
- {id: done, type: noop}
)");
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: subflow, workflow: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  const std::string charge = instances_of(world, "charge").at(0)["id"];
  world.publish("paid", "1", 1);
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_EQ(world.instance(charge)["run"], 2);
  EXPECT_EQ(world.instance(charge)["parent"], id);
  world.restart();
  world.publish("paid", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(world.status(charge), "complete");
  EXPECT_EQ(world.instance(id)["output"], (Json{{"return", {{"before", 1}, {"paid", 2}}}}));
}

TEST_F(NextRuns, LetsAsyncCallsGoOn) {
  world.apply(R"(
id: side
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)");
  world.apply_order(R"(
id: order
functions:
- {id: side, type: subflow, workflow: side}
states:
- {id: call, type: action, async: true, action: {function: side}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}, continueAsNew: {}}
)");
  go();
  const std::vector<Json> sides = instances_of(world, "side");
  ASSERT_THAT(sides, SizeIs(2));
  EXPECT_EQ(sides[0]["status"], "waiting") << "the call of the first run";
}

TEST_F(NextRuns, WaitsForTheEndOfAPause) {
  const std::string id = world.apply_order(kSums, {{"sum", 0}});
  world.must(PauseInstance{"default", parsed_id(id)});
  go();
  EXPECT_EQ(world.instance(id)["run"], 1);
  EXPECT_EQ(world.status(id), "paused");
  world.must(ResumeInstance{"default", parsed_id(id)});
  EXPECT_EQ(world.instance(id)["run"], 2);
  EXPECT_EQ(world.status(id), "waiting");
}

TEST_F(NextRuns, IsRestartedWithItsOwnInput) {
  const std::string id = world.apply_order(kSums, {{"sum", 0}});
  go(5);
  world.must(CancelInstance{"default", parsed_id(id)});
  ASSERT_EQ(world.status(id), "cancelled");
  world.restart();
  world.must(RestartInstance{"default", parsed_id(id)});
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.instance(id)["data"], (Json{{"sum", 5}, {"last", 5}}));
}

// Errors.

constexpr const char* kCatches = R"(
id: order
functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- id: pay
  type: action
  timeout: PT1M
  action: {{function: charge}}
  catch: [{{error: '*', continueAsNew: '{}'}}]
)";

TEST_F(NextRuns, FollowsAnErrorThatAnEntryOfCatchMatches) {
  const std::string id =
      world.apply_order(fmt::format(kCatches, "jq({failed: .error.code})"), {{"n", 1}});
  fail_task();
  EXPECT_EQ(world.instance(id)["run"], 2);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"failed", "down"}}));
  EXPECT_THAT(world.functions.tasks(), SizeIs(2));
  world.run_for(seconds(60));  // the call is stopped as it is when a state is left
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"failed", "direktiv.stateTimeout"}}));
  EXPECT_EQ(world.metric("millrace_tasks"), 1);
}

TEST_F(NextRuns, DoesNotCatchAnErrorInTheEntryOfCatchThatLeadsToIt) {
  const std::string id = world.apply_order(fmt::format(kCatches, "jq(.error.code.x)"), {{"n", 1}});
  fail_task();
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.jq.badCommand");
  EXPECT_EQ(world.instance(id)["failedState"], "pay");
  world.must(RetryInstance{"default", parsed_id(id)});
  EXPECT_EQ(world.functions.tasks().back().input, R"({"n":1})") << "the data has no error";
}

TEST_F(NextRuns, DoesNotFollowTheErrorOfAnErrorState) {
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: broken, type: error, error: order.broken, message: no, continueAsNew: {}}
)");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "order.broken");
  EXPECT_EQ(world.instance(id)["run"], 1);
}

TEST_F(NextRuns, IsRefusedWithALongerInputWhileTheNamespaceIsFull) {
  world.must(
      CreateNamespace{.name = "default", .settings = Json{{"quotas", {{"storeBytes", "64KiB"}}}}});
  const std::string id = world.apply_order(R"(
id: order
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  continueAsNew: 'jq({go: .go})'
  catch: [{error: millrace.quota.storeBytes, transition: caught}]
- {id: caught, type: consumeEvent, event: {type: go}, continueAsNew: {}}
)");
  // More than the quota, and less than the eighth that active instances may use besides.
  constexpr size_t kFull = 68'000;
  world.must(
      PutVariable{.place = {.ns = "default"},
                  .key = "full",
                  .value = {.content_type = "text/plain", .bytes = std::string(kFull, 'x')}});
  go();
  EXPECT_EQ(world.instance(id)["state"], "caught");
  EXPECT_EQ(world.instance(id)["run"], 1);
  go();
  EXPECT_EQ(world.instance(id)["state"], "wait") << "this input is not longer than the one before";
  EXPECT_EQ(world.instance(id)["run"], 2);
}

}  // namespace
}  // namespace millrace
