// States with `lookback`: they first get events that came before them and that the instance has not
// taken, then what comes, without a gap and none twice.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::SizeIs;

/// Waits for the payment of its own order, also if that came up to five minutes before.
constexpr const char* kPaid = R"(
id: paid
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
)";

/// Takes two payments, one after the other.
constexpr const char* kTwice = R"(
id: twice
states:
- id: first
  type: consumeEvent
  event: {type: paid, lookback: PT5M}
  transform: 'jq({first: .paid})'
  transition: second
- {id: second, type: consumeEvent, event: {type: paid, lookback: PT5M}}
)";

/// Takes three payments of its order.
constexpr const char* kThrice = R"(
id: thrice
states:
- id: first
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
  transform: 'jq({order, one: .paid})'
  transition: second
- id: second
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
  transform: 'jq({order, one, two: .paid})'
  transition: third
- id: third
  type: consumeEvent
  event: {type: paid, context: {order: jq(.order)}, lookback: PT5M}
  transform: 'jq({order, one, two, three: .paid})'
)";

/// What instances of `thrice` must take: each state takes the first payment of its order that is in
/// the window of the state, or comes later, and that the instance has not taken.
class PaymentModel {
 public:
  void publish(TimePoint stamped, std::string order) {
    payments_.push_back({stamped, std::move(order)});
  }
  void start(TimePoint now, std::string id, std::string order) {
    takers_.push_back(
        {.id = std::move(id), .order = std::move(order), .entered = now, .from = applied_});
  }
  /// To be called when the engine has applied all events.
  void settle(TimePoint now) {
    applied_ = payments_.size();
    for (Taker& one : takers_) {
      while (one.taken.size() < 3) {
        const size_t next = next_of(one);
        if (next == payments_.size()) break;
        one.taken.push_back(next);
        one.from = std::max(one.from, next + 1);
        one.entered = now;
      }
    }
  }
  void expect_same(World& world) const {
    for (const Taker& one : takers_) {
      ASSERT_EQ(one.taken.size(), 3U) << one.id;
      EXPECT_EQ(world.instance(one.id)["output"], (Json{{"order", one.order},
                                                        {"one", one.taken[0]},
                                                        {"two", one.taken[1]},
                                                        {"three", one.taken[2]}}))
          << one.id;
    }
  }
  /// The number of the next payment.
  size_t next() const { return payments_.size(); }

 private:
  struct MadePayment {
    TimePoint stamped;
    std::string order;
  };
  struct Taker {
    std::string id;
    std::string order;
    TimePoint entered;          ///< its state
    size_t from = 0;            ///< it listens to the payments from this one on
    std::vector<size_t> taken;  ///< the numbers of payments
  };

  size_t next_of(const Taker& one) const {
    for (size_t i = 0; i < payments_.size(); ++i) {
      const bool is_taken = std::find(one.taken.begin(), one.taken.end(), i) != one.taken.end();
      const bool is_in_time = i >= one.from || payments_[i].stamped >= one.entered - minutes(5);
      if (!is_taken && is_in_time && payments_[i].order == one.order) return i;
    }
    return payments_.size();
  }

  std::vector<MadePayment> payments_;
  std::vector<Taker> takers_;
  size_t applied_ = 0;  ///< how many payments the engine has applied
};

void pay(World& world, const std::string& id, int amount, const std::string& order = "A") {
  world.publish("paid", id, amount, {{"order", order}});
  world.run_until_idle();
}

Json data_of(World& world, const Json& started) { return world.instance(started["id"])["output"]; }

TEST(Lookback, FindsAnEventThatCameBeforeTheInstance) {
  World world;
  world.apply(kPaid);
  pay(world, "1", 7, "B");
  pay(world, "2", 8, "A");
  pay(world, "3", 9, "A");
  const Json one = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(data_of(world, one), (Json{{"order", "A"}, {"paid", 8}})) << "the oldest first";
  EXPECT_THAT(world.history(one["id"]),
              ElementsAre("started", "entered wait", "woken wait", "ended wait"));
  const Json two = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(data_of(world, two), (Json{{"order", "A"}, {"paid", 8}}))
      << "each instance gets the event";
}

