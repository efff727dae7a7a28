// Groups of an eventsAnd start that a new revision closes: their events become dead letters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(ClosedGroups, BecomeDeadLettersInStepsWhileNewOnesGather) {
  constexpr int kEvents = 2'500;
  for (const bool restarts : {false, true}) {
    World world;
    const auto groups = [](std::string_view third) {
      return fmt::format(R"(
id: groups
start:
  type: eventsAnd
  correlate: [key]
  events: [{{type: one}}, {{type: {}}}]
states:
- {{id: done, type: noop}}
)",
                         third);
    };
    world.apply(groups("two"));
    for (int i = 0; i < kEvents; ++i) {
      world.publish("one", fmt::format("old-{}", i), i, {{"key", std::to_string(i % 10)}});
    }
    world.settle();
    const Answered applied = world.command(World::application(groups("three")));
    world.step();
    ASSERT_TRUE(applied->has_value() && **applied);
    ASSERT_TRUE(is_purging(world));
    if (restarts) world.restart();
    // These are of the new groups, though older ones of the same key are yet to be closed.
    world.publish("one", "new-1", "x", {{"key", "1"}});
    world.publish("two", "new-2", "x", {{"key", "1"}});
    world.settle();
    EXPECT_THAT(world.instances(), IsEmpty());
    world.publish("three", "new-3", "y", {{"key", "1"}});
    world.settle_publishes();
    ASSERT_THAT(world.instances(), SizeIs(1));
    EXPECT_EQ(world.instances()[0]["input"], (Json{{"one", "x"}, {"three", "y"}}));
    EXPECT_THAT(world.dead_letters(), SizeIs(kEvents));
    const auto rows = world.rows();
    for (const auto& [key, value] : rows) EXPECT_FALSE(key.starts_with("groups/"));
  }
}

TEST(ClosedGroups, LetEventsGoWhoseLifespanEndsMeanwhile) {
  World world;
  const auto groups = [](std::string_view third) {
    return fmt::format(R"(
id: groups
start: {{type: eventsAnd, lifespan: PT1M, events: [{{type: one}}, {{type: {}}}]}}
states:
- {{id: done, type: noop}}
)",
                       third);
  };
  world.apply(groups("two"));
  for (int i = 0; i < 2'500; ++i) world.publish("one", std::to_string(i), i);
  world.settle();
  world.command(World::application(groups("three")));
  world.step();
  ASSERT_TRUE(is_purging(world));
  world.clock.advance(std::chrono::minutes(2));
  world.settle_publishes();
  EXPECT_EQ(world.metric("millrace_timers"), 0);
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("groups/"));
}

}  // namespace
}  // namespace millrace
