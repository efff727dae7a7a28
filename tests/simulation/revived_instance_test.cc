// Instances after retry, restart and rerun: their state, data, retry policy and deadlines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

InstanceId key(const std::string& id) { return *parse_instance_id(id); }

void fail_newest(World& world, std::string code = "down") {
  world.functions.report({world.functions.tasks().back().id,
                          TaskEnded{.result = tl::unexpected(Error{std::move(code), "no"})}});
  world.run_until_idle();
}

void answer_newest(World& world, Json result) {
  world.functions.answer(world.functions.tasks().back().id, std::move(result));
  world.run_until_idle();
}

constexpr const char* kSaga = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: refund, type: knative-namespace, service: refund}
states:
- id: pay
  type: action
  action: {function: charge}
  catch: [{error: '*', transition: broken}]
- {id: broken, type: error, error: order.broken, message: no, transition: clean-up}
- {id: clean-up, type: action, action: {function: refund}, transform: 'jq({cleaned: 1})'}
)";

TEST(RetryCommand, StartsTheStateWhoseErrorLedToAnErrorState) {
  World world;
  const std::string id = world.apply_order(kSaga, {{"n", 1}});
  fail_newest(world);
  EXPECT_EQ(world.functions.tasks().back().function, "refund");
  answer_newest(world, 1);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["failedState"], "pay");
  world.restart();
  world.must(RetryInstance{"default", key(id)});
  ASSERT_THAT(world.functions.tasks(), SizeIs(3));
  EXPECT_EQ(world.functions.tasks().back().function, "charge");
  EXPECT_EQ(world.functions.tasks().back().input, R"({"n":1})");
  answer_newest(world, 7);
  EXPECT_EQ(world.instance(id)["output"], Json::parse(R"({"n": 1, "return": 7})"));
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_FALSE(world.instance(id).contains("failedState"));
  world.must(DeleteInstance{"default", key(id)});
  for (const auto& [row, value] : world.rows()) {
    EXPECT_FALSE(row.starts_with("live/") || row.starts_with("ended/")) << row;
  }
}

TEST(Deletion, RemovesAllRowsOfAFailedInstance) {
  World world;
  const std::string id = world.apply_order(kSaga);
  fail_newest(world);
  answer_newest(world, 1);
  world.must(DeleteInstance{"default", key(id)});
  for (const auto& [row, value] : world.rows()) {
    EXPECT_FALSE(row.starts_with("live/") || row.starts_with("ended/")) << row;
  }
}

TEST(ErrorState, ReplacesAnOlderErrorInTheData) {
  World world;
  const std::string id = world.apply_order(kSaga);
  fail_newest(world);
  EXPECT_EQ(world.functions.tasks().back().input,
            R"({"error":{"code":"order.broken","msg":"no"}})");
  fail_newest(world, "refund.failed");
  const Json instance = world.instance(id);
  EXPECT_EQ(instance["error"]["code"], "order.broken");
  EXPECT_EQ(instance["output"]["error"]["code"], "order.broken");
}

TEST(RetryCommand, StartsTheFirstFailedStateWhenTheCleanUpFailedToo) {
  World world;
  const std::string id = world.apply_order(kSaga);
  fail_newest(world);
  fail_newest(world, "refund.failed");
  EXPECT_EQ(world.instance(id)["failedState"], "pay");
  EXPECT_EQ(world.instance(id)["error"]["code"], "order.broken");
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.functions.tasks().back().function, "charge");
}

TEST(RetryCommand, StartsTheStateThatExceededTheTimeoutNotTheStateOfOnFailure) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
timeout: 1h
on_failure: clean-up
states:
- {id: prepare, type: noop, transform: 'jq({prepared: 1})', transition: wait}
- {id: wait, type: consumeEvent, event: {type: paid}}
- {id: clean-up, type: noop, transform: 'jq({cleaned: 1})'}
)");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["failedState"], "wait");
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.deadline_passed");
  world.must(RetryInstance{"default", key(id), true});
  EXPECT_EQ(world.instance(id)["state"], "wait");
  EXPECT_EQ(world.status(id), "waiting");
  world.publish("paid", "1", 5);
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.instance(id)["output"], Json::parse(R"({"prepared": 1, "paid": 5})"));
}

