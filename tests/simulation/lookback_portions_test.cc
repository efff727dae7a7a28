// States with `lookback` that get more early events than one step takes: the others come in later
// turns, before everything else that comes for the instance, and each once.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::Contains;

/// How many parts a basket waits for.
constexpr size_t kParts = 6;

constexpr const char* kBasket = R"(
id: basket
start: {type: event, event: {type: order}}
states:
- id: wait
  type: eventAnd
  timeout: PT10S
  events: [{type: part, lookback: PT5M}, {type: part, lookback: PT5M}, {type: part, lookback: PT5M},
           {type: part, lookback: PT5M}, {type: part, lookback: PT5M}, {type: part, lookback: PT5M}]
  transform: 'jq({parts: .part})'
  catch:
  - {error: direktiv.stateTimeout, transition: late}
  - {error: millrace.limits.lookback, transition: lost}
- {id: late, type: noop}
- {id: lost, type: noop}
)";

constexpr const char* kOtherWork = R"(
id: bell
start: {type: event, event: {type: bell}}
states:
- {id: done, type: noop}
)";

/// A world with one basket, in which each step takes one early event.
class BasketWorld {
 public:
  BasketWorld() {
    world.apply(kBasket);
    world.apply(kOtherWork);
  }

  /// Publishes the next parts, whose data are their numbers.
  void publish_parts(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      world.publish("part", "part-" + std::to_string(published), published);
      ++published;
    }
  }
  /// Publishes that many early parts, and starts the basket.
  void begin(size_t early) {
    publish_parts(early);
    world.run_until_idle();
    world.publish("order", "order");
    world.step();
    const std::vector<Json> baskets = instances_of(world, "basket");
    ASSERT_EQ(baskets.size(), 1U);
    id = baskets[0]["id"];
  }
  size_t taken() {
    const std::vector<std::string> records = world.history(id);
    return static_cast<size_t>(std::count(records.begin(), records.end(), "woken wait"));
  }
  /// Runs turns until the basket has taken that many parts.
  void run_until_taken(size_t parts) {
    for (int turns = 0; taken() < parts && turns < 100; ++turns) world.step();
    ASSERT_EQ(taken(), parts);
  }
  InstanceId key() const { return parse_instance_id(id).value(); }
  /// The basket has the first parts, each once and in their order.
  void expect_complete() {
    EXPECT_EQ(world.status(id), "complete");
    Json parts = Json::array();
    for (size_t i = 0; i < kParts; ++i) parts.push_back(i);
    EXPECT_EQ(world.instance(id)["output"], (Json{{"parts", parts}}));
    EXPECT_EQ(taken(), kParts);
    const std::vector<std::string> records = world.history(id);
    EXPECT_EQ(std::count(records.begin(), records.end(), "entered wait"), 1);
  }

  World world{{.processor = {.engine = {.limits = {.bytes_per_step = 1}}}}};
  std::string id;        ///< of the basket
  size_t published = 0;  ///< how many parts
};

TEST(EarlyPortions, AreOfferedInSeveralTurnsWithOtherWorkBetween) {
  BasketWorld basket;
  basket.begin(kParts + 2);
  World& world = basket.world;
  std::vector<size_t> portions;
  std::vector<size_t> bells;  // how many other instances had ended by then
  size_t before = 0;
  for (int turns = 0; world.status(basket.id) != "complete" && turns < 100; ++turns) {
    world.publish("bell", "bell-" + std::to_string(turns));
    world.step();
    const size_t taken = basket.taken();
    if (taken == before) continue;
    portions.push_back(taken - before);
    bells.push_back(count(world, "bell", "complete"));
    before = taken;
  }
  EXPECT_EQ(portions, std::vector<size_t>(kParts, 1));
  ASSERT_EQ(bells.size(), kParts);
  EXPECT_GT(bells[kParts / 2], bells[0]);
  EXPECT_GT(bells[kParts - 1], bells[kParts / 2]);
  basket.expect_complete();
}

