// States with `lookback` whose event stream was replaced, or has lost its newest messages.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

TEST(LookbackStreams, KnowsTheEventThatCompletedAGroupAfterTheStreamWasReplaced) {
  World world;
  world.apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: paid}, {type: packed}]}
states:
- {id: wait, type: consumeEvent, event: {type: paid, lookback: PT5M}}
)");
  world.publish("packed", "1", 1);
  world.run_until_idle();
  world.broker.recreate_stream();
  world.broker.reconnect();
  world.run_until_idle();
  world.publish("paid", "2", 2);
  world.run_until_idle();
  ASSERT_THAT(world.instances(), testing::SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "waiting") << "the payment has started the instance";
}

TEST(LookbackStreams, FindsAnEventThatCameInPlaceOfALostOne) {
  World world;
  world.apply(R"(
id: paid
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
)");
  world.publish("paid", "1", 1, {{"order", "B"}});
  world.run_until_idle();
  const Json waiting = world.start("paid", {{"order", "C"}});  // the window is in memory now
  EXPECT_EQ(world.status(waiting["id"]), "waiting");
  world.broker.lose_tail(1);
  world.broker.reconnect();
  world.run_for(std::chrono::seconds(1));
  world.publish("paid", "2", 2, {{"order", "A"}});
  world.run_until_idle();
  ASSERT_EQ(world.broker.last_sequence(), 1U) << "the sequence of the lost event";
  const Json started = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(world.instance(started["id"])["output"], (Json{{"order", "A"}, {"paid", 2}}));
}

}  // namespace
}  // namespace millrace
