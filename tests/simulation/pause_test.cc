// An operator pauses and resumes instances, workflows and services.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

TEST(Pause, AcceptsAnEventAndAppliesItOnResume) {
  World world;
  const std::string id = world.apply_order(kOperatorOrder);
  EXPECT_EQ(world.must(PauseInstance{"default", key(id)})["paused"], true);
  EXPECT_EQ(world.status(id), "paused");
  world.publish("paid", "1", 5);
  world.run_until_idle();
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "paused");
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  EXPECT_EQ(world.must(ResumeInstance{"default", key(id)})["resumed"], true);
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.functions.tasks()[0].input, "5");
}

TEST(Pause, StopsTheTimersOfAStateAndRestartsItsTimeoutOnResume) {
  World world;
  const std::string id = world.apply_order(kOperatorOrder);
  world.run_for(minutes(50));
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(10));
  EXPECT_EQ(world.status(id), "paused");
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(minutes(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.stateTimeout");
}

TEST(Pause, EndsAnElapsedDelayOnResume) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: delay, duration: PT1H, transition: b}
- {id: b, type: noop}
)");
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(2));
  EXPECT_EQ(world.status(id), "paused");
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(id), "complete");
}

TEST(Pause, AcceptsAResultAndStartsNoOtherAttempt) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, retries: {max_attempts: 3, delay: PT1S, codes: ['*']}}
)");
  world.must(PauseInstance{"default", key(id)});
  world.functions.report(
      {world.functions.tasks()[0].id, TaskEnded{.result = tl::unexpected(Error{"down", ""})}});
  world.run_for(hours(1));
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
  world.must(ResumeInstance{"default", key(id)});
  world.run_for(seconds(1));
  EXPECT_THAT(world.functions.tasks(), SizeIs(2));
}

TEST(Pause, DoesNotStopTheExecutionTimeout) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
workflowExecutionTimeout: 1h
states:
- {id: a, type: consumeEvent, event: {type: paid}}
)");
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "timedout");
}

TEST(Pause, HoldsLiveAndNewInstancesOfAWorkflow) {
  World world;
  world.apply(kOperatorOrder);
  for (int i = 0; i < 600; ++i) world.start("order");
  const Json paused = world.must(PauseWorkflow{.ns = "default", .id = "order"});
  EXPECT_EQ(paused["changed"], 600);
  const std::string later = world.start("order")["id"];
  world.run_until_idle();
  EXPECT_EQ(world.status(later), "paused");
  EXPECT_THAT(world.history(later), ElementsAre("started", "paused wait"));
  world.restart();
  const Json resumed = world.must(PauseWorkflow{.ns = "default", .id = "order", .paused = false});
  EXPECT_EQ(resumed["changed"], 601);
  EXPECT_EQ(world.status(later), "waiting");
}

TEST(Pause, ReachesMoreInstancesThanOneBatchScans) {
  World world;
  world.apply(kOperatorOrder);
  world.apply("id: other\nstates:\n- {id: wait, type: delay, duration: PT1H}\n");
  // Between the first and the last instance are more instances than one batch scans.
  const std::string first = world.start("order")["id"];
  for (int i = 0; i < 10'500; ++i) {
    world.command(StartInstance{.ns = "default", .workflow = "other"});
    if (i % 500 == 0) world.run_until_idle();
  }
  const std::string last = world.start("order")["id"];
  EXPECT_EQ(world.must(PauseWorkflow{.ns = "default", .id = "order"})["changed"], 2);
  EXPECT_EQ(world.status(first), "paused");
  EXPECT_EQ(world.status(last), "paused");
}

TEST(Pause, IsReplacedByALaterResumeOfTheWorkflow) {
  for (const bool paused : {true, false}) {
    World world;
    world.apply(kOperatorOrder);
    for (int i = 0; i < 600; ++i) world.start("order");
    if (!paused) world.must(PauseWorkflow{.ns = "default", .id = "order"});
    const Answered first =
        world.command(PauseWorkflow{.ns = "default", .id = "order", .paused = paused});
    const Answered second =
        world.command(PauseWorkflow{.ns = "default", .id = "order", .paused = !paused});
    world.run_until_idle();
    ASSERT_TRUE(first->has_value() && second->has_value());
    EXPECT_EQ((**first).value()["paused"], !paused);
    EXPECT_EQ((**second).value()["paused"], !paused);
    for (const Json& one : world.instances()) {
      EXPECT_EQ(one["status"], paused ? "waiting" : "paused");
    }
  }
}

TEST(Pause, HoldsInstancesThatAScheduleStarts) {
  World world;
  world.apply(R"(
id: order
start: {type: scheduled, cron: '@hourly'}
states:
- {id: a, type: noop}
)");
  world.must(PauseWorkflow{.ns = "default", .id = "order"});
  world.run_for(hours(1));
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "paused");
  world.must(PauseWorkflow{.ns = "default", .id = "order", .paused = false});
  EXPECT_EQ(world.instances()[0]["status"], "complete");
}

TEST(Pause, HoldsTheCallsOfAPausedService) {
  World world;
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  world.must(PauseService{.ns = "default", .name = "charge"});
  for (int i = 0; i < 5; ++i) world.start("order");
  world.run_until_idle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  world.restart();
  world.start("order");
  world.run_until_idle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  world.must(PauseService{.ns = "default", .name = "charge", .paused = false});
  world.run_until_idle();
  EXPECT_THAT(world.functions.tasks(), SizeIs(6));
}

TEST(Pause, IsRefusedForAnUnknownService) {
  World world;
  const auto pause = [&](const char* name, bool paused = true) {
    const Answered answer =
        world.command(PauseService{.ns = "default", .name = name, .paused = paused});
    world.run_until_idle();
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
  // A paused service can be resumed, even if no workflow names it any more.
  world.must(DeleteWorkflow{.ns = "default", .id = "order", .cancel = true});
  EXPECT_EQ(pause("charge", false), "");
  EXPECT_EQ(pause("charge", false), "function.not_found");
}

TEST(Pause, IsShownInListsOfWorkflowsAndSchedules) {
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
  world.must(PauseWorkflow{.ns = "default", .id = "order"});
  EXPECT_EQ(paused(), std::pair(true, false));
  world.restart();
  world.must(PauseWorkflow{.ns = "default", .id = "report"});
  EXPECT_EQ(paused(), std::pair(true, true));
  world.must(PauseWorkflow{.ns = "default", .id = "order", .paused = false});
  EXPECT_EQ(paused(), std::pair(false, true));
}

}  // namespace
}  // namespace millrace
