// Instances with data of more than 64 KB: their programs are evaluated outside the engine, and
// their data is the same as if it were small, also if the process dies while they are parked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::Ge;
using testing::SizeIs;

constexpr const char* kUsesLargeData = R"(
id: order
start: {type: event, event: {type: big}}
functions: [{id: item, type: subflow, workflow: item}]
states:
- {id: grow, type: noop, log: jq(.big.n), transform: '. + {m: 1}', transition: choose}
- id: choose
  type: switch
  conditions:
  - {condition: .m == 2, transition: keep}
  - {condition: .big.items, transition: keep}
- id: keep
  type: setter
  variables: [{key: all, scope: instance, value: jq(.)}]
  transition: each
- id: each
  type: foreach
  array: .big.items
  action: {function: item, input: {text: jq(.text)}}
  transition: get
- id: get
  type: getter
  variables: [{key: all, scope: instance}]
  transform: {m: jq(.m), calls: jq(.return), kept: jq(.var.all.big.items), n: jq(.var.all.big.n)}
)";
constexpr const char* kItem = "id: item\nstates: [{id: s, type: noop}]\n";

/// The data of the event `big`, of more than 64 KB, and the output of its instance.
Json large_data() {
  const Json items = {{{"text", std::string(kLargeJson + 1, 'x')}}, {{"text", "y"}}};
  return {{"n", 7}, {"items", items}};
}
Json output() {
  const Json data = large_data();
  return {{"m", 1}, {"calls", data["items"]}, {"kept", data["items"]}, {"n", 7}};
}

/// Expects the output of the only instance of `order`, whose two subflows have completed as well.
void expect_outputs(World& world) {
  size_t orders = 0;
  for (const Json& one : world.instances()) {
    EXPECT_EQ(one["status"], "complete");
    if (one["workflow"] != "order") continue;
    ++orders;
    EXPECT_EQ(one["output"], output());
  }
  EXPECT_EQ(orders, 1U);
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST(LargeDataOfInstances, IsEvaluatedOutsideTheEngine) {
  World world;
  world.apply(kItem);
  world.apply(kUsesLargeData);
  world.publish("big", "1", large_data());
  world.run_until_idle();
  EXPECT_THAT(world.evaluator.asked(), Ge(6U));
  expect_outputs(world);
}

TEST(LargeDataOfInstances, IsKeptByAProcessThatDiesWhileAnInstanceIsParked) {
  World world;
  world.evaluator.hold();
  world.apply(kItem);
  world.apply(kUsesLargeData);
  world.publish("big", "1", large_data());
  world.run_until_idle();
  for (int i = 0; i < 100 && world.evaluator.waiting() > 0; ++i) {
    // The foreach needs two evaluations in one visit, which begins again with each process.
    if (i % 2 == 0) world.restart();
    world.run_until_idle();
    world.evaluator.answer();
    world.run_until_idle();
  }
  expect_outputs(world);
}

TEST(LargeDataOfInstances, HasAllLargeEventsOfAnEventAnd) {
  World world;
  world.apply(R"(
id: both
states:
- id: wait
  type: eventAnd
  events: [{event: {type: b}}, {event: {type: a}}, {event: {type: b, context: {n: 2}}}]
)");
  const Json both = world.start("both", {{"a", "before"}, {"aa", 1}, {"z", 2}});
  const std::string text(kLargeJson, 'x');
  world.publish("b", "1", text + "1");
  world.publish("a", "2", text + "2");
  world.restart();
  world.publish("b", "3", text + "3", {{"n", 2}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(both["id"])["output"],
            (Json{{"a", text + "2"}, {"aa", 1}, {"b", {text + "1", text + "3"}}, {"z", 2}}));
}

TEST(LargeDataOfInstances, IsNotReceivedWithoutALimit) {
  World world;
  std::string entries;
  for (int i = 0; i < 18; ++i) entries += "  - {event: {type: a}}\n";
  world.apply("id: all\nstates:\n- id: wait\n  type: eventAnd\n  events:\n" + entries +
              "  catch: [{error: millrace.limits.data, transition: caught}]\n"
              "- {id: caught, type: noop, transform: {code: jq(.error.code)}}\n");
  const Json all = world.start("all");
  for (int i = 0; i < 17; ++i) {
    EXPECT_EQ(world.instance(all["id"])["status"], "waiting") << i;
    world.publish("a", std::to_string(i), std::string(990'000, 'x'));
    world.run_until_idle();
  }
  EXPECT_EQ(world.instance(all["id"])["output"], (Json{{"code", "millrace.limits.data"}}));
}

TEST(LargeDataOfInstances, WakesAnInstanceThatWaitsWithLargeData) {
  World world;
  world.apply(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {key: jq(.key)}}, transition: send}
- {id: send, type: generateEvent, event: {type: sent, source: /t, data: jq(.go)}}
)");
  const std::string text(kLargeJson, 'x');
  const std::string id = world.start_order({{"key", "k"}, {"more", text}});
  world.publish("go", "1", text, {{"key", "other"}});
  world.publish("go", "2", text, {{"key", "k"}});
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "complete");
  ASSERT_THAT(world.events("sent"), SizeIs(1));
  EXPECT_EQ(world.events("sent")[0].data, dump_json(text));
}

}  // namespace
}  // namespace millrace
