// What an operator does about instances: cancel, pause and resume, retry, restart, run again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/own_policy.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: wait
  type: consumeEvent
  timeout: PT1H
  event: {type: paid}
  transition: pay
- id: pay
  type: action
  action: {function: charge, input: jq(.paid)}
  transition: ship
- {id: ship, type: noop}
)";

/// The id of an instance that waits.
std::string start(World& world, const std::string& workflow = kOrder) {
  world.apply(workflow);
  std::string id = world.start("order")["id"];
  world.settle();
  return id;
}

InstanceId key(const std::string& id) { return *parse_instance_id(id); }

std::string status(World& world, const std::string& id) { return world.instance(id)["status"]; }

TEST(Cancel, ATaskThatRunsFinishesAndItsResultIsToldInTheHistoryAlone) {
  World world;
  const std::string id = start(world);
  world.publish("paid", "1", 5);
  world.settle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.must(CancelInstance{"default", key(id)})["cancelled"], true);
  EXPECT_EQ(status(world, id), "waiting");
  world.restart();
  world.functions.answer(world.functions.tasks()[0].id, "done");
  world.settle();
  EXPECT_EQ(status(world, id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), testing::IsEmpty());
  EXPECT_FALSE(world.instance(id)["output"].contains("return"));
  EXPECT_THAT(world.history(id),
              ElementsAre("started", "entered wait", "woken wait", "entered pay", "called pay",
                          "cancelled pay", "returned pay", "ended pay"));
}

