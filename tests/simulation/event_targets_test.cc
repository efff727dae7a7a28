// Replayed events with a target: only one workflow or one instance takes them, also as kept events
// and in fan-outs.
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

constexpr const char* kFirstWaits = R"(
id: first-waits
states:
- {id: wait, type: consumeEvent, event: {type: bell}}
)";
constexpr const char* kSecondWaits = R"(
id: second-waits
states:
- {id: wait, type: consumeEvent, event: {type: bell}}
)";
constexpr const char* kFirstStarts = R"(
id: first-starts
start: {type: event, event: {type: bell}}
states:
- {id: done, type: noop}
)";
constexpr const char* kSecondStarts = R"(
id: second-starts
start: {type: event, event: {type: bell}}
states:
- {id: done, type: noop}
)";
constexpr const char* kThinksFirst = R"(
id: thinks-first
states:
- {id: think, type: noop, transform: jq(slow), transition: wait}
- {id: wait, type: consumeEvent, event: {type: bell}}
)";

/// The target of the nth workflow that was applied, counted from 1.
AttributeValue to_workflow(uint32_t number) { return workflow_target(WorkflowNumber(number)); }

AttributeValue to_instance(const Json& started) {
  return instance_target(parse_instance_id(started["id"].get<std::string>()).value());
}

void ring(World& world, const std::string& id, const AttributeValue& target) {
  world.publish("bell", id, nullptr, {{std::string(kTargetAttribute), target}});
  world.run_until_idle();
}

TEST(EventTargets, WakeOnlyTheNamedInstance) {
  World world;
  world.apply(kFirstWaits);
  const Json one = world.start("first-waits");
  const Json two = world.start("first-waits");
  ring(world, "1", to_instance(two));
  EXPECT_EQ(world.status(one["id"]), "waiting");
  EXPECT_EQ(world.status(two["id"]), "complete");
  ring(world, "2", AttributeValue("anything else"));
  EXPECT_EQ(world.status(one["id"]), "waiting");
}

TEST(EventTargets, WakeAndStartOnlyTheNamedWorkflow) {
  World world;
  world.apply(kFirstWaits);
  world.apply(kSecondWaits);
  world.apply(kFirstStarts);
  world.apply(kSecondStarts);
  const Json one = world.start("first-waits");
  const Json two = world.start("second-waits");
  ring(world, "1", to_workflow(2));
  EXPECT_EQ(world.status(one["id"]), "waiting");
  EXPECT_EQ(world.status(two["id"]), "complete");
  EXPECT_EQ(world.instances().size(), 2U) << "no start took the event";
  ring(world, "2", to_workflow(4));
  ASSERT_EQ(world.instances().size(), 3U);
  size_t started = 0;
  for (const Json& instance : world.instances()) {
    started += instance["workflow"] == "second-starts" ? 1 : 0;
  }
  EXPECT_EQ(started, 1U);
  EXPECT_EQ(world.status(one["id"]), "waiting");
}

TEST(EventTargets, CountForKeptEvents) {
  for (const bool restarts : {false, true}) {
    World world;
    world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
    world.apply(kThinksFirst);
    world.evaluator.hold();
    const Json one = world.start("thinks-first");
    const Json two = world.start("thinks-first");
    ring(world, "1", to_instance(one));
    ring(world, "2", to_workflow(9));
    if (restarts) world.restart();
    world.evaluator.release();
    world.run_until_idle();
    EXPECT_EQ(world.status(one["id"]), "complete") << restarts;
    EXPECT_EQ(world.status(two["id"]), "waiting") << restarts;
  }
}

TEST(EventTargets, CountForFanOuts) {
  World world({.processor = {.engine = {.batch = {.woken = 3, .woken_later = 2}}}});
  world.apply(kFirstWaits);
  world.apply(kSecondWaits);
  for (int i = 0; i < 5; ++i) {
    world.start("first-waits");
    world.start("second-waits");
  }
  ring(world, "1", to_workflow(2));
  for (const Json& instance : world.instances()) {
    EXPECT_EQ(instance["status"], instance["workflow"] == "second-waits" ? "complete" : "waiting");
  }
  for (const auto& [key, value] : world.rows()) {
    EXPECT_FALSE(key.starts_with("recent/") || key.starts_with("fanout/")) << key << " is left";
  }
}

}  // namespace
}  // namespace millrace
