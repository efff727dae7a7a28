// Hops: workflows that start or wake each other without end.
#include "model/hops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

constexpr const char* kSelf = R"(
id: self
start: {type: event, event: {type: again}}
states:
- {id: send, type: generateEvent, event: {type: again, source: self}}
)";

TEST(Hops, StopAWorkflowThatStartsItself) {
  World world;
  world.apply(kSelf);
  world.publish("again", "1");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(kMaxHops + 1))
      << "one by the published event, the others by generated events";
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.limits.hops"));
  const Json last = world.history_items(world.instances().back()["id"]);
  EXPECT_EQ(last[2]["detail"]["deadLetter"], "millrace.limits.hops");
  world.publish("again", "2");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2 * (kMaxHops + 1))) << "a new chain has a new count";
}

TEST(Hops, StopTwoInstancesThatWakeEachOther) {
  World world;
  world.apply(R"(
id: ping
states:
- {id: wait, type: consumeEvent, event: {type: ping}, transition: send}
- {id: send, type: generateEvent, event: {type: pong, source: ping}, transition: wait}
)");
  world.apply(R"(
id: pong
states:
- {id: wait, type: consumeEvent, event: {type: pong}, transition: send}
- {id: send, type: generateEvent, event: {type: ping, source: pong}, transition: wait}
)");
  world.start("ping");
  world.start("pong");
  world.publish("ping", "1");
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.limits.hops"));
  EXPECT_EQ(world.metric("millrace_instances_woken_total"), kMaxHops + 1);
  for (const Json& instance : world.instances()) EXPECT_EQ(instance["status"], "waiting");
}

TEST(Hops, StopAnInstanceThatWakesItselfBelowItsLimitOfTransitions) {
  World world{{.processor = {.engine = {.limits = {.transitions_per_instance = 20}}}}};
  world.apply(R"(
id: own
states:
- {id: wait, type: consumeEvent, event: {type: again}, transition: send}
- {id: send, type: generateEvent, event: {type: again, source: own}, transition: wait}
)");
  world.start("own");
  world.publish("again", "1");
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.limits.hops"));
  EXPECT_EQ(world.metric("millrace_instances_woken_total"), kMaxHops + 1);
  EXPECT_EQ(world.instances().at(0)["status"], "waiting")
      << "each event begins the count of transitions again, and the hops end the chain";
}

TEST(Hops, TakeTheHighestCountOfTheEventsOfAGroup) {
  World world;
  world.apply(R"(
id: both
start: {type: eventsAnd, events: [{type: again}, {type: other}]}
states:
- {id: send, type: generateEvent, event: {type: again, source: both}}
)");
  world.publish("again", "1");
  for (uint32_t i = 0; i < kMaxHops + 20; ++i) world.publish("other", std::to_string(i));
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.limits.hops"));
}

TEST(Hops, AreResetByADelay) {
  for (const char* definition : {R"(
id: hourly
start: {type: event, event: {type: again}}
states:
- {id: send, type: generateEvent, delay: PT1H, event: {type: again, source: self}}
)",
                                 R"(
id: hourly
start: {type: event, event: {type: again}}
states:
- {id: rest, type: delay, duration: PT1H, transition: send}
- {id: send, type: generateEvent, event: {type: again, source: self}}
)"}) {
    World world;
    world.apply(definition);
    world.publish("again", "1");
    world.run_for(hours(kMaxHops + 20));
    EXPECT_GE(world.metric("millrace_instances_started_total"), kMaxHops + 20);
    EXPECT_THAT(world.dead_letters(), SizeIs(0));
  }
}

TEST(Hops, SurviveARestart) {
  World world;
  world.apply(R"(
id: slow
start: {type: event, event: {type: again}}
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {n: "1"}}, timeout: PT9S, catch: [{error: "*", transition: send}]}
- {id: send, type: generateEvent, event: {type: again, source: slow}}
)");
  Event event{.id = "1", .source = "/", .type = "again"};
  event.extensions[std::string(kHopsAttribute)] = static_cast<int32_t>(kMaxHops);
  world.publish(event);
  world.run_until_idle();
  world.restart();
  world.run_for(std::chrono::seconds(9));
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.limits.hops"));
}

}  // namespace
}  // namespace millrace
