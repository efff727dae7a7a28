// Schedules, through the whole engine. The world starts at 2021-09-01T12:00Z, a Wednesday.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string scheduled(const std::string& cron, const std::string& more = "") {
  return fmt::format(
      "id: report\nstart: {{type: scheduled, cron: \"{}\"}}\n{}states:\n- {{id: a, type: noop}}\n",
      cron, more);
}

constexpr const char* kHourly = "30 * * * *";

class Schedule : public testing::Test {
 protected:
  /// The ticks of all instances, oldest first.
  std::vector<std::string> ticks() {
    std::vector<std::string> all;
    for (const Json& instance : world.instances()) {
      const Json how = world.history_items(instance["id"])[0]["detail"];
      EXPECT_EQ(how["by"], "schedule");
      all.push_back(how.value("tick", "triggered").substr(0, 16));
    }
    return all;
  }

  Json schedule() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return world.queries().schedule(view, "default", "report").value();
  }

  Error refused(Command command) {
    const Answered answered = world.command(std::move(command));
    world.run_until_idle();
    return (*answered)->error();
  }

  World world;
};

TEST_F(Schedule, StartsAnInstanceAtEachTick) {
  world.apply(scheduled(kHourly));
  world.run_for(hours(2));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30", "2021-09-01T13:30"));
  const Json first = world.instances()[0];
  EXPECT_EQ(first["status"], "complete");
  EXPECT_EQ(first["input"], Json::object());
  EXPECT_EQ(first["startedAt"], "2021-09-01T12:30:00.000Z");
  EXPECT_EQ(world.history_items(first["id"])[0]["detail"],
            (Json{{"by", "schedule"}, {"tick", "2021-09-01T12:30:00.000Z"}, {"revision", 1}}));
}

TEST_F(Schedule, NeverTicksEarly) {
  world.apply(scheduled(kHourly));
  world.run_for(minutes(30) - Duration(1));
  EXPECT_THAT(ticks(), IsEmpty());
  world.run_for(Duration(1));
  EXPECT_THAT(ticks(), SizeIs(1));
}

TEST_F(Schedule, NeverTicksWithoutACron) {
  world.apply("id: report\nstart: {type: scheduled}\nstates:\n- {id: a, type: noop}\n");
  world.run_for(days(400));
  EXPECT_THAT(ticks(), IsEmpty());
  EXPECT_EQ(schedule(), (Json{{"workflow", "report"}, {"paused", false}}));
}

TEST_F(Schedule, ContinuesAfterAStartByCall) {
  world.apply(scheduled(kHourly));
  const Json called = world.start("report", {{"n", 1}});
  EXPECT_EQ(world.instance(called["id"])["input"], (Json{{"n", 1}}));
  world.run_for(hours(1));
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(Schedule, KeepsTheIntervalsOfTheFormEveryAfterADowntime) {
  world.apply(scheduled("@every 10m"));
  world.run_for(minutes(25));
  world.crash();
  world.clock.advance(minutes(31));  // 12:56
  world.recover();
  world.run_for(minutes(10));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:10", "2021-09-01T12:20", "2021-09-01T12:30",
                                   "2021-09-01T13:00"));
}

TEST_F(Schedule, TicksOnceForAllMissedTicks) {
  world.apply(scheduled("0 6 * * *"));
  world.run_for(days(1));
  world.crash();
  world.clock.advance(days(3));
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(ticks(), ElementsAre("2021-09-02T06:00", "2021-09-03T06:00"));
  EXPECT_EQ(schedule()["nextTick"], "2021-09-06T06:00:00.000Z");
  world.run_for(days(1));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-02T06:00", "2021-09-03T06:00", "2021-09-06T06:00"));
}

TEST_F(Schedule, ContinuesAfterARestartBetweenTicks) {
  world.apply(scheduled(kHourly));
  world.run_for(minutes(40));
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(ticks(), SizeIs(1)) << "a tick does not fire again";
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30", "2021-09-01T13:30"));
}

TEST_F(Schedule, TicksOnceWhenTheProcessDiesAtATick) {
  world.apply(scheduled(kHourly));
  world.run_until_idle();
  world.clock.advance(minutes(31));
  world.crash();  // before the commit
  world.recover();
  world.clock.advance(minutes(29));
  world.run_until_idle();
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30"));

  world.clock.advance(minutes(31));
  world.crash_after_commit();  // after the commit of the tick
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30", "2021-09-01T13:30"));
  EXPECT_EQ(world.instances()[1]["status"], "complete");
}

TEST_F(Schedule, DoesNotTickTwiceWhenTheClockIsSetBack) {
  world.apply(scheduled(kHourly));
  world.run_for(minutes(45));
  world.clock.jump(-hours(2));
  world.run_for(minutes(30));
  EXPECT_THAT(ticks(), SizeIs(1));
  world.restart();
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), SizeIs(1)) << "engine time stops until the clock has caught up";
  world.run_for(hours(2));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30", "2021-09-01T13:30"));
}

TEST_F(Schedule, TicksOnceWhenTheClockIsSetForward) {
  world.apply(scheduled(kHourly));
  world.run_until_idle();
  world.clock.jump(days(30));
  world.run_until_idle();
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:30"));
  EXPECT_EQ(schedule()["nextTick"], "2021-10-01T12:30:00.000Z");
}

TEST_F(Schedule, TicksOnlyAfterTheTimeOfTheRevisionThatChangedIt) {
  world.apply(scheduled("0 13 * * *"));
  world.run_for(minutes(30));
  world.apply(scheduled("45 12 * * *"));
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T12:45"));
  world.apply(scheduled("15 12 * * *"));
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), SizeIs(1)) << "the tick of today was before the revision";
  world.apply("id: report\nstates:\n- {id: a, type: noop}\n");
  world.run_for(days(3));
  world.restart();
  world.run_for(days(3));
  EXPECT_THAT(ticks(), SizeIs(1));
}

