// An operator runs an ended instance again: retry, restart, rerun. Own policies of an instance.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/own_policy.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

/// A workflow whose call fails if the test answers it with an error.
constexpr const char* kFailing = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: prepare, type: delay, duration: PT1S, transform: 'jq({prepared: 1})', transition: pay}
- id: pay
  type: action
  action: {function: charge, retries: {max_attempts: 1, delay: PT1S, codes: ['*']}}
  transition: ship
- {id: ship, type: noop}
)";

void fail(World& world, size_t task) {
  world.functions.report({world.functions.tasks()[task].id,
                          TaskEnded{.result = tl::unexpected(Error{"down", "gone"})}});
  world.run_for(seconds(1));
}

std::string failed(World& world) {
  const std::string id = world.apply_order(kFailing);
  world.run_for(seconds(1));
  fail(world, 0);
  fail(world, 1);
  return id;
}

TEST(RetryCommand, StartsTheFailedStateAgainWithItsDataAndAllAttempts) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["failedState"], "pay");
  world.must(RetryInstance{"default", key(id)});
  world.restart();
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_FALSE(world.instance(id).contains("error"));
  ASSERT_THAT(world.functions.tasks(), SizeIs(3));
  EXPECT_EQ(world.functions.tasks()[2].attempt, 1u);
  EXPECT_EQ(world.functions.tasks()[2].input, R"({"prepared":1})");
  fail(world, 2);
  world.functions.answer(world.functions.tasks()[3].id, 7);
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"], Json::parse(R"({"prepared": 1, "return": 7})"));
}

TEST(Attempts, AreShownForAFailedState) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["attempt"], 2);
  world.restart();
  EXPECT_EQ(world.instance(id)["attempt"], 2);
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["attempt"], 1) << "the attempts start again";
}

TEST(Attempts, AreShownForAFailedStateAfterACleanUp) {
  for (const char* const cleanup :
       {"  catch: [{error: '*', transition: report}]\n"
        "- {id: report, type: error, error: lost, message: m, transition: mop}\n",
        "- {id: unused, type: noop}\n"}) {
    World world;
    const bool by_catch = std::string_view(cleanup).starts_with("  catch");
    const std::string id = world.apply_order(
        fmt::format(R"(
id: order
{}functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- id: pay
  type: action
  action: {{function: charge, retries: {{vocabulary: steep, maxAttempts: 2, delay: PT1S}}}}
{}- {{id: mop, type: noop}}
)",
                    by_catch ? "" : "on_failure: {state: mop, when: any}\n", cleanup));
    fail(world, 0);
    fail(world, 1);
    EXPECT_EQ(world.status(id), "failed");
    EXPECT_EQ(world.instance(id)["failedState"], "pay");
    EXPECT_EQ(world.instance(id)["attempt"], 2) << cleanup;
  }
}

TEST(Attempts, AreShownForACancelledCall) {
  World world;
  const std::string id = world.apply_order(kFailing);
  world.run_for(seconds(1));
  fail(world, 0);
  world.must(CancelInstance{"default", key(id), true});
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.instance(id)["attempt"], 2);
}

TEST(RetryCommand, IsProposedIfAnOperatorResumesAFailedInstance) {
  World world;
  const std::string id = failed(world);
  const Answered refused = world.command(ResumeInstance{"default", key(id)});
  world.run_until_idle();
  EXPECT_THAT((**refused).error().message,
              testing::HasSubstr(
                  "its status is failed: it cannot be resumed; `retry` tries the failed state "
                  "again, `restart` runs it again from its first state, `delete` removes it"));
}

TEST(RetryCommand, IsRefusedForAnInstanceThatHasNotFailed) {
  World world;
  const std::string id = world.apply_order(kFailing);
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.living");
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.not_failed");
  EXPECT_EQ(world.refusal(RetryInstance{"default", InstanceId{}}).code, "instance.not_found");
}

TEST(RetryCommand, NeedsTheOptionExtendAfterTheExecutionTimeout) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
workflowExecutionTimeout: 1h
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "timedout");
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.deadline_passed");
  world.must(RetryInstance{"default", key(id), true});
  world.run_for(minutes(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "timedout");
}

TEST(OwnPolicy, SetsTheRetriesAndTimeoutsOfOneInstance) {
  World world;
  world.apply("id: order\nstates:\n- {id: a, type: error, error: no.luck, message: no}\n");
  const std::string own =
      *write_own_policy({.retries = R"({"maximumAttempts": 3, "initialInterval": "1s"})"});
  const std::string id =
      world.must(StartInstance{.ns = "default", .workflow = "order", .own_policy = own})["id"];
  world.restart();
  world.run_for(seconds(10));
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.status(id), "failed");

  world.apply("id: wait\nworkflowRunTimeout: 1h\nstates:\n- {id: a, type: delay, duration: 1d}\n");
  const std::string waits = world.must(
      StartInstance{.ns = "default",
                    .workflow = "wait",
                    .own_policy = *write_own_policy({.execution = "5m", .run = "2h"})})["id"];
  world.run_for(minutes(5));
  EXPECT_EQ(world.instance(waits)["error"]["code"], "millrace.timeout.execution");
}