TEST(Lookback, ReachesBackAsFarAsTheWindow) {
  World world;
  world.apply(kPaid);
  pay(world, "1", 1);
  world.run_for(seconds(1));
  pay(world, "2", 2);
  world.run_for(minutes(5));
  const Json started = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(data_of(world, started), (Json{{"order", "A"}, {"paid", 2}}))
      << "five minutes before is in the window, and five minutes and a second are not";
  world.run_for(Duration(1));
  const Json late = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(world.status(late["id"]), "waiting");
  pay(world, "3", 3);
  EXPECT_EQ(data_of(world, late), (Json{{"order", "A"}, {"paid", 3}}));
}

TEST(Lookback, OffersEachEventOnce) {
  World world;
  world.apply(kTwice);
  pay(world, "1", 1);
  const Json started = world.start("twice");
  EXPECT_EQ(world.instance(started["id"])["state"], "second");
  world.publish("paid", "1", 1);  // the same event again
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["state"], "second") << "a duplicate";
  pay(world, "2", 2);
  EXPECT_EQ(data_of(world, started), (Json{{"first", 1}, {"paid", 2}}));
}

TEST(Lookback, GivesTwoStatesOfAnInstanceTheEventsInTheirOrder) {
  for (const bool restarts : {false, true}) {
    World world;
    world.apply(kTwice);
    pay(world, "1", 1);
    pay(world, "2", 2);
    pay(world, "3", 3);
    const Json started = world.start("twice");
    if (restarts) world.restart();
    world.run_until_idle();
    EXPECT_EQ(data_of(world, started), (Json{{"first", 1}, {"paid", 2}})) << restarts;
  }
}

TEST(Lookback, DoesNotOfferTheEventThatStartedTheInstance) {
  World world;
  world.apply(R"(
id: next
start: {type: event, event: {type: paid}}
states:
- {id: wait, type: consumeEvent, event: {type: paid, lookback: PT5M}, transition: done}
- {id: done, type: noop}
)");
  pay(world, "1", 1);
  ASSERT_THAT(world.instances(), SizeIs(1));
  const std::string id = world.instances()[0]["id"];
  EXPECT_EQ(world.status(id), "waiting");
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "waiting");
  pay(world, "2", 2);
  EXPECT_EQ(world.instance(id)["output"], (Json{{"paid", 2}}));
}

TEST(Lookback, DoesNotOfferTheEventsOfTheGroupThatStartedTheInstance) {
  World world;
  world.apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: paid}, {type: packed}]}
states:
- {id: wait, type: eventXor, events: [{type: paid, lookback: PT5M}, {type: packed, lookback: PT5M}]}
)");
  pay(world, "1", 1);
  world.publish("packed", "2", 2);
  world.run_until_idle();
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "waiting");
}

TEST(Lookback, OffersEarlyEventsBeforeTheEventsThatComeMeanwhile) {
  World world;
  world.apply(kTwice);
  pay(world, "1", 1);
  world.broker.disconnect();  // the search has to wait
  const Json started = world.start("twice");
  EXPECT_EQ(world.status(started["id"]), "running");
  world.broker.reconnect();
  world.publish("paid", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(data_of(world, started), (Json{{"first", 1}, {"paid", 2}}));
}

TEST(Lookback, DoesNotTakeACopyOfAnEarlyEventThatComesMeanwhile) {
  World world;
  world.apply(kTwice);
  pay(world, "1", 1);
  world.broker.disconnect();
  const Json started = world.start("twice");
  world.broker.reconnect();
  world.publish("paid", "1", 1);
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["state"], "second") << "it has taken the event before";
  pay(world, "2", 2);
  EXPECT_EQ(data_of(world, started), (Json{{"first", 1}, {"paid", 2}}));
}