TEST(RetryCommand, UsesTheDataWithWhichALoopLastEnteredTheState) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, input: jq(.n)}
  transform: 'jq({n: (.n + 1), last: .return})'
  transition: pay
)",
                                           {{"n", 1}});
  answer_newest(world, "a");
  answer_newest(world, "b");
  fail_newest(world);
  EXPECT_EQ(world.status(id), "failed");
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.functions.tasks().back().input, "3");
  EXPECT_EQ(world.instance(id)["data"], Json::parse(R"({"n": 3, "last": "b"})"));
}

TEST(RetryCommand, RestoresTheDataWithWhichAStateWithoutWaitsAndCallsWasEntered) {
  World world;
  world.evaluator.define(
      "first(.n)", [](const Json&) -> QueryResult { return fail("direktiv.jq.badCommand", "no"); });
  for (const char* const transform : {".n.x", "first(.n)"}) {
    for (const Json& error : {Json(), Json("mine")}) {
      Json input = {{"n", 1}};
      if (!error.is_null()) input["error"] = error;
      const std::string id = world.apply_order(fmt::format(R"(
id: order
states:
- id: read
  type: getter
  log: jq({{error, var}})
  variables: [{{key: a}}]
  transform: '{}'
)",
                                                           transform),
                                               input);
      ASSERT_EQ(world.status(id), "failed") << transform;
      EXPECT_EQ(world.instance(id)["output"]["error"]["code"], "direktiv.jq.badCommand");
      world.restart();
      world.must(RetryInstance{"default", key(id)});
      world.must(RetryInstance{"default", key(id)});
      // Each record of an entry has the original data, without the error and without the variables
      // that were read.
      for (const Json& record : world.history_items(id)) {
        if (record["kind"] != "log") continue;
        EXPECT_EQ(record["detail"]["value"], (Json{{"error", error}, {"var", nullptr}}))
            << transform;
      }
      EXPECT_EQ(world.instance(id)["failedState"], "read");
    }
  }
}

TEST(RetryCommand, KeepsDataThatIsNotAnObject) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: noop, transform: 'jq([1, 2])', transition: b}
- {id: b, type: noop, transform: .x}
)");
  EXPECT_EQ(world.instance(id)["output"]["data"], Json::parse("[1, 2]"));
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["output"]["data"], Json::parse("[1, 2]"));
}

TEST(RetryCommand, StartsAnErrorStateThatNoErrorLedTo) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: switch, conditions: [{condition: .ok, transition: done}], defaultTransition: broken}
- {id: broken, type: error, error: order.broken, message: no, transition: clean-up}
- {id: clean-up, type: noop, transform: 'jq({cleaned: 1})'}
- {id: done, type: noop}
)");
  EXPECT_EQ(world.instance(id)["failedState"], "broken");
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.history(id),
            (std::vector<std::string>{"started", "entered a", "entered broken", "fixed broken",
                                      "entered clean-up", "ended clean-up", "revived clean-up",
                                      "entered broken", "fixed broken", "entered clean-up",
                                      "ended clean-up"}));
}

TEST(RerunCommand, UsesTheDataWithWhichTheStateWasLastEnteredAndIsRefusedWithoutIt) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, input: jq(.n)}
  transform: 'jq({n: (.n + 1)})'
  transition: again
- id: again
  type: switch
  conditions: [{condition: .n < 3, transition: pay}]
)",
                                           {{"n", 1}});
  answer_newest(world, "a");
  answer_newest(world, "b");
  ASSERT_EQ(world.status(id), "complete");
  world.must(RerunInstance{"default", key(id), "pay"});
  EXPECT_EQ(world.functions.tasks().back().input, "2");
  answer_newest(world, "c");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "again"}).code, "instance.no_data");
}

