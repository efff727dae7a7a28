// Groups of an eventsAnd start that a new revision closes, or that a command drops. The events of
// closed groups become dead letters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matchers/correlation.h"
#include "orchestrator/batch/group_id.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(ClosedGroups, BecomeDeadLettersInSeveralBatchesWhileNewGroupsFill) {
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
    world.run_until_idle();
    const Answered applied = world.command(World::application(groups("three")));
    world.step();
    ASSERT_TRUE(applied->has_value() && **applied);
    ASSERT_TRUE(is_purging(world));
    if (restarts) world.restart();
    // These events belong to the groups of the new revision, while older groups with the same
    // correlation are not closed yet.
    world.publish("one", "new-1", "x", {{"key", "1"}});
    world.publish("two", "new-2", "x", {{"key", "1"}});
    world.run_until_idle();
    EXPECT_THAT(world.instances(), IsEmpty());
    world.publish("three", "new-3", "y", {{"key", "1"}});
    world.answer_publishes();
    ASSERT_THAT(world.instances(), SizeIs(1));
    EXPECT_EQ(world.instances()[0]["input"], (Json{{"one", "x"}, {"three", "y"}}));
    EXPECT_THAT(world.dead_letters(), SizeIs(kEvents));
    const auto rows = world.rows();
    for (const auto& [key, value] : rows) EXPECT_FALSE(key.starts_with("groups/"));
  }
}

TEST(ClosedGroups, DropEventsWhoseLifespanEndsDuringTheClosing) {
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
  world.run_until_idle();
  world.command(World::application(groups("three")));
  world.step();
  ASSERT_TRUE(is_purging(world));
  world.clock.advance(std::chrono::minutes(2));
  world.answer_publishes();
  EXPECT_EQ(world.metric("millrace_timers"), 0);
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("groups/"));
}

TEST(ClosedGroups, BecomeDeadLettersWhenACommandDropsOne) {
  for (const bool restarts : {false, true}) {
    World world;
    world.apply(R"(
id: groups
start: {type: eventsAnd, correlate: [key], events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)");
    for (int i = 0; i < 300; ++i) {
      world.publish("one", fmt::format("old-{}", i), i, {{"key", "1"}});
    }
    world.publish("one", "other", "o", {{"key", "2"}});
    world.run_until_idle();
    const Event event{.id = "e", .source = "s", .type = "one", .extensions = {{"key", "1"}}};
    const auto key = correlation_key(Attributes(event), {"key"});
    ASSERT_TRUE(key);
    const DropGroup drop{
        .ns = "default",
        .id = to_string(GroupId{.workflow = "groups", .group = fingerprint({*key})})};
    if (restarts) {
      const Answered started = world.command(drop);
      world.step();
      ASSERT_FALSE(started->has_value()) << "several batches drop it";
      world.restart();
    }
    const Json answer = world.must(drop);
    EXPECT_EQ(answer["dropped"] == 300, !restarts) << answer;
    world.answer_publishes();
    EXPECT_THAT(world.dead_letters(), SizeIs(300)) << "each event once, also across a restart";
    world.publish("two", "new-1", "x", {{"key", "1"}});
    world.publish("two", "new-2", "y", {{"key", "2"}});
    world.answer_publishes();
    ASSERT_THAT(world.instances(), SizeIs(1))
        << "the event of the dropped group waits in a new one";
    EXPECT_EQ(world.instances()[0]["input"], (Json{{"one", "o"}, {"two", "y"}}));
  }
}

}  // namespace
}  // namespace millrace
