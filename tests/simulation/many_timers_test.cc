// Many timers that are due together: they fire in several batches, and an event that comes
// meanwhile comes after the timers of its own instance.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;

/// More timers than one batch fires.
constexpr size_t kMany = 600;

/// Starts instances that wait for ten seconds.
void start_many(World& world) {
  world.apply("id: naps\nstates: [{id: s, type: delay, duration: PT10S}]\n");
  for (size_t i = 0; i < kMany; ++i) {
    world.command(StartInstance{.ns = "default", .workflow = "naps", .input = Json::object()});
  }
  world.run_until_idle();
  ASSERT_EQ(count(world, "naps", "waiting"), kMany);
}

TEST(ManyTimers, FireInSeveralBatches) {
  World world;
  start_many(world);
  world.clock.advance(seconds(10));
  world.step();
  const size_t fired = count(world, "naps", "complete");
  EXPECT_GT(fired, 0U);
  EXPECT_LT(fired, kMany);
  world.run_until_idle();
  EXPECT_EQ(count(world, "naps", "complete"), kMany);
  EXPECT_EQ(world.metric("millrace_timers"), 0);
}

TEST(ManyTimers, FireOnceIfTheProcessEndsBetweenTheBatches) {
  World world;
  start_many(world);
  world.clock.advance(seconds(10));
  for (int i = 0; i < 4; ++i) {
    world.step();
    world.restart_at(i);
  }
  world.run_until_idle();
  EXPECT_EQ(count(world, "naps", "complete"), kMany);
}

TEST(ManyTimers, OfOtherInstancesDoNotHoldUpTheTimersThatComeBeforeAnEvent) {
  for (const bool is_late : {false, true}) {
    SCOPED_TRACE(is_late);
    World world;
    start_many(world);
    const std::string id = world.apply_order(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: go}, timeout: PT11S}
)");
    world.clock.advance(is_late ? seconds(12) : seconds(10) + std::chrono::milliseconds(500));
    world.publish("go", "1");
    world.clock.advance(seconds(2));
    world.step();
    EXPECT_LT(count(world, "naps", "complete"), kMany);
    world.run_until_idle();
    EXPECT_EQ(world.status(id), is_late ? "failed" : "complete");
    EXPECT_EQ(count(world, "naps", "complete"), kMany);
  }
}

}  // namespace
}  // namespace millrace