TEST(RerunCommand, IsRefusedIfTheStateWasLastEnteredWithoutRecordedData) {
  World world;
  // When the instance enters the state for the second time, the state fails before its call.
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, input: jq(.n.x)}
  transform: 'jq({n: 2})'
  transition: pay
  catch: [{error: direktiv.jq.badCommand, transition: done}]
- {id: done, type: noop}
)",
                                           {{"n", {{"x", 1}}}});
  answer_newest(world, "a");
  ASSERT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "pay"}).code, "instance.no_data");
}

TEST(RerunCommand, StartsTheFailedStateWithItsData) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: noop, transform: 'jq({n: 2})', transition: b}
- {id: b, type: noop, transform: .n.x}
)");
  world.must(RerunInstance{"default", key(id), "b"});
  EXPECT_EQ(world.instance(id)["output"]["n"], 2);
  EXPECT_EQ(world.instance(id)["run"], 2);
}

/// A workflow that fails in each run. The waits between its runs are 1 s, 2 s, 4 s, …
constexpr const char* kRuns = R"(
id: order
retries: {maximumAttempts: 3, initialInterval: 1s, backoffCoefficient: 2}
states:
- {id: a, type: error, error: no.luck, message: no}
)";

TEST(RevivedInstance, StartsTheRetryPolicyOfItsWorkflowAgain) {
  for (const char* const how : {"retry", "restart", "rerun"}) {
    World world;
    const std::string id = world.apply_order(kRuns);
    world.run_for(seconds(10));
    ASSERT_EQ(world.status(id), "failed");
    EXPECT_EQ(world.instance(id)["run"], 3);
    if (std::string_view(how) == "retry") {
      world.must(RetryInstance{"default", key(id)});
    } else if (std::string_view(how) == "restart") {
      world.must(RestartInstance{"default", key(id)});
    } else {
      world.must(RerunInstance{"default", key(id), "a"});
    }
    world.restart();
    const int run = std::string_view(how) == "retry" ? 3 : 4;
    EXPECT_EQ(world.status(id), "waiting") << how;
    world.run_for(seconds(1));
    EXPECT_EQ(world.instance(id)["run"], run + 1) << how;
    world.run_for(seconds(1));
    EXPECT_EQ(world.instance(id)["run"], run + 1) << how;
    world.run_for(seconds(1));
    EXPECT_EQ(world.instance(id)["run"], run + 2) << how;
    world.run_for(seconds(100));
    EXPECT_EQ(world.status(id), "failed") << how;
    EXPECT_EQ(world.instance(id)["run"], run + 2) << how;
  }
}

TEST(Run, AppliesATimeoutToAllAttemptsTogetherIfItFollowsARetriedRun) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
retries: {maximumAttempts: 2, initialInterval: 1s}
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, timeout: 1m, retry: 'fixed(3, 10s)'}
)");
  for (int run = 0; run < 2; ++run) {
    world.run_for(minutes(1));
    world.run_for(seconds(1));
  }
  ASSERT_EQ(world.status(id), "failed");
  world.must(RetryInstance{"default", key(id)});
  world.run_for(minutes(1));  // each attempt has a minute
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(id)["run"], 3);
  world.run_for(seconds(40));
  fail_newest(world);
  world.run_for(seconds(19));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.scheduleToClose");
}

TEST(Run, IsNotRepeatedAfterAnUncaughtTimeoutInterrupt) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
retries: {maximumAttempts: 5, initialInterval: 1s}
timeouts: {interrupt: 1m}
states:
- {id: a, type: consumeEvent, event: {type: never}}
)");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.cancels.timeout");
}