TEST(EarlyPortions, ComeBeforeAnEventThatComesMeanwhile) {
  for (size_t at = 1; at < kParts - 1; ++at) {
    SCOPED_TRACE(at);
    BasketWorld basket;
    basket.begin(kParts - 1);
    basket.run_until_taken(at);
    basket.publish_parts(1);
    basket.world.publish("part", "part-0", 0);  // the first one again
    basket.world.run_until_idle();
    basket.expect_complete();
  }
}

TEST(EarlyPortions, ComeBeforeATimerThatBecomesDueMeanwhile) {
  for (const size_t early : {kParts, kParts - 1}) {
    SCOPED_TRACE(early);
    BasketWorld basket;
    basket.begin(early);
    basket.run_until_taken(2);
    basket.world.clock.advance(minutes(1));
    basket.world.run_until_idle();
    EXPECT_EQ(basket.taken(), early);
    if (early == kParts) {
      basket.expect_complete();
    } else {
      EXPECT_THAT(basket.world.history(basket.id), Contains("entered late"));
    }
  }
}

TEST(EarlyPortions, EndWithTheInstance) {
  BasketWorld basket;
  basket.begin(kParts);
  basket.run_until_taken(2);
  basket.world.must(CancelInstance{.ns = "default", .instance = basket.key()});
  EXPECT_EQ(basket.world.status(basket.id), "cancelled");
  EXPECT_EQ(basket.taken(), 2U);
}

TEST(EarlyPortions, ContinueWhenThePausedInstanceIsResumed) {
  BasketWorld basket;
  basket.begin(kParts);
  basket.run_until_taken(2);
  basket.world.must(PauseInstance{.ns = "default", .instance = basket.key()});
  EXPECT_EQ(basket.world.status(basket.id), "paused");
  basket.publish_parts(1);
  basket.world.run_until_idle();
  EXPECT_EQ(basket.taken(), 2U);
  basket.world.must(ResumeInstance{.ns = "default", .instance = basket.key()});
  basket.expect_complete();
}

TEST(EarlyPortions, RaiseTheErrorIfTheNextProcessDoesNotFindTheOthers) {
  BasketWorld basket;
  basket.begin(kParts);
  basket.run_until_taken(2);
  basket.world.crash();
  basket.world.broker.drop_oldest(kParts);
  basket.world.recover();
  basket.world.run_until_idle();
  EXPECT_THAT(basket.world.history(basket.id), Contains("entered lost"));
  EXPECT_EQ(basket.taken(), 2U);
}

TEST(EarlyPortions, AreFoundAgainByTheNextProcess) {
  for (size_t taken = 0; taken < kParts; ++taken) {
    for (const bool after_commit : {false, true}) {
      for (const bool times_out : {false, true}) {
        SCOPED_TRACE(fmt::format("{} taken, after the commit of a further turn: {}, timeout: {}",
                                 taken, after_commit, times_out));
        BasketWorld basket;
        basket.begin(kParts);
        basket.run_until_taken(taken);
        if (after_commit) {
          basket.world.crash_after_commit();
        } else {
          basket.world.crash();
        }
        if (times_out) basket.world.clock.advance(minutes(1));
        basket.world.recover();
        basket.world.run_until_idle();
        basket.expect_complete();
      }
    }
  }
}

TEST(EarlyPortions, ComeBeforeTheTimeoutAlsoIfTheNextProcessCannotSearchYet) {
  BasketWorld basket;
  basket.begin(kParts);
  basket.run_until_taken(2);
  basket.world.crash();
  basket.world.recover();
  basket.world.broker.disconnect();
  basket.world.run_until_idle();
  basket.world.clock.advance(minutes(1));
  basket.world.run_until_idle();
  EXPECT_EQ(basket.world.status(basket.id), "running");
  basket.world.broker.reconnect();
  basket.world.run_until_idle();
  basket.expect_complete();
}

TEST(EarlyPortions, AreFoundAgainByEachOfManyProcesses) {
  BasketWorld basket;
  basket.begin(kParts);
  for (size_t taken = 1; taken <= kParts; ++taken) {
    basket.run_until_taken(taken);
    basket.world.restart();
  }
  basket.world.run_until_idle();
  basket.expect_complete();
}

}  // namespace
}  // namespace millrace
