// `$instance`, through the whole engine: how the instance was started, restarts, ends, and secrets.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::IsEmpty;
using testing::SizeIs;

/// Shows `$instance` as its output. `start`: the start of the workflow.
std::string shows(const std::string& start) {
  return "id: shows\n" + start +
         "states: [{id: show, type: noop, transform: '{instance: $instance}'}]\n";
}

constexpr const char* kAsks = R"(
id: asks
start: {type: event, event: {type: order.placed}}
states:
- id: ask
  type: generateEvent
  event:
    type: price.asked
    source: asks
    context: {correlationid: jq($instance.id)}
  transition: wait
- id: wait
  type: consumeEvent
  event: {type: price.given, context: {correlationid: jq($instance.id)}}
  transform: '{order: $instance.event.id, price: .["price.given"]}'
)";

/// The number of rows of instances that contain the text.
size_t rows_with(const World& world, std::string_view text) {
  size_t count = 0;
  for (const auto& [key, value] : world.rows()) {
    const bool is_instance = key.starts_with("live/") || key.starts_with("ended/");
    if (is_instance && value.find(text) != std::string::npos) ++count;
  }
  return count;
}

Json shown(World& world, size_t which = 0) {
  return instances_of(world, "shows").at(which)["output"]["instance"];
}

TEST(InstanceName, HasTheAttributesOfTheStartingEvent) {
  World world;
  world.apply(shows("start: {type: event, event: {type: order.placed}}\n"));
  world.publish("order.placed", "7", {{"n", 1}}, {{"region", "eu"}, {"level", 3}});
  world.run_until_idle();
  const Json instance = shown(world);
  EXPECT_EQ(instance["event"], Json::parse(R"({"specversion": "1.0", "id": "7", "source": "/test",
              "type": "order.placed", "datacontenttype": "application/json", "region": "eu",
              "level": 3})"));
  EXPECT_EQ(instance["id"], world.instances()[0]["id"]);
  EXPECT_EQ(instance["namespace"], "default");
  EXPECT_EQ(instance["workflow"], "shows");
  EXPECT_EQ(instance["parent"], nullptr);
}

TEST(InstanceName, HasTheEventThatMatchedOneOfSeveralEntries) {
  World world;
  world.apply(shows("start: {type: eventsXor, events: [{type: paid}, {type: packed}]}\n"));
  world.publish("packed", "1");
  world.run_until_idle();
  EXPECT_EQ(shown(world)["event"]["type"], "packed");
}

TEST(InstanceName, HasTheEventsOfAGroupInTheOrderOfTheEntries) {
  World world;
  world.apply(shows("start: {type: eventsAnd, events: [{type: paid}, {type: packed}]}\n"));
  world.publish("packed", "1");
  world.run_until_idle();
  world.restart();
  world.publish("paid", "2");
  world.run_until_idle();
  const Json events = shown(world)["event"];
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0]["id"], "2");
  EXPECT_EQ(events[1]["id"], "1");
}

TEST(InstanceName, HasTheKeyAndTheRevisionOfACall) {
  World world;
  world.apply(shows(""));
  world.apply(shows("version: second\n"));
  const Json started = world.start("shows", Json::object(), "order-7");
  const Json instance = shown(world);
  EXPECT_EQ(instance["id"], started["id"]);
  EXPECT_EQ(instance["key"], "order-7");
  EXPECT_EQ(instance["revision"], 2);
  EXPECT_EQ(instance["event"], nullptr);
  world.start("shows");
  EXPECT_EQ(shown(world, 1)["key"], nullptr);
}

TEST(InstanceName, HasNoEventForASchedule) {
  World world;
  world.apply(shows("start: {type: scheduled, cron: '30 * * * *'}\n"));
  world.run_for(hours(1));
  const Json instance = shown(world);
  EXPECT_EQ(instance["event"], nullptr);
  EXPECT_EQ(instance["startedAt"], "2021-09-01T12:30:00.000Z");
}

TEST(InstanceName, HasTheCallerOfASubflow) {
  World world;
  world.apply(shows("start: {type: event, event: {type: order.placed}}\n"));
  world.apply(R"(
id: calls
functions: [{id: f, type: subflow, workflow: shows}]
states: [{id: call, type: action, action: {function: f}}]
)");
  const Json parent = world.start("calls");
  EXPECT_EQ(shown(world)["parent"], parent["id"]);
  EXPECT_EQ(shown(world)["event"], nullptr) << "no event started it";
}