TEST(Lookback, KeepsTheEventsThatComeMeanwhileBesideAFanOutThatNeedsOthers) {
  World world({.processor = {.engine = {.batch = {.woken = 3, .woken_later = 2}}}});
  world.apply(R"(
id: bell
states:
- {id: wait, type: consumeEvent, event: {type: bell}}
)");
  world.apply(R"(
id: taker
start: {type: event, event: {type: order}}
states:
- id: first
  type: consumeEvent
  event: {type: paid, lookback: PT5M}
  transform: 'jq({first: .paid})'
  transition: second
- {id: second, type: consumeEvent, event: {type: paid}}
)");
  pay(world, "1", 1);
  for (int i = 0; i < 10; ++i) world.start("bell");
  world.publish("bell", "2");
  world.step();
  world.publish("order", "3");
  world.step();
  ASSERT_THAT(statuses(world, "taker"), ElementsAre("running")) << "its search is not answered";
  EXPECT_EQ(world.rows_of("recent"), 1U) << "the event of the fan-out";
  world.publish("paid", "4", 2);
  world.publish("other", "5");
  world.step();
  EXPECT_EQ(world.rows_of("recent"), 2U) << "and the event that the second state needs";
  world.run_until_idle();
  EXPECT_EQ(instances_of(world, "taker").at(0)["output"], (Json{{"first", 1}, {"paid", 2}}));
  EXPECT_EQ(count(world, "bell", "complete"), 10U);
}

TEST(Lookback, IsSearchedForAgainByTheNextProcess) {
  World world;
  world.apply(kPaid);
  pay(world, "1", 1);
  world.broker.disconnect();
  const Json started = world.start("paid", {{"order", "A"}});
  world.crash();
  world.broker.reconnect();
  world.clock.advance(minutes(20));
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(data_of(world, started), (Json{{"order", "A"}, {"paid", 1}}))
      << "the window is counted from the time at which the instance came to the state";
}

TEST(Lookback, FillsTheEntriesOfAStateOfTypeEventAnd) {
  World world;
  world.apply(R"(
id: both
states:
- id: wait
  type: eventAnd
  events:
  - {type: a, lookback: PT5M}
  - {type: b}
  - {type: a, lookback: PT5M}
)");
  world.publish("a", "1", 1);
  world.publish("b", "2", 2);
  world.publish("a", "3", 3);
  world.publish("a", "4", 4);
  world.run_until_idle();
  const Json started = world.start("both");
  EXPECT_EQ(world.status(started["id"]), "waiting") << "the entry of b does not look back";
  EXPECT_EQ(world.metric("millrace_listeners"), 1);
  world.publish("b", "5", 5);
  world.run_until_idle();
  EXPECT_EQ(data_of(world, started), (Json{{"a", {1, 3}}, {"b", 5}}));
}

TEST(Lookback, TakesTheOldestEventOfAStateOfTypeEventXor) {
  World world;
  world.apply(R"(
id: either
states:
- id: wait
  type: eventXor
  events:
  - {type: a, lookback: PT5M, transition: was-a}
  - {type: b, lookback: PT5M, transition: was-b}
- {id: was-a, type: noop}
- {id: was-b, type: noop}
)");
  world.publish("b", "1", 1);
  world.publish("a", "2", 2);
  world.run_until_idle();
  const Json started = world.start("either");
  EXPECT_THAT(world.history(started["id"]), Contains("entered was-b"));
}

TEST(Lookback, RaisesAnErrorIfTheStreamHasLostEventsOfTheWindow) {
  World world;
  world.apply(R"(
id: caught
states:
- id: wait
  type: consumeEvent
  event: {type: paid, lookback: PT5M}
  catch:
  - {error: millrace.limits.lookback, transition: lost}
- {id: lost, type: noop}
)");
  pay(world, "1", 1);
  world.run_for(minutes(1));
  pay(world, "2", 2);
  world.broker.drop_oldest(1);
  const Json started = world.start("caught");
  EXPECT_THAT(world.history(started["id"]), Contains("entered lost"));
  EXPECT_EQ(world.status(started["id"]), "complete");
}

