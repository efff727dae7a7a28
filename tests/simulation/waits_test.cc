// Waits for events, timeouts and delays, and which of them counts if several come together.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A workflow that waits up to ten seconds for the event `paid` of its own order.
constexpr const char* kPayment = R"(
id: payment
states:
- id: wait
  type: consumeEvent
  timeout: PT10S
  event: {type: paid, context: {order: jq(.order)}}
  catch:
  - {error: direktiv.stateTimeout, transition: late}
  transition: settled
- {id: settled, type: noop}
- {id: late, type: noop}
)";

constexpr const char* kNap = R"(
id: nap
states:
- {id: sleep, type: delay, duration: PT10S}
)";

/// The state in which the started instance is.
std::string state_of(World& world, const Json& started) {
  return world.instance(started["id"])["state"];
}

TEST(WaitForEvent, EndsWithAMatchingEventOnly) {
  World world;
  world.apply(kPayment);
  const Json one = world.start("payment", {{"order", "A"}});
  const Json two = world.start("payment", {{"order", "B"}});
  const Json same = world.start("payment", {{"order", "A"}});
  world.publish("paid", "1", 5, {{"order", "A"}});
  world.publish("paid", "2", 6);
  world.run_until_idle();
  EXPECT_EQ(world.instance(one["id"])["output"], (Json{{"order", "A"}, {"paid", 5}}));
  EXPECT_EQ(world.instance(same["id"])["status"], "complete")
      << "one event wakes all matching instances";
  EXPECT_EQ(world.instance(two["id"])["status"], "waiting");
  EXPECT_THAT(world.history(one["id"]), ElementsAre("started", "entered wait", "woken wait",
                                                    "entered settled", "ended settled"));
}

TEST(WaitForEvent, UsesAnEventOnce) {
  World world;
  world.apply(R"(
id: twice
states:
- {id: first, type: consumeEvent, event: {type: t}, transition: second}
- {id: second, type: consumeEvent, event: {type: t}}
)");
  const Json started = world.start("twice");
  world.publish("t", "1", 1);
  world.run_until_idle();
  EXPECT_EQ(state_of(world, started), "second");
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(state_of(world, started), "second");
  world.publish("t", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["output"], (Json{{"t", 2}}));
}

TEST(WaitForEvent, AppliesSeveralEventsOfOneBatchInOrder) {
  World world;
  world.apply(R"(
id: three
start: {type: event, event: {type: a}}
states:
- {id: first, type: consumeEvent, event: {type: b}, transition: second}
- {id: second, type: consumeEvent, event: {type: c}}
)");
  world.publish("b", "0", 0);
  world.publish("a", "1", 1);
  world.publish("c", "2", 2);
  world.publish("b", "3", 3);
  world.publish("c", "4", 4);
  world.run_until_idle();
  EXPECT_EQ(world.instances().at(0)["output"], (Json{{"a", 1}, {"b", 3}, {"c", 4}}));
}

TEST(WaitForEvent, KeepsAcrossARestartOfMillraceTheReceivedEventsOfAStateOfTypeEventAnd) {
  World world;
  world.apply(R"(
id: both
states:
- id: wait
  type: eventAnd
  events: [{type: a}, {type: b}]
)");
  const Json started = world.start("both");
  world.publish("b", "1", 1);
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_listeners"), 1);
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_listeners"), 1);
  world.publish("b", "2", 2);
  world.publish("a", "3", 3);
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["output"], (Json{{"a", 3}, {"b", 1}}));
}

/// A workflow with two waits for an event, each of them after an expression that a jq worker
/// evaluates.
constexpr const char* kThinks = R"(
id: thinks
start: {type: event, event: {type: begin}}
states:
- {id: think, type: noop, transform: jq(slow), transition: wait}
- {id: wait, type: consumeEvent, event: {type: a}, transform: jq(slow), transition: again}
- {id: again, type: eventAnd, events: [{type: b}, {type: c, context: {region: eu}}]}
)";

