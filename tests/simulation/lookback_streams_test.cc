// States with `lookback` whose event stream was replaced, or has lost its newest messages, with and
// without the feed of the search.
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

/// Lets instances look for payments while the broker and the process fail. Returns the status and
/// the data of each instance.
std::vector<std::string> take_payments(uint64_t seed, bool feeds_searches) {
  World world({.feeds_searches = feeds_searches});
  std::mt19937_64 random(seed);
  world.apply(R"(
id: twice
states:
- id: first
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
  transform: 'jq({order, first: .paid})'
  transition: second
- {id: second, type: consumeEvent, event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}}
)");
  std::vector<std::string> started;
  int payments = 0;
  for (int i = 0; i < 80; ++i) {
    const uint64_t choice = random() % 20;
    const std::string order = random() % 3 == 0 ? "A" : "B";
    if (choice < 8) {
      world.publish("paid", std::to_string(payments), payments, {{"order", order}});
      ++payments;
    } else if (choice < 13) {
      started.push_back(world.start("twice", {{"order", order}})["id"].get<std::string>());
    } else if (choice < 16) {
      world.run_for(std::chrono::seconds(random() % 200));
    } else if (choice == 16) {
      world.broker.disconnect();
      world.broker.reconnect();
    } else if (choice == 17) {
      world.broker.lose_tail(1);
      world.broker.reconnect();
      world.run_for(std::chrono::seconds(1));  // so that other messages get other stamps
    } else if (choice == 18) {
      world.broker.lose_consumer();
    } else {
      world.crash();
      world.recover();
    }
    world.run_until_idle();
  }
  std::vector<std::string> found;
  for (const std::string& id : started) {
    const Json instance = world.instance(id);
    found.push_back(instance["status"].get<std::string>() + " " +
                    (instance.contains("output") ? dump_json(instance["output"]) : ""));
  }
  return found;
}

TEST(LookbackStreams, GivesTheSameEventsWithAndWithoutTheFeed) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(take_payments(seed, true), take_payments(seed, false)) << seed;
  }
}

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
