// A paused service: which timeouts of its calls are suspended, continue, or restart when the
// service is resumed.
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

/// A workflow that calls `charge` once, with further keys of the action and the workflow.
std::string late_order(std::string_view action, std::string_view workflow = "") {
  return fmt::format(R"(
id: order
{}
functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- {{id: pay, type: action, action: {{function: charge, {}}}}}
)",
                     workflow, action);
}

constexpr std::string_view kMinuteToStart = "scheduleToStartTimeout: 1m, startToCloseTimeout: 1h";

void pause(World& world) { world.must(PauseService{.ns = "default", .name = "charge"}); }

void resume(World& world) {
  world.must(PauseService{.ns = "default", .name = "charge", .paused = false});
  world.run_until_idle();
}

std::string code(World& world, const std::string& id) {
  const Json instance = world.instance(id);
  return instance.contains("error") ? instance["error"]["code"].get<std::string>() : "none";
}

TEST(PausedService, StopsTheScheduleToStartTimeoutOfItsCalls) {
  World world;
  world.apply(late_order(kMinuteToStart));
  pause(world);
  const std::string id = world.start_order();
  world.run_for(hours(3));
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
  resume(world);
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  world.functions.answer(world.functions.tasks()[0].id, 1);
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
}

TEST(PausedService, RestartsTheScheduleToStartTimeoutOfItsCallsOnResume) {
  World world;
  world.functions.act("charge", {{.begins = std::nullopt}, {.begins = std::nullopt}});
  world.apply(late_order(kMinuteToStart));
  const std::string before = world.start_order();
  world.run_for(seconds(50));
  pause(world);
  const std::string within = world.start_order();
  world.run_for(seconds(40));
  resume(world);
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(before), "waiting");
  EXPECT_EQ(world.status(within), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(code(world, before), "millrace.timeout.scheduleToStart");
  EXPECT_EQ(code(world, within), "millrace.timeout.scheduleToStart");
}

TEST(PausedService, RestartsTheScheduleToCloseTimeoutOfAnUnstartedCallOnResume) {
  World world;
  world.apply(late_order("scheduleToCloseTimeout: 1m"));
  pause(world);
  const std::string id = world.start_order();
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting");
  resume(world);
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.functions.tasks()[0].deadline, world.clock.now() + minutes(1));
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(code(world, id), "millrace.timeout.scheduleToClose");
}

TEST(PausedService, DoesNotStopTheTimeoutsOfAStartedCall) {
  World world;
  world.apply(late_order("scheduleToCloseTimeout: 1m"));
  const std::string id = world.start_order();
  world.functions.report({world.functions.tasks()[0].id, TaskStarted{}});
  pause(world);
  world.run_for(minutes(1));
  EXPECT_EQ(code(world, id), "millrace.timeout.scheduleToClose");
}

TEST(PausedService, GivesACallThatStartsDuringThePauseItsFullScheduleToCloseTimeout) {
  World world;
  world.functions.act("charge", {{.begins = minutes(30), .answers = false}});
  world.apply(late_order("scheduleToStartTimeout: 1m, scheduleToCloseTimeout: 10m"));
  const std::string id = world.start_order();
  pause(world);
  world.run_for(minutes(39));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(code(world, id), "millrace.timeout.scheduleToClose");
}

TEST(PausedService, DoesNotStopTheTimeoutsOfTheWorkflow) {
  World world;
  world.apply(late_order(kMinuteToStart, "timeouts: {kill: PT1H}"));
  pause(world);
  const std::string id = world.start_order();
  world.run_for(minutes(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "timedout");
}

TEST(PausedService, HoldsItsCallsOverARestart) {
  World world;
  world.apply(late_order(kMinuteToStart));
  pause(world);
  const std::string id = world.start_order();
  world.run_for(seconds(30));
  world.crash();
  world.clock.advance(hours(1));
  world.recover();
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting");
  world.must(PauseService{.ns = "default", .name = "charge", .paused = false});
  world.restart();
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_THAT(world.functions.tasks(), SizeIs(1));
}

TEST(PausedService, HoldsBackARetry) {
  World world;
  world.apply(
      late_order("scheduleToStartTimeout: 1m, startToCloseTimeout: 1h, "
                 "retries: {max_attempts: 2, delay: PT10S, codes: ['*']}"));
  const std::string id = world.start_order();
  pause(world);
  world.functions.report(
      {world.functions.tasks()[0].id, TaskEnded{.result = tl::unexpected(Error{"down", ""})}});
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting");
  resume(world);
  EXPECT_THAT(world.functions.tasks(), SizeIs(2));
}

TEST(PausedService, HoldsNoTimeoutOfACancelledInstance) {
  World world;
  world.functions.act("charge", {{.begins = std::nullopt}});
  world.apply(late_order(kMinuteToStart));
  const auto cancel = [&](const std::string& id) {
    world.must(CancelInstance{"default", parse_instance_id(id).value()});
    EXPECT_EQ(world.status(id), "waiting") << "its task may finish";
  };
  const std::string before = world.start_order();
  cancel(before);
  world.run_for(seconds(30));
  pause(world);
  const std::string within = world.start_order();
  world.run_for(seconds(30));
  EXPECT_EQ(world.status(before), "cancelled");
  world.run_for(hours(3));
  cancel(within);
  world.run_for(seconds(30));
  resume(world);
  world.run_for(seconds(29));
  EXPECT_EQ(world.status(within), "waiting") << "the minute has started again with the cancel";
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(within), "cancelled");
}

TEST(PausedService, IsResumedBySettingsThatNoLongerPauseIt) {
  World world;
  world.functions.act("charge", {{.begins = std::nullopt}});
  world.apply(late_order(kMinuteToStart));
  world.must(CreateNamespace{.name = "default", .settings = Json{{"paused", {"charge"}}}});
  const std::string id = world.start_order();
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting");
  world.must(CreateNamespace{.name = "default", .settings = Json::object()});
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(code(world, id), "millrace.timeout.scheduleToStart");
}

TEST(PausedService, DoesNotStopTheTimeoutsOfCallsOfOtherServices) {
  World world;
  world.functions.act("ship", {{.begins = std::nullopt}});
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: ship, type: knative-namespace, service: ship}
states:
- id: both
  type: parallel
  actions:
  - {function: charge, scheduleToStartTimeout: 1m, startToCloseTimeout: 1h}
  - {function: ship, scheduleToStartTimeout: 2m, startToCloseTimeout: 1h}
)");
  pause(world);
  const std::string id = world.start_order();
  world.run_for(seconds(119));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(code(world, id), "millrace.timeout.scheduleToStart");
}

TEST(PausedService, IsResumedForManyInstancesInSeveralBatches) {
  World world;
  world.apply(late_order(kMinuteToStart));
  pause(world);
  for (int i = 0; i < 600; ++i) world.start("order");
  world.run_for(hours(2));
  resume(world);
  EXPECT_THAT(world.functions.tasks(), SizeIs(600));
  world.run_for(seconds(59));
  for (const Json& one : world.instances()) EXPECT_EQ(one["status"], "waiting");
}

}  // namespace
}  // namespace millrace