class EvaluatingInstance : public testing::Test {
 protected:
  EvaluatingInstance() {
    world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
    world.apply(kThinks);
    world.evaluator.hold();
  }
  std::string state() { return world.instances().at(0)["state"]; }
  size_t kept() {
    size_t count = 0;
    for (const auto& [key, value] : world.rows()) count += key.starts_with("recent/") ? 1 : 0;
    return count;
  }
  World world;
};

TEST_F(EvaluatingInstance, MissesNoEvent) {
  for (const bool restarts : {false, true}) {
    const auto restart = [&] {
      if (!restarts) return;
      world.restart();
      world.evaluator.hold();
      world.run_until_idle();
    };
    const size_t before = world.instances().size();
    const std::string round = restarts ? "r" : "";
    world.publish("a", round + "0", 0);  // comes before the instance starts
    world.publish("begin", round + "1", 1);
    world.publish("c", round + "2", 2, {{"region", "eu"}});
    world.publish("a", round + "3", 3);  // from here on events are kept events
    world.run_until_idle();
    restart();
    world.publish("a", round + "4", 4);
    world.publish("c", round + "5", 5, {{"region", "us"}});
    world.publish("c", round + "6", 6, {{"region", "eu"}});
    world.run_until_idle();
    ASSERT_EQ(world.evaluator.waiting(), 1U);
    world.evaluator.answer();  // to `wait`, which uses event 3 and starts another evaluation
    world.run_until_idle();
    restart();
    world.publish("b", round + "7", 7);
    world.publish("c", round + "8", 8, {{"region", "eu"}});
    world.run_until_idle();
    world.evaluator.answer();
    world.run_until_idle();
    const Json instance = world.instances().at(before);
    EXPECT_EQ(instance["status"], "complete");
    EXPECT_EQ(instance["output"], (Json{{"begin", 1}, {"a", 3}, {"b", 7}, {"c", 6}}))
        << "in the order of the stream";
    EXPECT_EQ(kept(), 0U) << "no instance can come to wait for them";
  }
}

TEST_F(EvaluatingInstance, GetsNoEventFromBeforeItsStart) {
  world.publish("begin", "1", 1);
  world.run_until_idle();
  world.publish("a", "2", 2);  // kept for the first instance
  world.run_until_idle();
  world.publish("begin", "3", 3);
  world.publish("begin", "1", 1);
  world.run_until_idle();
  world.evaluator.release();
  world.run_until_idle();
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0]["state"], "again");
  EXPECT_EQ(instances[1]["state"], "wait");
}

TEST_F(EvaluatingInstance, AppliesAnEventOnceWhenItIsSentAgain) {
  world.publish("begin", "1", 1);
  world.publish("a", "2", 2);
  world.run_until_idle();
  world.clock.advance(std::chrono::minutes(3));
  world.publish("a", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(kept(), 1U);
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(state(), "again");

  // The kept event has had an effect, so a duplicate of it is dropped.
  world.restart();
  world.clock.advance(std::chrono::minutes(3));
  world.publish("begin", "3", 3);
  world.publish("a", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(world.instances().at(1)["state"], "wait");
}

TEST_F(EvaluatingInstance, KeepsNoEventThatItCannotWaitFor) {
  world.publish("begin", "1", 1);
  world.run_until_idle();
  world.evaluator.answer();
  world.run_until_idle();
  EXPECT_EQ(state(), "wait");
  world.publish("other", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(kept(), 0U);
  world.publish("a", "3", 3);
  world.publish("other", "4", 4);
  world.publish("b", "6", 6);
  world.must(CreateNamespace{.name = "elsewhere"});
  world.publish(Event{.id = "5", .source = "/test", .type = "b"}, "elsewhere");
  world.run_until_idle();
  EXPECT_EQ(kept(), 1U);
  world.must(DeleteWorkflow{.ns = "default", .id = "thinks", .cancel = true});
  EXPECT_EQ(kept(), 0U);
}

TEST(WaitForEvent, MissesNoEventIfAStepReachesItsLimitOfTransitions) {
  World world{{.processor = {.engine = {.limits = {.transitions_per_step = 2}}}}};
  world.apply(R"(
id: long
start: {type: event, event: {type: begin}}
states:
- {id: s1, type: noop, transition: s2}
- {id: s2, type: noop, transition: s3}
- {id: s3, type: noop, transition: s4}
- {id: s4, type: noop, transition: s5}
- {id: s5, type: noop, transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}}
)");
  world.publish("begin", "1", 1);
  world.publish("go", "2", 2);
  world.broker.pump();
  world.processor().turn();
  EXPECT_EQ(world.instances().at(0)["status"], "running");
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.instances().at(0)["output"], (Json{{"begin", 1}, {"go", 2}}));
}

TEST(WaitForEvent, LivesOnBeyondTheLimitOfTransitionsAlsoOverRestarts) {
  World world{{.processor = {.engine = {.limits = {.transitions_per_instance = 10}}}}};
  world.apply(R"(
id: rounds
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: rest}
- {id: rest, type: delay, duration: PT1M, transition: pay}
- {id: pay, type: action, action: {function: charge}, transition: wait}
)");
  const Json started = world.start("rounds");
  for (int round = 0; round < 30; ++round) {
    world.publish("go", std::to_string(round));
    world.run_until_idle();
    world.run_for(std::chrono::minutes(1));
    if (round % 7 == 3) {
      world.restart();
      world.run_until_idle();
    }
    ASSERT_EQ(state_of(world, started), "pay") << round;
    world.functions.answer(world.functions.tasks().back().id, {{"paid", round}});
    world.run_until_idle();
    ASSERT_EQ(state_of(world, started), "wait") << round;
  }
}