TEST(OwnPolicy, IsRefusedWithTheNameOfItsInvalidKey) {
  EXPECT_EQ(write_own_policy({.retries = "{}"}).error().code, "definition.vocabulary");
  const Result<std::string> zero = write_own_policy({.execution = "0s"});
  EXPECT_EQ(zero.error().code, "duration.zero");
  EXPECT_THAT(zero.error().message, testing::StartsWith("executionTimeout: "));
  EXPECT_EQ(*write_own_policy({}), "");
}

TEST(Deadlines, OfAnExecutionStopTheTicksOfItsSchedule) {
  World world;
  world.apply(R"(
id: order
workflowExecutionTimeout: 150m
start: {type: scheduled, cron: '@hourly'}
states:
- {id: a, type: consumeEvent, event: {type: never}}
)");
  world.run_for(hours(1));
  const size_t first = world.instances().size();
  world.run_for(hours(10));
  // The schedule ticks once and then twice more until the deadline of the execution.
  EXPECT_EQ(world.instances().size(), first + 2);
  for (const Json& one : world.instances()) EXPECT_EQ(one["status"], "timedout");
}

TEST(RestartCommand, RunsTheInstanceFromTheFirstStateWithTheSameInput) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.must(RestartInstance{"default", key(id)})["run"], 2);
  world.run_for(seconds(1));
  world.functions.answer(world.functions.tasks()[2].id, 7);
  world.run_until_idle();
  const Json instance = world.instance(id);
  EXPECT_EQ(instance["status"], "complete");
  EXPECT_EQ(instance["run"], 2);
  EXPECT_EQ(instance["input"], Json::object());
}

TEST(RerunCommand, StartsAtAStateWithTheDataWithWhichItWasEntered) {
  World world;
  const std::string id = world.apply_order(kFailing);
  world.run_for(seconds(1));
  world.functions.answer(world.functions.tasks()[0].id, 7);
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  world.must(RerunInstance{"default", key(id), "pay"});
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  EXPECT_EQ(world.functions.tasks()[1].input, R"({"prepared":1})");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "pay"}).code, "instance.living");
}

TEST(RerunCommand, IsRefusedWithoutDataInTheHistoryOrForAnUnknownState) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "ship"}).code, "instance.no_data");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "nowhere"}).code, "instance.no_state");
}

TEST(RestartCommand, IsRefusedWhileASingularWorkflowHasALiveInstance) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
singular: true
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.publish("paid", "1");
  world.run_until_idle();
  const std::string other = world.start("order")["id"];
  world.run_until_idle();
  EXPECT_EQ(world.refusal(RestartInstance{"default", key(id)}).code, "direktiv.mutex");
  world.must(CancelInstance{"default", key(other)});
  world.must(RestartInstance{"default", key(id)});
  EXPECT_EQ(world.refusal(StartInstance{.ns = "default", .workflow = "order"}).code,
            "direktiv.mutex");
}

TEST(RestartCommand, LeavesTheOutputOfTheNewRunReadableIfThatRunEndsInItsFirstStep) {
  World world;
  world.apply(R"(
id: order
states:
- {id: tell, type: generateEvent, event: {type: told, source: s}}
)");
  const std::string id = world.start("order", {{"n", 1}})["id"];
  world.must(RestartInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["run"], 2);
  EXPECT_EQ(world.instance(id)["output"], (Json{{"n", 1}}));
  world.restart();
  EXPECT_EQ(world.instance(id)["output"], (Json{{"n", 1}}));
}

TEST(RestartCommand, ReturnsNoSecondResultToTheCaller) {
  World world;
  world.apply("id: child\nstates:\n- {id: a, type: error, error: no.luck, message: no}\n");
  const std::string parent = world.apply_order(R"(
id: order
functions:
- {id: f, type: subflow, workflow: child}
states:
- {id: a, type: action, action: {function: f}, catch: [{error: '*', transition: b}]}
- {id: b, type: consumeEvent, event: {type: paid}}
)");
  const std::string child = world.instances()[1]["id"];
  world.must(RestartInstance{"default", key(child)});
  EXPECT_EQ(world.status(child), "failed");
  EXPECT_EQ(world.instance(parent)["state"], "b");
}

}  // namespace
}  // namespace millrace