TEST(InstanceName, CorrelatesAReplyWithTheInstanceThatAskedAlsoAfterARestart) {
  World world;
  world.apply(kAsks);
  world.publish("order.placed", "a");
  world.publish("order.placed", "b");
  world.run_until_idle();
  world.restart();
  const std::vector<Event> asked = world.events("price.asked");
  ASSERT_THAT(asked, SizeIs(2));
  const auto asker = std::get<std::string>(asked[1].extensions.at("correlationid"));
  const std::string order = asker == world.instances()[1]["id"] ? "b" : "a";
  world.publish("price.given", "1", 5, {{"correlationid", "another"}});
  world.publish("price.given", "2", 7, {{"correlationid", asker}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(asker)["output"], (Json{{"order", order}, {"price", 7}}));
  EXPECT_EQ(count(world, "asks", "waiting"), 1U);
}

TEST(InstanceName, IsTheSameWhenAVisitIsRepeatedAfterACrash) {
  World world;
  world.evaluator.hold();
  world.apply(R"(
id: shows
start: {type: event, event: {type: t}}
states: [{id: show, type: noop, transform: {instance: jq($instance), slow: jq(first(.n))}}]
)");
  world.evaluator.define("first(.n)", [](const Json&) { return QueryResult(LazyJson(Json(1))); });
  world.publish("t", "7");
  world.run_until_idle();
  world.restart();
  world.run_until_idle();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(shown(world)["event"]["id"], "7");
  EXPECT_EQ(shown(world)["attempt"], 1);
}

TEST(InstanceName, KeepsTheStartingEventOnlyForDefinitionsThatNameIt) {
  World world;
  world.apply(R"(
id: waits
start: {type: event, event: {type: t}}
states: [{id: wait, type: consumeEvent, event: {type: never}}]
)");
  world.publish("t", "1", nullptr, {{"mark", "the-mark"}});
  world.run_until_idle();
  EXPECT_EQ(rows_with(world, "the-mark"), 0U);

  world.apply(kAsks);
  world.publish("order.placed", "2", nullptr, {{"mark", "the-mark"}});
  world.run_until_idle();
  EXPECT_EQ(rows_with(world, "the-mark"), 1U);
  const std::string id = instances_of(world, "asks").at(0)["id"];
  world.publish("price.given", "3", 7, {{"correlationid", id}});
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  world.restart();
  EXPECT_EQ(rows_with(world, "the-mark"), 1U) << "a restart of the instance needs it";
  world.must(DeleteInstance{"default", *parse_instance_id(id)});
  EXPECT_EQ(rows_with(world, "the-mark"), 0U);
}

TEST(InstanceName, StaysThatOfTheStartWhenAnInstanceIsStartedAgain) {
  World world;
  world.apply(R"(
id: shows
start: {type: event, event: {type: t}}
states:
- {id: log, type: noop, transform: '{instance: $instance}', transition: fails}
- {id: fails, type: error, error: some.error, message: no}
)");
  world.publish("t", "7");
  world.run_until_idle();
  const std::string id = world.instances().at(0)["id"];
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(world.status(id), "failed");
    EXPECT_EQ(shown(world)["event"]["id"], "7");
    world.restart();
    world.must(RestartInstance{"default", *parse_instance_id(id)});
  }
  EXPECT_EQ(shown(world)["event"]["id"], "7");
  EXPECT_EQ(shown(world)["startedAt"], "2021-09-01T12:00:00.000Z");
}

TEST(InstanceName, IsSealedWithTheInstance) {
  World world;
  world.apply(std::string(kAsks) + "sealed: true\n");
  world.publish("order.placed", "7", nullptr, {{"mark", "the-mark"}});
  world.run_until_idle();
  EXPECT_EQ(rows_with(world, "the-mark"), 0U) << "the row is sealed";
  const std::string id = world.instances().at(0)["id"];
  world.restart();
  world.publish("price.given", "1", 7, {{"correlationid", id}});
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.instance(id)["output"], "(sealed)");
}

}  // namespace
}  // namespace millrace