TEST(Cancel, ATaskThatOverrunsItsTimeoutIsStoppedAfterAll) {
  World world;
  const std::string id = start(world, R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, scheduleToCloseTimeout: 10m}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  world.must(CancelInstance{"default", key(id)});
  world.run_for(minutes(9));
  EXPECT_EQ(status(world, id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(status(world, id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), SizeIs(1));
}

TEST(Cancel, ATaskThatFallsSilentIsStoppedAndLeavesNothing) {
  World world;
  const std::string id = start(world, R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, maxInactivity: {timeout: 1m, errorOnTimeout: true}}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  const InstanceId task = world.functions.tasks()[0].id;
  world.processor().report({task, TaskStarted{}}, nullptr);
  world.settle();
  world.must(CancelInstance{"default", key(id)});
  world.run_for(seconds(59));
  EXPECT_EQ(status(world, id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(status(world, id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(task));
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("tasks/")) << key;
}

TEST(Cancel, GoesDownToASubflowWhoseTaskFinishesAsWell) {
  World world;
  world.apply(kOrder);
  world.apply(R"(
id: parent
functions:
- {id: f, type: subflow, workflow: order}
states:
- {id: a, type: action, action: {function: f}}
)");
  const std::string parent = world.start("parent")["id"];
  world.publish("paid", "1", 5);
  world.settle();
  world.must(CancelInstance{"default", key(parent)});
  const std::string child = world.instances()[1]["id"];
  EXPECT_EQ(status(world, parent), "cancelled");
  EXPECT_EQ(status(world, child), "waiting");
  EXPECT_THAT(world.functions.stopped(), testing::IsEmpty());
  world.functions.answer(world.functions.tasks()[0].id, 1);
  world.settle();
  EXPECT_EQ(status(world, child), "cancelled");
}

TEST(Cancel, NowDoesNotWaitForIt) {
  World world;
  const std::string id = start(world);
  world.publish("paid", "1", 5);
  world.settle();
  world.must(CancelInstance{"default", key(id), true});
  EXPECT_EQ(status(world, id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(world.functions.tasks()[0].id));
}

TEST(Pause, AnEventThatWakesIsTakenAndAppliedOnResume) {
  World world;
  const std::string id = start(world);
  EXPECT_EQ(world.must(PauseInstance{"default", key(id)})["paused"], true);
  EXPECT_EQ(status(world, id), "paused");
  world.publish("paid", "1", 5);
  world.settle();
  world.restart();
  world.settle();
  EXPECT_EQ(status(world, id), "paused");
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  EXPECT_EQ(world.must(ResumeInstance{"default", key(id)})["resumed"], true);
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.functions.tasks()[0].input, "5");
}

TEST(Pause, NoTimerOfAStepFiresAndTheTimeoutCountsAnewOnResume) {
  World world;
  const std::string id = start(world);
  world.run_for(minutes(50));
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(10));
  EXPECT_EQ(status(world, id), "paused");
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(minutes(59));
  EXPECT_EQ(status(world, id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.stateTimeout");
}

TEST(Pause, ADelayIsOverOnResumeWhereItsTimeHasCome) {
  World world;
  const std::string id = start(world, R"(
id: order
states:
- {id: a, type: delay, duration: PT1H, transition: b}
- {id: b, type: noop}
)");
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(2));
  EXPECT_EQ(status(world, id), "paused");
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(seconds(1));
  EXPECT_EQ(status(world, id), "complete");
}

TEST(Pause, AResultIsTakenAndNoOtherAttemptIsMade) {
  World world;
  const std::string id = start(world, R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, retries: {max_attempts: 3, delay: PT1S, codes: ['*']}}
)");
  world.must(PauseInstance{"default", key(id)});
  world.functions.tell({world.functions.tasks()[0].id,
                        TaskEnded{.result = tl::unexpected(WorkflowError{"down", ""})}});
  world.run_for(hours(1));
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(seconds(1));
  EXPECT_THAT(world.functions.tasks(), SizeIs(2));
}

TEST(Pause, TheExecutionsDeadlineGoesOn) {
  World world;
  const std::string id = start(world, R"(
id: order
workflowExecutionTimeout: 1h
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(1));
  EXPECT_EQ(status(world, id), "timedout");
}

TEST(Pause, OfAWorkflowHoldsItsInstancesAndThoseThatStartMeanwhile) {
  World world;
  world.apply(kOrder);
  for (int i = 0; i < 600; ++i) world.start("order");
  const Json paused = world.must(PauseWorkflow{.space = "default", .id = "order"});
  EXPECT_EQ(paused["changed"], 600);
  const std::string later = world.start("order")["id"];
  world.settle();
  EXPECT_EQ(status(world, later), "paused");
  EXPECT_THAT(world.history(later), ElementsAre("started", "paused wait"));
  world.restart();
  const Json resumed =
      world.must(PauseWorkflow{.space = "default", .id = "order", .paused = false});
  EXPECT_EQ(resumed["changed"], 601);
  EXPECT_EQ(status(world, later), "waiting");
}

TEST(Pause, OfAWorkflowWithMoreInstancesThanOneBatchLooksAt) {
  World world;
  world.apply(kOrder);
  world.apply("id: other\nstates:\n- {id: wait, type: delay, duration: PT1H}\n");
  // Between the two of them are more than are looked at in one go.
  const std::string first = world.start("order")["id"];
  for (int i = 0; i < 10'500; ++i) {
    world.command(StartInstance{.space = "default", .workflow = "other"});
    if (i % 500 == 0) world.settle();
  }
  const std::string last = world.start("order")["id"];
  EXPECT_EQ(world.must(PauseWorkflow{.space = "default", .id = "order"})["changed"], 2);
  EXPECT_EQ(status(world, first), "paused");
  EXPECT_EQ(status(world, last), "paused");
}

TEST(Pause, OfAWorkflowThatIsToGoOnMeanwhileIsGivenUp) {
  for (const bool paused : {true, false}) {
    World world;
    world.apply(kOrder);
    for (int i = 0; i < 600; ++i) world.start("order");
    if (!paused) world.must(PauseWorkflow{.space = "default", .id = "order"});
    const Answered first =
        world.command(PauseWorkflow{.space = "default", .id = "order", .paused = paused});
    const Answered second =
        world.command(PauseWorkflow{.space = "default", .id = "order", .paused = !paused});
    world.settle();
    ASSERT_TRUE(first->has_value() && second->has_value());
    EXPECT_EQ((**first).value()["paused"], !paused);
    EXPECT_EQ((**second).value()["paused"], !paused);
    for (const Json& one : world.instances()) {
      EXPECT_EQ(one["status"], paused ? "waiting" : "paused");
    }
  }
}

TEST(Pause, OfAScheduledWorkflowHoldsWhatItsTicksStart) {
  World world;
  world.apply(R"(
id: order
start: {type: scheduled, cron: '@hourly'}
states:
- {id: a, type: noop}
)");
  world.must(PauseWorkflow{.space = "default", .id = "order"});
  world.run_for(hours(1));
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "paused");
  world.must(PauseWorkflow{.space = "default", .id = "order", .paused = false});
  EXPECT_EQ(world.instances()[0]["status"], "complete");
}

TEST(Pause, OfAServiceQueuesItsCallsUp) {
  World world;
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  world.must(PauseService{.space = "default", .name = "charge"});
  for (int i = 0; i < 5; ++i) world.start("order");
  world.settle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  world.restart();
  world.start("order");
  world.settle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  world.must(PauseService{.space = "default", .name = "charge", .paused = false});
  world.settle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(6));
}

TEST(Pause, OfAServiceThatNothingNamesIsRefused) {
  World world;
  const auto pause = [&](const char* name, bool paused = true) {
    const Answered answer =
        world.command(PauseService{.space = "default", .name = name, .paused = paused});
    world.settle();
    return (*answer)->has_value() ? "" : (*answer)->error().code;
  };
  EXPECT_EQ(pause("charge"), "function.not_found");
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: ship, type: knative-global, service: ship}
- {id: idle, type: knative-namespace, service: idle}
- {id: sub, type: subflow, workflow: order}
states:
- {id: pay, type: action, action: {function: charge}, transition: both}
- {id: both, type: parallel, actions: [{function: sub}, {function: ship}]}
)");
  world.must(CreateNamespace{
      .name = "default",
      .settings = Json::parse(R"({"services": {"mail": {"url": "http://127.0.0.1:9"}}})")});
  for (const char* known : {"charge", "ship", "mail"}) EXPECT_EQ(pause(known), "") << known;
  for (const char* unknown : {"nonsense", "idle", "sub", "order"}) {
    EXPECT_EQ(pause(unknown), "function.not_found") << unknown;
    EXPECT_EQ(pause(unknown, false), "function.not_found") << unknown;
  }
  // What is paused can be resumed, whoever has stopped naming it.
  world.must(DeleteWorkflow{.space = "default", .id = "order", .cancel = true});
  EXPECT_EQ(pause("charge", false), "");
  EXPECT_EQ(pause("charge", false), "function.not_found");
}

TEST(Pause, OfAWorkflowIsSeenInListsOfIt) {
  World world;
  world.apply("id: order\nstates: [{id: done, type: noop}]\n");
  world.apply(
      "id: report\nstart: {type: scheduled, cron: '0 7 * * *'}\nstates: [{id: done, type: "
      "noop}]\n");
  const auto paused = [&] {
    const Result<Snapshot> view = Snapshot::take(world.environment());
    const Json list = world.queries().workflows(*view, "default")->at("items");
    const Json one = *world.queries().workflow(*view, "default", "order");
    const Json schedules = world.queries().schedules(*view, "default")->at("items");
    EXPECT_EQ(list[0]["paused"], one["paused"]);
    EXPECT_EQ(list[1]["paused"], schedules[0]["paused"]);
    return std::pair(one["paused"].get<bool>(), schedules[0]["paused"].get<bool>());
  };
  EXPECT_EQ(paused(), std::pair(false, false));
  world.must(PauseWorkflow{.space = "default", .id = "order"});
  EXPECT_EQ(paused(), std::pair(true, false));
  world.restart();
  world.must(PauseWorkflow{.space = "default", .id = "report"});
  EXPECT_EQ(paused(), std::pair(true, true));
  world.must(PauseWorkflow{.space = "default", .id = "order", .paused = false});
  EXPECT_EQ(paused(), std::pair(false, true));
}

/// One that fails where the test says so.
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
  world.functions.tell({world.functions.tasks()[task].id,
                        TaskEnded{.result = tl::unexpected(WorkflowError{"down", "gone"})}});
  world.run_for(seconds(1));
}

std::string failed(World& world) {
  const std::string id = start(world, kFailing);
  world.run_for(seconds(1));
  fail(world, 0);
  fail(world, 1);
  return id;
}

TEST(Retry, TheFailedStateBeginsAgainWithAFreshCountAndTheDataItHad) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(status(world, id), "failed");
  EXPECT_EQ(world.instance(id)["failedState"], "pay");
  world.must(RetryInstance{"default", key(id)});
  world.restart();
  EXPECT_EQ(status(world, id), "waiting");
  EXPECT_FALSE(world.instance(id).contains("error"));
  ASSERT_THAT(world.functions.tasks(), SizeIs(3));
  EXPECT_EQ(world.functions.tasks()[2].attempt, 1u);
  EXPECT_EQ(world.functions.tasks()[2].input, R"({"prepared":1})");
  fail(world, 2);
  world.functions.answer(world.functions.tasks()[3].id, 7);
  world.settle();
  EXPECT_EQ(world.instance(id)["output"], Json::parse(R"({"prepared": 1, "return": 7})"));
}

