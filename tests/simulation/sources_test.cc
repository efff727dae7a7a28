// Sources: each message of an origin stream starts one instance, whatever is repeated, lost, killed
// or rolled back, and a message that is no event is a dead letter.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "orchestrator/service/source_run.h"
#include "tests/simulation/sources_fixture.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_origins.h"
#include "tests/support/seeds.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST_F(SourcesSimulation, StartAnInstanceForEachMessage) {
  add_orders(5);
  apply();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(5));
  EXPECT_EQ(origin().applied, AppliedSequences(5));
  run->turn();
  EXPECT_EQ(run->figures().lag, 0U);
  EXPECT_EQ(world.metric("millrace_source_events_total"), 5);
  ASSERT_THAT(origins.opened, SizeIs(1));
  EXPECT_EQ(origins.opened[0].consumer, "millrace-default-orders-07000000");
}

TEST_F(SourcesSimulation, ReadOnlyTheMessagesOfTheirSubjects) {
  origins.add_event("ORDERS", "shop.orders.eu", "order", "1");
  origins.add_event("ORDERS", "shop.returns.eu", "order", "2");
  origins.add_event("ORDERS", "shop.orders.us", "order", "3");
  apply(R"({"begin":"all","stream":"ORDERS","subjects":["shop.orders.*"]})");
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(origin().applied, AppliedSequences(3)) << "no gap is left";
}

TEST_F(SourcesSimulation, MakeADeadLetterOfAMessageThatIsNoEventAndGoOn) {
  add_orders(1);
  origins.add("ORDERS", "shop.orders.eu", "no event");
  add_orders(1);
  apply();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_THAT(world.dead_letters(), SizeIs(1));
  EXPECT_EQ(origin().refused, 1U);
  EXPECT_EQ(origin().refused_sequence, 2U);
  EXPECT_EQ(world.metric("millrace_source_messages_refused_total"), 1);
  world.restart();
  begin();
  run->turn();
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), SizeIs(1)) << "it is not read again";
}

TEST_F(SourcesSimulation, ComeBackWhenTheirConsumerWasDeleted) {
  add_orders(2);
  apply();
  settle();
  origins.delete_consumers();
  add_orders(2);
  run->turn();
  EXPECT_EQ(run->figures().waits.value_or(Error()).code, "source.interrupted");
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.interrupted");
  EXPECT_EQ(run->figures().interrupted, 1U);
  settle();
  EXPECT_THAT(world.instances(), SizeIs(4));
  EXPECT_EQ(run->figures().consumers, 2U);
  EXPECT_EQ(run->figures().waits, std::nullopt);
}

TEST_F(SourcesSimulation, NameAnOriginStreamThatTheyMayNotRead) {
  add_orders(1);
  apply();
  origins.streams["ORDERS"].keeps_messages = false;
  run->turn();
  EXPECT_EQ(run->figures().waits.value_or(Error()).code, "source.retention");
  EXPECT_EQ(run->figures().lag, std::nullopt);
}