TEST(WaitForEvent, FailsInALoopThatEndsItsWaitsAtOnce) {
  World world{{.processor = {.engine = {.limits = {.transitions_per_instance = 10}}}}};
  world.apply("{id: done, states: [{id: out, type: noop}]}");
  world.apply(R"(
id: spins
functions: [{id: f, type: subflow, workflow: done}]
states:
- {id: call, type: action, action: {function: f}, transition: call}
)");
  const Json started = world.start("spins");
  EXPECT_EQ(world.instance(started["id"])["error"]["code"], "millrace.limits.transitions");
}

TEST(Timeout, FiresAtItsDeadlineAndNotBefore) {
  World world;
  world.apply(kPayment);
  const Json started = world.start("payment", {{"order", "A"}});
  world.run_for(Duration(9'999));
  EXPECT_EQ(state_of(world, started), "wait");
  world.run_for(Duration(1));
  EXPECT_EQ(state_of(world, started), "late");
  EXPECT_EQ(world.metric("millrace_timers"), 0);
}

TEST(Timeout, WinsOverAnEventStampedAtOrAfterItsDeadline) {
  const struct {
    int64_t stamped;  // the broker's timestamp, in ms after the start; the deadline is at 10000
    int64_t applied;
    const char* state;
  } rows[] = {
      {9'999, 9'999, "settled"},   {9'999, 10'000, "settled"}, {9'999, 99'000, "settled"},
      {10'000, 10'000, "late"},    {10'000, 99'000, "late"},   {10'001, 10'001, "late"},
      {50'000, 3'600'000, "late"},
  };
  for (const auto& row : rows) {
    // The event comes while millrace runs, or while millrace is down.
    for (const bool down : {false, true}) {
      for (const bool more : {false, true}) {
        World world;
        world.apply(kPayment);
        const Json started = world.start("payment", {{"order", "A"}});
        if (down) world.crash();
        world.clock.advance(Duration(row.stamped));
        if (more) world.publish("other", "0");
        world.publish("paid", "1", 1, {{"order", "A"}});
        if (more) world.publish("other", "2");
        world.clock.advance(Duration(row.applied - row.stamped));
        if (down) world.recover();
        while (world.step(1)) {
        }
        EXPECT_EQ(state_of(world, started), row.state)
            << row.stamped << " " << row.applied << (down ? " down" : "") << (more ? " more" : "");
      }
    }
  }
}

TEST(Timeout, WinsOverSeveralEventsStampedAtItsDeadline) {
  // The events have the same timestamp, and each event but the last shows that further events
  // follow.
  World world;
  world.apply(kPayment);
  world.run_for(seconds(1));
  world.publish("other", "0");
  const Json started = world.start("payment", {{"order", "A"}});
  world.broker.disconnect();
  world.run_until_idle();
  world.clock.advance(seconds(10));
  world.publish("other", "1");
  world.publish("paid", "2", 1, {{"order", "A"}});
  world.publish("paid", "3", 1, {{"order", "A"}});
  world.broker.reconnect();
  world.run_until_idle();
  EXPECT_EQ(state_of(world, started), "late");
}

TEST(Timeout, IsHeldWhileTheStreamHasUnreadEventsOrCannotBeRead) {
  World world;
  world.apply(kPayment);
  world.apply(kNap);
  const Json payment = world.start("payment", {{"order", "A"}});
  const Json nap = world.start("nap");
  world.broker.disconnect();
  world.run_until_idle();
  for (int i = 0; i < 5; ++i) world.publish("other", std::to_string(i));
  world.run_for(hours(1));
  EXPECT_EQ(state_of(world, payment), "wait");
  EXPECT_EQ(world.instance(nap["id"])["status"], "complete")
      << "a delay does not wait for the stream";

  world.broker.reconnect();
  world.step(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(state_of(world, payment), "wait") << i;
    world.step(1);
  }
  world.run_until_idle();
  EXPECT_EQ(state_of(world, payment), "late");
  EXPECT_EQ(world.history_items(payment["id"]).back()["time"], format_rfc3339(world.clock.now()))
      << "the time of the event, not of the deadline";
}

TEST(Timeout, IsIgnoredByAnInstanceThatAnEventWoke) {
  World world;
  world.apply(R"(
id: again
states:
- id: first
  type: consumeEvent
  timeout: PT10S
  event: {type: a}
  transition: second
- id: second
  type: consumeEvent
  timeout: PT10S
  event: {type: b}
)");
  const Json started = world.start("again");
  world.broker.disconnect();
  world.run_until_idle();
  world.run_for(seconds(9));
  world.publish("a", "1");
  world.run_for(seconds(5));  // the first timeout is due, and is held
  world.broker.reconnect();
  world.run_until_idle();
  EXPECT_EQ(state_of(world, started), "second");
  world.run_for(Duration(9'999));
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting")
      << "the timeout counts from the entry of the state";
  world.run_for(Duration(1));
  EXPECT_EQ(world.instance(started["id"])["error"]["code"], "direktiv.stateTimeout");
}

TEST(EngineTime, EndsADelayThatElapsedWhileMillraceWasDown) {
  World world;
  world.apply(kNap);
  const Json started = world.start("nap");
  world.run_for(seconds(4));
  world.restart();
  world.run_for(Duration(5'999));
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting");
  world.crash();
  world.clock.advance(hours(5));
  world.recover();
  world.broker.disconnect();
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["status"], "complete");
}

TEST(EngineTime, NeverGoesBack) {
  World world;
  world.apply(kNap);
  const Json before = world.start("nap");
  world.clock.jump(-hours(1));
  const Json started = world.start("nap");
  EXPECT_EQ(world.instance(started["id"])["startedAt"], world.instance(before["id"])["startedAt"]);
  world.restart();
  const Json later = world.start("nap");
  EXPECT_EQ(world.instance(later["id"])["startedAt"], world.instance(before["id"])["startedAt"]);

  world.run_for(hours(1));
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting") << "no timer fires early";
  world.run_for(seconds(10));
  EXPECT_EQ(world.instance(started["id"])["status"], "complete");
  for (const Json& instance : world.instances()) {
    EXPECT_EQ(instance["endedAt"], format_rfc3339(world.clock.now()));
  }
}

TEST(EngineTime, MayJumpForward) {
  World world;
  world.apply(kNap);
  const Json started = world.start("nap");
  world.clock.advance(hours(24 * 365));
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["status"], "complete");
}

}  // namespace
}  // namespace millrace