TEST(Lookback, DoesNotFindTheEventsOfAStreamThatWasReplaced) {
  World world;
  world.apply(kPaid);
  pay(world, "1", 1);
  world.broker.recreate_stream();
  world.broker.reconnect();
  world.run_until_idle();
  pay(world, "2", 2);
  const Json started = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(data_of(world, started), (Json{{"order", "A"}, {"paid", 2}}));
}

TEST(Lookback, RespectsTheTargetOfAnEvent) {
  World world;
  world.apply(kPaid);
  world.publish(
      "paid", "1", 1,
      {{"order", "A"}, {std::string(kTargetAttribute), workflow_target(WorkflowNumber(9))}});
  world.publish(
      "paid", "2", 2,
      {{"order", "A"}, {std::string(kTargetAttribute), workflow_target(WorkflowNumber(1))}});
  world.run_until_idle();
  const Json started = world.start("paid", {{"order", "A"}});
  EXPECT_EQ(data_of(world, started), (Json{{"order", "A"}, {"paid", 2}}));
}

TEST(Lookback, EndsWithItsState) {
  World world;
  world.apply(R"(
id: brief
states:
- id: wait
  type: consumeEvent
  timeout: PT10S
  event: {type: paid, lookback: PT5M}
  catch:
  - {error: direktiv.stateTimeout, transition: late}
- {id: late, type: noop}
)");
  pay(world, "1", 1);
  world.broker.disconnect();
  const Json started = world.start("brief");
  const Json cancelled = world.start("brief");
  world.must(CancelInstance{
      .ns = "default", .instance = parse_instance_id(cancelled["id"].get<std::string>()).value()});
  world.run_for(seconds(10));
  EXPECT_EQ(world.status(cancelled["id"]), "cancelled");
  world.broker.reconnect();
  world.run_until_idle();
  EXPECT_EQ(world.status(cancelled["id"]), "cancelled");
  EXPECT_EQ(world.status(started["id"]), "complete");
}

TEST(Lookback, GivesEachInstanceWhatAModelGivesIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    World world;
    std::mt19937_64 random(seed);
    PaymentModel model;
    world.apply(kThrice);
    bool connected = true;
    const auto order = [&] { return random() % 3 == 0 ? "A" : "B"; };
    const auto publish = [&](const std::string& of) {
      world.publish("paid", std::to_string(model.next()), model.next(), {{"order", of}});
      model.publish(world.brokers_clock.now(), of);
    };
    const auto settle = [&] {
      world.run_until_idle();
      if (connected) model.settle(world.clock.now());
    };
    for (int i = 0; i < 60; ++i) {
      const uint64_t choice = random() % 10;
      if (choice < 4) {
        publish(order());
      } else if (choice < 6) {
        const std::string of = order();
        const Json started = world.start("thrice", {{"order", of}});
        model.start(world.clock.now(), started["id"], of);
      } else if (choice < 8) {
        world.run_for(seconds(random() % 200));
      } else if (choice == 8 && connected) {
        world.broker.disconnect();
        connected = false;
      } else {  // the process may die while instances look back
        world.crash();
        if (!connected) world.broker.reconnect();
        connected = true;
        world.recover();
      }
      settle();
    }
    if (!connected) world.broker.reconnect();
    connected = true;
    settle();
    for (const char* const of : {"A", "B"}) {
      for (int i = 0; i < 3; ++i) publish(of);
    }
    settle();
    model.expect_same(world);
  }
}

TEST(Lookback, CostsAnInstanceWithoutItNothing) {
  World world;
  world.apply(R"(
id: plain
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)");
  pay(world, "1", 1);
  const Json started = world.start("plain");
  EXPECT_EQ(world.status(started["id"]), "waiting");
  pay(world, "2", 2);
  EXPECT_EQ(data_of(world, started), (Json{{"paid", 2}}));
}

}  // namespace
}  // namespace millrace