TEST_F(SourcesSimulation, PublishNothingWhileTheyArePaused) {
  add_orders(1);
  apply();
  settle();
  world.must(PauseSource{.ns = "default", .name = "orders"});
  add_orders(1);
  run->turn();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
  world.must(PauseSource{.ns = "default", .name = "orders", .paused = false});
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(SourcesSimulation, PublishNoMessageThatIsReadWhileAPauseIsAnswered) {
  add_orders(1);
  apply();
  settle();
  add_orders(1);
  origins.while_reading = [&] { world.must(PauseSource{.ns = "default", .name = "orders"}); };
  turn_later();
  EXPECT_FALSE(origins.while_reading) << "the message was read";
  EXPECT_THAT(world.broker.events(), SizeIs(1));
  EXPECT_EQ(run->figures().lag, std::nullopt) << "nothing is read now";
  world.must(PauseSource{.ns = "default", .name = "orders", .paused = false});
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(SourcesSimulation, UseTheMappingThatWasAnsweredWhileAMessageWasRead) {
  add_plain("{}");
  apply(R"({"begin":"all","mapping":{"type":"before"},"stream":"ORDERS"})");
  settle();
  add_plain("{}");
  origins.while_reading = [&] {
    change(R"({"begin":"all","mapping":{"type":"behind"},"stream":"ORDERS"})");
  };
  turn_later();
  EXPECT_FALSE(origins.while_reading) << "the message was read";
  settle();
  EXPECT_THAT(types_of_events(), ElementsAre("before", "behind"));
}

TEST_F(SourcesSimulation, HaveABoundOfEventsThatAreNotApplied) {
  add_orders(static_cast<int>(kLeastUnapplied) + 50);
  apply();
  for (int i = 0; i < 20; ++i) {
    run->turn();  // the engine makes no turn
    world.clock.advance(Duration(1'000));
  }
  EXPECT_THAT(world.broker.events(), SizeIs(kLeastUnapplied));
  settle();
  EXPECT_THAT(world.broker.events(), SizeIs(kLeastUnapplied + 50));
}

TEST_F(SourcesSimulation, HaveALargerBoundWhileNoOtherEventsCome) {
  constexpr const char* kFast = R"({"begin":"all","stream":"ORDERS","rate":100000})";
  constexpr int kMost = 2'000;  // of a fiftieth of a second
  add_orders(300);
  apply(kFast);
  const auto publish_without_engine = [&] {
    const size_t before = world.broker.events().size();
    for (int i = 0; i < 30; ++i) {
      run->turn();
      world.clock.advance(Duration(20));
    }
    return world.broker.events().size() - before;
  };
  settle();
  add_orders(2 * kMost);
  EXPECT_EQ(publish_without_engine(), kMost);
  world.publish("other", "other-1");
  settle();
  add_orders(kMost);
  EXPECT_EQ(publish_without_engine(), kLeastUnapplied);
  settle();
  world.run_for(kOthersCount);
  add_orders(kMost);
  EXPECT_EQ(publish_without_engine(), kMost);
}

TEST_F(SourcesSimulation, ShowNoLagBeforeTheirFirstPage) {
  add_orders(300);
  apply(R"({"begin":"all","stream":"ORDERS","rate":400})");
  run->turn();
  EXPECT_TRUE(run->figures().lag);
  change(R"({"begin":"all","stream":"ORDERS","rate":399})");
  run->turn();  // opens a reader, and waits for the rate
  EXPECT_TRUE(run->figures().is_read);
  EXPECT_EQ(run->figures().lag, std::nullopt);
}

TEST_F(SourcesSimulation, PublishNoFasterThanTheirRate) {
  add_orders(50);
  apply(R"({"begin":"all","rate":10,"stream":"ORDERS"})");
  Duration took(0);
  while (origin().applied.highest() < 50) {
    const Duration wait = run->turn();
    world.run_until_idle();
    world.run_for(wait);
    took += wait;
  }
  EXPECT_GE(took, std::chrono::seconds(4));
  EXPECT_LE(took, std::chrono::seconds(6));
}

TEST_F(SourcesSimulation, PublishAnEventAgainThatTheEventStreamHasLost) {
  add_orders(1);
  apply();
  run->turn();
  world.broker.lose_tail(1);
  world.broker.reconnect();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(0));
  settle();
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(run->figures().lost_events, 1U);
}

TEST_F(SourcesSimulation, KeepShowingThatARightIsMissing) {
  add_orders(1);
  apply();
  settle();
  origins.delete_consumers();
  origins.failure = Error{"source.not_permitted", "no right to acknowledge"};
  turn_later();
  turn_later();
  EXPECT_EQ(run->figures().waits.value_or(Error()).code, "source.not_permitted");
  origins.failure.reset();
  add_orders(1);
  settle();
  EXPECT_EQ(run->figures().waits, std::nullopt);
  EXPECT_EQ(run->figures().notice.value_or(Error()).message, "no right to acknowledge");
}

// Only the last event of a page is acknowledged, once some pages were published.
TEST_F(SourcesSimulation, PublishAnEventAgainThatTheBrokerHasNotStored) {
  add_orders(static_cast<int>(kLeastUnapplied));
  apply();
  settle();
  add_orders(30);
  int published = 0;
  world.broker.decide_fates([&](const NatsMessage& message) {
    PublishFate fate;
    if (message.subject.ends_with(".order")) fate.arrives = ++published != 10;
    return fate;
  });
  turn_later();
  EXPECT_EQ(published, 30);
  settle();
  EXPECT_EQ(run->figures().lost_events, 1U);
  EXPECT_THAT(world.instances(), SizeIs(kLeastUnapplied + 30));
}

constexpr const char* kMapped = R"({"begin":"all","mapping":{"type":"order"},"stream":"ORDERS"})";
/// The fast lane does not know the function.
constexpr const char* kMappedByWorkers =
    R"j({"begin":"all","mapping":{"type":"jq(.data | kind_of)"},"stream":"ORDERS"})j";

QueryResult kind_in(const Json& input) {
  if (!input["data"].is_object()) return fail(std::string(kJqBadCommand), "it has no kind");
  return LazyJson(input["data"].value("kind", Json()));
}

TEST_F(SourcesSimulation, MapMessagesThatAreNoEvents) {
  add_plain(R"({"total": 7})");
  add_plain("a text");
  add_orders(1);
  apply(kMapped);
  settle();
  EXPECT_THAT(world.instances(), SizeIs(3));
  EXPECT_THAT(world.dead_letters(), SizeIs(0));
  EXPECT_EQ(origin().applied, AppliedSequences(3));
}

TEST_F(SourcesSimulation, SayThatAMessageThatIsNoEventNeedsAMapping) {
  add_plain("{}");
  apply();
  settle();
  EXPECT_EQ(origin().refusal.code, "source.no_mapping");
  EXPECT_THAT(origin().refusal.message, testing::HasSubstr("set `mapping`"));
}

TEST_F(SourcesSimulation, GoOnWithTheNextMessageIfAMappingFails) {
  world.evaluator.define(".data | kind_of", kind_in);
  add_plain(R"({"kind": "order"})");
  add_plain("7");
  add_plain("{}");
  add_plain(R"({"kind": "order"})");
  apply(kMappedByWorkers);
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_THAT(world.dead_letters(), SizeIs(2));
  EXPECT_EQ(origin().refused, 2U);
  EXPECT_EQ(origin().refused_sequence, 3U);
  EXPECT_EQ(origin().refusal.code, "mapping.invalid");
  EXPECT_EQ(world.metric("millrace_source_messages_refused_total"), 2);
}

TEST_F(SourcesSimulation, KeepTheOrderOfMessagesWhateverTheirMappingsTake) {
  world.evaluator.define(".data | kind_of", kind_in);
  world.evaluator.hold();
  for (const char* const kind : {"first", "second", "third"}) {
    add_plain(std::string(R"({"kind": ")") + kind + "\"}");
  }
  apply(kMappedByWorkers);
  run->turn();
  ASSERT_EQ(world.evaluator.waiting(), 3U);
  world.evaluator.answer(1);
  run->turn();
  EXPECT_THAT(types_of_events(), ElementsAre());
  EXPECT_EQ(run->figures().lag, 3U);
  world.evaluator.answer(0);
  run->turn();
  EXPECT_THAT(types_of_events(), ElementsAre("first", "second"));
  world.evaluator.release();
  settle();
  EXPECT_THAT(types_of_events(), ElementsAre("first", "second", "third"));
}

TEST_F(SourcesSimulation, UseAChangedMappingFromTheNextMessageOn) {
  add_plain("{}");
  apply(kMapped);
  settle();
  world.evaluator.hold();
  add_plain(R"({"kind": "late"})");
  change(kMappedByWorkers);
  run->turn();
  EXPECT_EQ(world.evaluator.waiting(), 1U);
  change(R"({"begin":"all","mapping":{"type":"changed"},"stream":"ORDERS"})");
  settle();
  EXPECT_THAT(types_of_events(), ElementsAre("order", "changed"));
}

TEST_F(SourcesSimulation, HaveABoundOfBytesThatWaitForJqWorkers) {
  world.evaluator.define(".data | kind_of", kind_in);
  world.evaluator.hold();
  const std::string large =
      fmt::format(R"({{"kind": "order", "text": "{}"}})", std::string(kMostMappedBytes / 8, 'a'));
  for (int i = 0; i < 12; ++i) add_plain(large);
  apply(kMappedByWorkers);
  for (int rate = 1'000; rate < 1'005; ++rate) {
    run->turn();
    world.clock.advance(Duration(1'000));
    // The messages are read again, while the jq workers are busy with what was read before.
    change(fmt::format(R"j({{"begin":"all","mapping":{{"type":"jq(.data | kind_of)"}},)j"
                       R"j("rate":{},"stream":"ORDERS"}})j",
                       rate));
  }
  EXPECT_EQ(world.evaluator.waiting(), 8U);
  world.evaluator.release();
  settle();
  EXPECT_EQ(origin().events, 12U);
}

/// Messages come while the process is killed at random, the event stream loses its newest events,
/// publishes are stored twice or not acknowledged, and consumers are deleted. Some messages are
/// mapped.
TEST_F(SourcesSimulation, StartOneInstanceForEachMessageWhateverFails) {
  origins.streams["ORDERS"];
  world.evaluator.define(".data | kind_of", kind_in);
  apply(kMappedByWorkers);
  for (const uint64_t seed : seeds(6)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    world.broker.decide_fates([&](const NatsMessage& message) {
      PublishFate fate;
      if (!message.subject.starts_with("millrace.events.")) return fate;
      fate.twice = random() % 8 == 0;
      if (random() % 16 == 0) fate.refused = Error{"broker.timeout", "not stored"};
      return fate;
    });
    for (int step = 0; step < 60; ++step) {
      add_orders(static_cast<int>(random() % 3));
      if (random() % 2 == 0) add_plain(R"({"kind": "order"})");
      run->turn();
      if (random() % 3 != 0) world.run_until_idle();
      if (random() % 12 == 0) origins.delete_consumers();
      if (random() % 10 == 0) {
        world.restart_at(static_cast<int>(random() % 2));
        begin();
      }
    }
    world.broker.decide_fates(nullptr);
    settle();
    EXPECT_THAT(world.instances(), SizeIs(orders));
    EXPECT_THAT(world.dead_letters(), ElementsAre());
  }
}

}  // namespace
}  // namespace millrace
