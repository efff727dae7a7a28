// States with `lookback` whose timeout passes while the process does not run: the early events come
// before the timeout.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::Not;

constexpr const char* kBrief = R"(
id: brief
states:
- id: wait
  type: consumeEvent
  timeout: PT10S
  event: {type: paid, lookback: PT5M}
  catch:
  - {error: direktiv.stateTimeout, transition: late}
- {id: late, type: noop}
)";

/// Publishes an event of that type, starts an instance, and dies before its search is answered. The
/// timeout has passed when the next process starts. Returns the id of the instance.
std::string die_during_the_search(World& world, const std::string& type) {
  world.apply(kBrief);
  world.publish(type, "1", 1);
  world.run_until_idle();
  world.broker.disconnect();
  const Json started = world.start("brief");
  world.crash();
  world.clock.advance(std::chrono::minutes(1));
  world.broker.reconnect();
  world.recover();
  world.run_until_idle();
  return started["id"].get<std::string>();
}

TEST(LookbackRestart, GivesAStateItsEarlyEventBeforeItsTimeout) {
  World world;
  const std::string id = die_during_the_search(world, "paid");
  EXPECT_EQ(world.instance(id)["output"], (Json{{"paid", 1}}));
  EXPECT_THAT(world.history(id), Not(Contains("entered late")));
}

TEST(LookbackRestart, EndsTheWaitIfThereIsNoEarlyEvent) {
  World world;
  const std::string id = die_during_the_search(world, "other");
  EXPECT_THAT(world.history(id), Contains("entered late"));
  EXPECT_EQ(world.status(id), "complete");
}

}  // namespace
}  // namespace millrace