TEST_F(Schedule, ContinuesWhenARevisionDoesNotChangeIt) {
  world.apply(scheduled("@every 1h"));
  world.run_for(minutes(45));
  world.apply(scheduled("@every 1h", "description: the same\n"));
  world.run_for(minutes(15));
  EXPECT_THAT(ticks(), ElementsAre("2021-09-01T13:00"));
  EXPECT_EQ(world.instances()[0]["revision"], 2);
}

TEST_F(Schedule, EndsWithItsWorkflow) {
  world.apply(scheduled(kHourly));
  world.run_for(minutes(45));
  world.must(DeleteWorkflow{.ns = "default", .id = "report", .cancel = true});
  world.run_for(days(2));
  world.restart();
  world.run_for(days(2));
  EXPECT_EQ(world.metric("millrace_instances_started_total"), 0);
  EXPECT_EQ(world.metric("millrace_timers"), 0);
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("schedules/"));

  world.apply(scheduled(kHourly));
  world.run_for(hours(1));
  EXPECT_EQ(world.metric("millrace_instances_started_total"), 1);
}

TEST_F(Schedule, EndsWithItsNamespace) {
  world.must(CreateNamespace{"shop"});
  world.apply(scheduled(kHourly), "shop");
  world.run_for(hours(1));
  EXPECT_EQ(world.metric("millrace_instances_started_total"), 1);
  world.must(DeleteNamespace{.name = "shop"});
  world.run_for(days(1));
  EXPECT_EQ(world.metric("millrace_instances_started_total"), 1);
  EXPECT_EQ(world.metric("millrace_timers"), 0);
}

TEST_F(Schedule, HoldsOneTickDuringBackpressure) {
  World busy({.processor = {.marks = {.evaluations = 1}}});
  busy.evaluator.define("think", [](const Json& input) { return QueryResult(input); });
  busy.apply("id: slow\nstates:\n- {id: a, type: noop, transform: jq(think)}\n");
  busy.apply(scheduled(kHourly));
  busy.evaluator.hold();
  busy.start("slow");
  busy.run_for(hours(5));
  EXPECT_EQ(busy.metric("millrace_instances_started_total"), 1);
  busy.evaluator.release();
  busy.run_for(minutes(1));
  EXPECT_EQ(busy.metric("millrace_instances_started_total"), 2);
  busy.run_for(minutes(30));
  EXPECT_EQ(busy.metric("millrace_instances_started_total"), 3);
}

TEST_F(Schedule, TicksWhileTheBrokerIsUnreachable) {
  world.apply(scheduled(kHourly));
  world.broker.stop();
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), SizeIs(1));
}

TEST_F(Schedule, TicksForEachOfManyWorkflows) {
  for (int i = 0; i < 100; ++i) {
    world.apply(
        fmt::format("id: w{:02}\nstart: {{type: scheduled, cron: '0 * * * *'}}\n"
                    "states:\n- {{id: a, type: noop}}\n",
                    i));
  }
  world.run_for(hours(2));
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(200));
  EXPECT_EQ(instances[0]["workflow"], "w00");
  EXPECT_EQ(instances[199]["workflow"], "w99");
}

TEST_F(Schedule, ShowsItsTicks) {
  world.apply(scheduled("CRON_TZ=Europe/Vienna 30 6 * * *"));
  world.apply("id: other\nstates:\n- {id: a, type: noop}\n");
  world.run_for(days(1));
  const Json expected{{"workflow", "report"},
                      {"cron", "CRON_TZ=Europe/Vienna 30 6 * * *"},
                      {"zone", "Europe/Vienna"},
                      {"lastTick", "2021-09-02T04:30:00.000Z"},
                      {"nextTick", "2021-09-03T04:30:00.000Z"},
                      {"paused", false}};
  const Snapshot view = Snapshot::take(world.environment()).value();
  EXPECT_EQ(world.queries().schedules(view, "default").value(),
            (Json{{"items", {expected}}, {"next", nullptr}}));
  EXPECT_EQ(schedule()["upcoming"], (Json{"2021-09-03T04:30:00.000Z", "2021-09-04T04:30:00.000Z",
                                          "2021-09-05T04:30:00.000Z", "2021-09-06T04:30:00.000Z",
                                          "2021-09-07T04:30:00.000Z"}));
  EXPECT_EQ(world.queries().schedule(view, "default", "other").error().code, "schedule.not_found");
  EXPECT_EQ(world.queries().schedule(view, "default", "none").error().code, "workflow.not_found");
}

TEST_F(Schedule, StartsAnInstanceOnTheCommandTrigger) {
  world.apply(scheduled(kHourly));
  const Json triggered = world.must(TriggerSchedule{"default", "report"});
  EXPECT_EQ(world.history_items(triggered["id"])[0]["detail"],
            (Json{{"by", "schedule"}, {"triggered", true}, {"revision", 1}}));
  EXPECT_FALSE(schedule().contains("lastTick"));
  world.run_for(hours(1));
  EXPECT_THAT(ticks(), ElementsAre("triggered", "2021-09-01T12:30"));

  world.apply("id: other\nstates:\n- {id: a, type: noop}\n");
  EXPECT_EQ(refused(TriggerSchedule{"default", "other"}).code, "schedule.not_found");
  EXPECT_EQ(refused(TriggerSchedule{"default", "none"}).code, "workflow.not_found");
}

}  // namespace
}  // namespace millrace