TEST(Run, IsNotStartedByTheRetryOfAStateAfterACancelBetweenRuns) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
retries: {maximumAttempts: 5, initialInterval: 1h}
states:
- id: a
  type: consumeEvent
  event: {type: never}
  timeout: 1s
  retries: {max_attempts: 1, delay: PT10S, codes: ['*']}
)");
  world.run_for(seconds(12));
  ASSERT_EQ(world.instance(id)["nextRetryAt"].is_null(), false);
  world.must(CancelInstance{"default", key(id)});
  world.must(RestartInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["run"], 2);
  world.run_for(seconds(11));
  EXPECT_EQ(world.instance(id)["run"], 2) << "the next attempt of the state is not a run";
  EXPECT_THAT(world.history(id), Not(Contains("run a")));
}

TEST(RevivedInstance, WaitsForTheResumeOfAPausedWorkflow) {
  for (const char* const how : {"retry", "restart", "rerun"}) {
    World world;
    const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)");
    fail_newest(world);
    world.must(PauseWorkflow{.ns = "default", .id = "order"});
    if (std::string_view(how) == "retry") {
      world.must(RetryInstance{"default", key(id)});
    } else if (std::string_view(how) == "restart") {
      world.must(RestartInstance{"default", key(id)});
    } else {
      world.must(RerunInstance{"default", key(id), "pay"});
    }
    EXPECT_EQ(world.status(id), "paused") << how;
    world.restart();
    world.run_for(hours(1));
    EXPECT_THAT(world.functions.tasks(), SizeIs(1)) << how;
    world.must(PauseWorkflow{.ns = "default", .id = "order", .paused = false});
    EXPECT_EQ(world.status(id), "waiting") << how;
    EXPECT_THAT(world.functions.tasks(), SizeIs(2)) << how;
  }
}

TEST(RevivedInstance, IgnoresEventsThatCameWhileItWasEnded) {
  World world;
  // An instance with a running call may come to wait for that event type, so events of that type
  // are kept.
  world.apply(R"(
id: other
functions:
- {id: slow, type: knative-namespace, service: slow}
states:
- {id: a, type: action, action: {function: slow}, transition: b}
- {id: b, type: consumeEvent, event: {type: paid}}
)");
  world.start("other");
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: 1m}
)");
  world.run_for(minutes(1));
  ASSERT_EQ(world.status(id), "failed");
  world.publish("paid", "1", 5);
  world.run_until_idle();
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.status(id), "waiting");
  world.publish("paid", "2", 6);
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"]["paid"], 6);
}

TEST(RevivedInstance, PublishesEventsWhoseHopsStartAgain) {
  World world;
  world.apply(R"(
id: order
start: {type: event, event: {type: go}}
states:
- {id: a, type: generateEvent, event: {type: went, source: test}}
)");
  world.publish("go", "1", nullptr, {{"millracehops", 100}});
  world.answer_publishes();
  EXPECT_EQ(world.dead_letters(), std::vector<std::string>{"millrace.limits.hops"});
  const std::string id = world.instances()[0]["id"];
  world.must(RestartInstance{"default", key(id)});
  world.answer_publishes();
  EXPECT_THAT(world.events("went"), SizeIs(1));
}

TEST(Pause, RestartsTheHeartbeatTimeoutOnResume) {
  for (const bool of_workflow : {true, false}) {
    World world;
    world.functions.act("charge", {{.takes = std::nullopt}});
    const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, startToCloseTimeout: 2d, heartbeatTimeout: 10s, retries: {maximumAttempts: 1}}
)");
    world.run_for(seconds(5));
    if (of_workflow) {
      world.must(PauseWorkflow{.ns = "default", .id = "order"});
    } else {
      world.must(PauseInstance{"default", key(id)});
    }
    world.run_for(hours(1));
    EXPECT_EQ(world.status(id), "paused");
    if (of_workflow) {
      world.must(PauseWorkflow{.ns = "default", .id = "order", .paused = false});
    } else {
      world.must(ResumeInstance{"default", key(id)});
    }
    world.run_for(seconds(9));
    EXPECT_EQ(world.status(id), "waiting");
    world.run_for(seconds(1));
    EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.heartbeat");
  }
}

}  // namespace
}  // namespace millrace
