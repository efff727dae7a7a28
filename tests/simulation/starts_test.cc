// Starts by events, and duplicates, through the whole engine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// After this time the broker stores an event with the same message id again.
constexpr std::chrono::minutes kBrokersWindow{2};

constexpr const char* kOnOrder = R"(
id: on-order
start: {type: event, event: {type: order.placed, context: {region: "^eu-"}}}
states:
- {id: done, type: noop}
)";

TEST(StartByEvent, CreatesOneInstanceForEachMatchingEvent) {
  World world;
  world.apply(kOnOrder);
  world.publish("order.placed", "1", {{"n", 1}}, {{"region", "eu-west"}});
  world.publish("order.placed", "2", {{"n", 2}}, {{"region", "us-east"}});
  world.publish("order.placed", "3", {{"n", 3}});
  world.publish("order.paid", "4", {{"n", 4}}, {{"region", "eu-west"}});
  world.publish("order.placed", "5", {{"n", 5}}, {{"region", "eu-north"}});
  world.run_until_idle();

  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0]["input"], (Json{{"order.placed", {{"n", 1}}}}));
  EXPECT_EQ(instances[1]["input"], (Json{{"order.placed", {{"n", 5}}}}));
  EXPECT_EQ(instances[0]["status"], "complete");
  const Json started = world.history_items(instances[0]["id"])[0];
  EXPECT_EQ(started["detail"],
            (Json{{"by", "event"},
                  {"revision", 1},
                  {"event", {{"type", "order.placed"}, {"source", "/test"}, {"id", "1"}}}}));
}

TEST(StartByEvent, PassesTheWholeEventIfTheKeyCaptureAsksForIt) {
  World world;
  world.apply(R"(
id: whole
start: {type: event, event: {type: t, capture: event}}
states:
- {id: done, type: noop}
)");
  world.publish("t", "7", {{"n", 1}}, {{"region", "eu"}});
  world.run_until_idle();
  const Json input = world.instances().at(0)["input"]["t"];
  EXPECT_EQ(input["id"], "7");
  EXPECT_EQ(input["region"], "eu");
  EXPECT_EQ(input["data"], (Json{{"n", 1}}));
}

TEST(StartByEvent, UsesTheFirstMatchingEntryOfEventsXor) {
  World world;
  world.apply(R"(
id: either
start:
  type: eventsXor
  events:
  - {type: a, context: {kind: x}}
  - {type: a, capture: event}
  - {type: b}
states:
- {id: done, type: noop}
)");
  // The event matches two entries, and starts one instance, by the first entry.
  world.publish("a", "1", 1, {{"kind", "x"}});
  world.publish("a", "2", 2);
  world.publish("b", "3", 3);
  world.publish("c", "4", 4);
  world.run_until_idle();
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(3));
  EXPECT_EQ(instances[0]["input"], (Json{{"a", 1}}));
  EXPECT_EQ(instances[1]["input"]["a"]["id"], "2");
  EXPECT_EQ(instances[2]["input"], (Json{{"b", 3}}));
}

TEST(Events, ReachEachStartAndInstanceThatTheyMatch) {
  World world;
  for (const char* id : {"first", "second"}) {
    world.apply(
        fmt::format("id: {}\nstart: {{type: event, event: {{type: t}}}}\n"
                    "states: [{{id: wait, type: consumeEvent, event: {{type: t}}}}]",
                    id));
  }
  world.publish("t", "1", 1);
  world.run_until_idle();
  auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  for (const Json& instance : instances) {
    EXPECT_EQ(instance["status"], "waiting") << "no instance is woken by the event that started it";
  }

  world.publish("t", "2", 2);
  world.run_until_idle();
  instances = world.instances();
  ASSERT_THAT(instances, SizeIs(4));
  EXPECT_EQ(instances[0]["status"], "complete");
  EXPECT_EQ(instances[0]["output"], (Json{{"t", 2}}));
  EXPECT_EQ(instances[1]["output"], (Json{{"t", 2}}));
  EXPECT_EQ(instances[2]["status"], "waiting");
  EXPECT_EQ(instances[3]["status"], "waiting");
}

TEST(Events, StayWithinTheirNamespace) {
  World world;
  world.apply(kOnOrder);
  world.must(CreateNamespace{.name = "other"});
  Event event{.id = "1", .source = "/test", .type = "order.placed"};
  event.extensions["region"] = "eu-west";
  world.publish(event, "other");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST(Events, BecomeDeadLettersWhenTheirNamespaceDoesNotExist) {
  World world;
  world.apply(kOnOrder);
  Event event{.id = "1", .source = "/test", .type = "order.placed"};
  world.publish(event, "nowhere");
  event.extensions["region"] = "eu-west";
  world.publish(event);
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), ElementsAre("namespace.not_found"));
  EXPECT_EQ(world.broker.others().at(0).message.subject,
            "millrace.dlq.nowhere.namespace%2Enot_found");
  EXPECT_THAT(world.instances(), SizeIs(1)) << "the next event is read";
}

TEST(Events, BecomeDeadLettersWhenTheyCannotBeRead) {
  World world;
  world.apply(kOnOrder);
  world.broker.inject({.subject = "millrace.events.default.t", .data = "no event"});
  world.broker.inject({.subject = "millrace.events.default.t",
                       .headers = {{"ce-id", "1"}, {"ce-specversion", "1.0"}},
                       .data = "{}"});
  world.broker.inject({.subject = "millrace.events.", .data = "{}"});
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), SizeIs(3));
  EXPECT_EQ(world.metric("millrace_events_unreadable_total"), 3);
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.processor().cursor().sequence, 4U);
}

TEST(Duplicates, AreDroppedIfTheFirstEventHadAnEffect) {
  World world;
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  world.apply(kOnOrder);  // the first event had no effect
  world.clock.advance(kBrokersWindow);
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));

  world.restart();
  world.clock.advance(kBrokersWindow);
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.publish("order.placed", "2", 2, {{"region", "eu-west"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST(Duplicates, AreOnlyEventsOfTheSameNamespaceAndSource) {
  World world;
  world.apply(kOnOrder);
  world.must(CreateNamespace{.name = "other"});
  world.apply(kOnOrder, "other");
  Event event{.id = "1", .source = "/test", .type = "order.placed"};
  event.extensions["region"] = "eu-west";
  world.publish(event);
  world.publish(event, "other");
  event.source = "/elsewhere";
  world.publish(event);
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_instances_started_total"), 3);
}

TEST(Duplicates, AreAppliedAgainAfterTheDeduplicationWindow) {
  World world;
  world.apply(kOnOrder);
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  world.clock.advance(std::chrono::minutes(10));
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
  world.clock.advance(kBrokersWindow);
  world.publish("order.placed", "1", 1, {{"region", "eu-west"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

}  // namespace
}  // namespace millrace