TEST(Attempts, OfTheFailedStateAreShownWhenAllIsOver) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(status(world, id), "failed");
  EXPECT_EQ(world.instance(id)["attempt"], 2);
  world.restart();
  EXPECT_EQ(world.instance(id)["attempt"], 2);
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["attempt"], 1) << "it begins again";
}

TEST(Attempts, OfTheFailedStateAreShownBehindACleanUpToo) {
  for (const char* const cleanup :
       {"  catch: [{error: '*', transition: tell}]\n"
        "- {id: tell, type: error, error: lost, message: m, transition: mop}\n",
        "- {id: unused, type: noop}\n"}) {
    World world;
    const bool by_catch = std::string_view(cleanup).starts_with("  catch");
    const std::string id =
        start(world, fmt::format(R"(
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
    EXPECT_EQ(status(world, id), "failed");
    EXPECT_EQ(world.instance(id)["failedState"], "pay");
    EXPECT_EQ(world.instance(id)["attempt"], 2) << cleanup;
  }
}

TEST(Attempts, OfACancelledCallAreShown) {
  World world;
  const std::string id = start(world, kFailing);
  world.run_for(seconds(1));
  fail(world, 0);
  world.must(CancelInstance{"default", key(id), true});
  EXPECT_EQ(status(world, id), "cancelled");
  EXPECT_EQ(world.instance(id)["attempt"], 2);
}

TEST(Retry, IsForThoseThatHaveFailed) {
  World world;
  const std::string id = start(world, kFailing);
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.living");
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.not_failed");
  EXPECT_EQ(world.refusal(RetryInstance{"default", InstanceId{}}).code, "instance.not_found");
}

TEST(Retry, PastTheExecutionsDeadlineItHasToBeExtended) {
  World world;
  const std::string id = start(world, R"(
id: order
workflowExecutionTimeout: 1h
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.run_for(hours(1));
  EXPECT_EQ(status(world, id), "timedout");
  EXPECT_EQ(world.refusal(RetryInstance{"default", key(id)}).code, "instance.deadline_passed");
  world.must(RetryInstance{"default", key(id), true});
  world.run_for(minutes(59));
  EXPECT_EQ(status(world, id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(status(world, id), "timedout");
}

TEST(OwnPolicy, MayBringItsOwnPolicyAndTimeouts) {
  World world;
  world.apply("id: order\nstates:\n- {id: a, type: error, error: no.luck, message: no}\n");
  const std::string own =
      *write_own_policy({.retries = R"({"maximumAttempts": 3, "initialInterval": "1s"})"});
  const std::string id =
      world.must(StartInstance{.space = "default", .workflow = "order", .own_policy = own})["id"];
  world.restart();
  world.run_for(seconds(10));
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(status(world, id), "failed");

  world.apply("id: wait\nworkflowRunTimeout: 1h\nstates:\n- {id: a, type: delay, duration: 1d}\n");
  const std::string waits = world.must(
      StartInstance{.space = "default",
                    .workflow = "wait",
                    .own_policy = *write_own_policy({.execution = "5m", .run = "2h"})})["id"];
  world.run_for(minutes(5));
  EXPECT_EQ(world.instance(waits)["error"]["code"], "millrace.timeout.execution");
}

TEST(OwnPolicy, APolicyThatCannotBeReadIsRefusedWithItsName) {
  EXPECT_EQ(write_own_policy({.retries = "{}"}).error().code, "definition.vocabulary");
  const Result<std::string> zero = write_own_policy({.execution = "0s"});
  EXPECT_EQ(zero.error().code, "duration.zero");
  EXPECT_THAT(zero.error().message, testing::StartsWith("executionTimeout: "));
  EXPECT_EQ(*write_own_policy({}), "");
}

TEST(ScheduledExecution, StartsNothingPastItsDeadline) {
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
  // The first tick and two more; then the deadline of all of them.
  EXPECT_EQ(world.instances().size(), first + 2);
  for (const Json& one : world.instances()) EXPECT_EQ(one["status"], "timedout");
}

TEST(Restart, RunsItAnewFromTheFirstStateWithTheSameInput) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.must(RestartInstance{"default", key(id)})["run"], 2);
  world.run_for(seconds(1));
  world.functions.answer(world.functions.tasks()[2].id, 7);
  world.settle();
  const Json instance = world.instance(id);
  EXPECT_EQ(instance["status"], "complete");
  EXPECT_EQ(instance["run"], 2);
  EXPECT_EQ(instance["input"], Json::object());
}

TEST(Rerun, BeginsAtThatStateWithTheDataItHad) {
  World world;
  const std::string id = start(world, kFailing);
  world.run_for(seconds(1));
  world.functions.answer(world.functions.tasks()[0].id, 7);
  world.settle();
  EXPECT_EQ(status(world, id), "complete");
  world.must(RerunInstance{"default", key(id), "pay"});
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  EXPECT_EQ(world.functions.tasks()[1].input, R"({"prepared":1})");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "pay"}).code, "instance.living");
}

