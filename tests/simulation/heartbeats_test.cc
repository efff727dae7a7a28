// Heartbeats of tasks, and the timeouts heartbeat and schedule-to-start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/charge_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SizeIs;

TEST(Heartbeats, AreNotNeededToShowAStartedTaskAsRunning) {
  World world;
  world.functions.act("charge", {{.begins = seconds(5), .takes = std::nullopt}});
  world.apply(order());
  const std::string id = world.start_order();
  EXPECT_EQ(world.instance(id)["calls"][0]["status"], "scheduled");
  world.run_for(seconds(5));
  EXPECT_EQ(world.instance(id)["calls"][0]["status"], "running");
}

TEST(Heartbeats, GetTheirFullTimeoutAgainAfterACrash) {
  World world;
  world.functions.act("charge", {{.takes = std::nullopt}});
  world.apply(
      order(", startToCloseTimeout: 1h, heartbeatTimeout: 10s, retries: {maximumAttempts: 1}"));
  const std::string id = world.start_order();
  world.run_for(seconds(6));
  world.restart();
  world.run_for(seconds(9));
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.heartbeat");
}

TEST(ScheduleToStart, DoesNotEndATaskThatAWorkerHasEvenIfItsStartWasNotReported) {
  World world;
  world.functions.act("charge",
                      {{.begins = milliseconds(90), .takes = seconds(5), .is_mute = true}});
  world.apply(order(", scheduleToStartTimeout: 100ms, startToCloseTimeout: 1h"));
  const std::string id = world.start_order();
  world.run_for(seconds(6));
  EXPECT_EQ(world.instance(id)["status"], "complete");
}

TEST(ScheduleToStart, EndsATaskThatNoWorkerHas) {
  World world;
  world.functions.act("charge", {{.begins = milliseconds(110), .is_mute = true}});
  world.apply(order(", scheduleToStartTimeout: 100ms, startToCloseTimeout: 1h"));
  const std::string id = world.start_order();
  world.run_for(milliseconds(100));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.scheduleToStart");
  EXPECT_THAT(world.functions.stopped(), SizeIs(1));
}

TEST(ScheduleToStart, EndsOnlyTheTasksThatNoWorkerHas) {
  World world;
  world.functions.act("charge", {{.takes = hours(2), .is_mute = true},
                                 {.begins = std::nullopt},
                                 {.begins = hours(1), .is_mute = true}});
  world.apply(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: each
  type: parallel
  mode: or
  actions:
  - {function: charge, scheduleToStartTimeout: 1s, scheduleToCloseTimeout: 1d}
  - {function: charge, scheduleToStartTimeout: 1s, scheduleToCloseTimeout: 1d}
  - {function: charge, scheduleToStartTimeout: 1s, scheduleToCloseTimeout: 1d}
)");
  const std::string id = world.start_order();
  world.run_for(seconds(1));
  const Json calls = world.instance(id)["calls"];
  EXPECT_EQ(calls[0]["status"], "running");
  EXPECT_EQ(calls[1]["status"], "failed");
  EXPECT_EQ(calls[2]["status"], "failed");
}

TEST(ScheduleToStart, IsCheckedAgainAfterARestart) {
  World world;
  world.functions.act("charge", {{.begins = hours(1), .is_mute = true}});
  world.apply(order(", scheduleToStartTimeout: 1s, startToCloseTimeout: 1h"));
  const std::string id = world.start_order();
  world.clock.advance(seconds(1));
  world.step();
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.scheduleToStart");
}

TEST(Heartbeats, CountToTheMillisecondEvenIfTheRunnerDoesNotReportThem) {
  World world;
  world.functions.act("charge", {{.heartbeat = milliseconds(300),
                                  .takes = milliseconds(900),
                                  .answers = false,
                                  .is_mute = true}});
  world.apply(order(", maxInactivity: {timeout: 500ms, errorOnTimeout: true}"));
  const std::string id = world.start_order();
  world.functions.report({world.functions.tasks()[0].id, TaskStarted{}});
  world.run_for(milliseconds(1399));  // the last heartbeat is at 900 ms
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  world.run_for(milliseconds(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.heartbeat");
}

TEST(Heartbeats, AreNotExpectedBeforeAWorkerStartsTheTask) {
  World world;
  world.functions.act("charge", {{.begins = std::nullopt}});
  world.apply(order(", startToCloseTimeout: 1h, heartbeatTimeout: 10s"));
  const std::string id = world.start_order();
  world.restart();
  world.run_for(hours(2));
  EXPECT_EQ(world.instance(id)["status"], "waiting");
}

}  // namespace
}  // namespace millrace