TEST(Rerun, IsRefusedWhereTheHistoryHasNoDataOrTheWorkflowNoSuchState) {
  World world;
  const std::string id = failed(world);
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "ship"}).code, "instance.no_data");
  EXPECT_EQ(world.refusal(RerunInstance{"default", key(id), "nowhere"}).code, "instance.no_state");
}

TEST(Restart, OfASingularWorkflowWaitsForNoOther) {
  World world;
  const std::string id = start(world, R"(
id: order
singular: true
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.publish("paid", "1");
  world.settle();
  const std::string other = world.start("order")["id"];
  world.settle();
  EXPECT_EQ(world.refusal(RestartInstance{"default", key(id)}).code, "direktiv.mutex");
  world.must(CancelInstance{"default", key(other)});
  world.must(RestartInstance{"default", key(id)});
  EXPECT_EQ(world.refusal(StartInstance{.space = "default", .workflow = "order"}).code,
            "direktiv.mutex");
}

TEST(Restart, OfAnInstanceThatEndsAtOnceWithItsInputLeavesItReadable) {
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

TEST(Cancel, AnInstanceThatAwaitedItsNextRunAwaitsNoneAfterwards) {
  World world;
  const std::string id = start(world, R"(
id: order
retries: {max_attempts: 2, delay: PT1H, codes: ['*']}
states:
- {id: a, type: error, error: some.error, message: no}
)");
  EXPECT_EQ(status(world, id), "waiting");
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(status(world, id), "cancelled");
  const Snapshot view = Snapshot::take(world.environment()).value();
  EXPECT_FALSE(read_instance(view, NamespaceNumber(1), key(id)).value()->awaits_run);
}

TEST(Restart, WhoCalledItHasBeenToldAndIsToldNoMore) {
  World world;
  world.apply("id: child\nstates:\n- {id: a, type: error, error: no.luck, message: no}\n");
  const std::string parent = start(world, R"(
id: order
functions:
- {id: f, type: subflow, workflow: child}
states:
- {id: a, type: action, action: {function: f}, catch: [{error: '*', transition: b}]}
- {id: b, type: consumeEvent, event: {type: paid}}
)");
  const std::string child = world.instances()[1]["id"];
  world.must(RestartInstance{"default", key(child)});
  EXPECT_EQ(status(world, child), "failed");
  EXPECT_EQ(world.instance(parent)["state"], "b");
}

}  // namespace
}  // namespace millrace
