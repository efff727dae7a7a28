// Acked messages: millrace sends a message again that the broker has acknowledged and then lost.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

/// A workflow that publishes three events, the last of them after a delay.
constexpr const char* kPublishesThree = R"(
id: sends
start: {type: event, event: {type: send}}
states:
- {id: a, type: generateEvent, event: {type: sent, source: /t, data: 'jq({n: 1})'}, transition: b}
- {id: b, type: generateEvent, event: {type: sent, source: /t, data: 'jq({n: 2})'}, transition: wait}
- {id: wait, type: delay, duration: PT1S, transition: c}
- {id: c, type: generateEvent, event: {type: sent, source: /t, data: 'jq({n: 3})'}}
)";

/// Commits a batch that writes a row.
void write_something(World& world) {
  static int last = 0;
  world.must(CreateNamespace{.name = fmt::format("n{}", ++last)});
}

/// Expects all generated events in the stream, in the order of their instance.
void expect_all_published(World& world) {
  std::map<std::string, size_t> place;
  for (const Event& event : world.events("sent")) place.try_emplace(event.id, place.size());
  for (const Json& instance : world.instances()) {
    std::optional<size_t> before;
    for (const Json& record : world.history_items(instance["id"])) {
      if (record["kind"] != "published") continue;
      const auto found = place.find(record["detail"]["id"].get<std::string>());
      ASSERT_NE(found, place.end()) << record << " is lost";
      if (before) {
        EXPECT_LT(*before, found->second) << "out of order: " << instance["id"];
      }
      before = found->second;
    }
  }
}

TEST(AckedMessages, AreSentAgainWhenTheBrokerLosesThem) {
  for (const bool restarts : {false, true}) {
    for (size_t lost = 1; lost <= 8; ++lost) {
      SCOPED_TRACE(fmt::format("{} lost, restarts: {}", lost, restarts));
      World world;
      world.apply(kPublishesThree);
      for (int i = 0; i < 2; ++i) {
        world.publish("send", std::to_string(i));
        world.run_for(seconds(2));
      }
      std::set<std::string> ids;
      for (const Event& event : world.events("sent")) ids.insert(event.id);
      ASSERT_THAT(ids, SizeIs(6));

      if (restarts) world.crash();
      world.broker.lose_tail(lost);
      world.broker.reconnect();
      if (restarts) world.recover();
      world.run_for(seconds(2));
      std::set<std::string> again;
      for (const Event& event : world.events("sent")) again.insert(event.id);
      EXPECT_EQ(again, ids) << "under the same ids";
      expect_all_published(world);
      EXPECT_EQ(world.metric("millrace_outbox_bytes"), 0);
    }
  }
}

TEST(AckedMessages, AreSentAgainIfOtherMessagesTookTheirSequenceNumbers) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_for(seconds(2));
  world.broker.lose_tail(2);
  world.clock.advance(seconds(1));
  for (int i = 0; i < 5; ++i) world.publish("other", std::to_string(i));
  world.broker.reconnect();
  world.run_for(seconds(1));
  EXPECT_THAT(world.events("sent"), SizeIs(3));
  expect_all_published(world);
}

TEST(AckedMessages, AreSentAgainIfTheBrokerLostThemBeforeMillraceReadThemAsEvents) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_until_idle();
  const size_t read = world.broker.events().size();
  for (int i = 0; i < 5; ++i) world.publish("other", std::to_string(i));
  world.start("sends");
  ASSERT_EQ(world.events("sent").size(), 4U);
  world.crash();
  world.broker.lose_tail(world.broker.events().size() - read);
  world.broker.reconnect();
  world.recover();
  world.run_for(seconds(2));
  EXPECT_THAT(world.events("sent"), SizeIs(6));
  expect_all_published(world);
}

TEST(AckedMessages, AreSentBeforeNewerEventsOfTheirInstance) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_until_idle();
  world.broker.lose_tail(2);
  // The third event is generated while there is no connection to the broker.
  world.run_for(seconds(2));
  EXPECT_THAT(world.events("sent"), IsEmpty());
  world.broker.reconnect();
  world.run_for(seconds(1));
  EXPECT_THAT(world.events("sent"), SizeIs(3));
  expect_all_published(world);
}

TEST(AckedMessages, AreNotSentToAStreamThatWasCreatedAgain) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_for(seconds(2));
  world.clock.advance(seconds(1));
  world.broker.recreate_stream();
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("sent"), IsEmpty());
}

TEST(AckedMessages, AreErasedByTheNextBatchOnceTheyAreTooOld) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_for(minutes(1));
  EXPECT_EQ(world.rows_of("outbox"), 3U);
  const auto before = world.rows();
  world.run_for(hours(1));
  EXPECT_EQ(world.rows(), before) << "time alone writes no row";

  write_something(world);
  EXPECT_EQ(world.rows_of("outbox"), 0U);
  EXPECT_EQ(world.rows_of("sent"), 0U);
  world.broker.lose_tail(2);
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("sent"), SizeIs(1)) << "a late loss is final";
}

TEST(AckedMessages, AreNotErasedBeforeTheStreamIsOpenAgainAfterALongTime) {
  World world;
  world.apply(kPublishesThree);
  world.publish("send", "1");
  world.run_for(seconds(2));
  world.crash();
  world.broker.lose_tail(2);
  world.broker.disconnect();
  world.clock.advance(hours(1));
  world.recover();
  write_something(world);
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("sent"), SizeIs(3));
  expect_all_published(world);
}

TEST(AckedMessages, StayWithinTheirByteLimit) {
  World world({.processor = {.engine = {.kept = {.bytes = 2'000}}}});
  world.apply(kPublishesThree);
  for (int i = 0; i < 20; ++i) {
    world.publish("send", std::to_string(i));
    world.run_for(seconds(2));
  }
  write_something(world);
  const size_t kept = world.rows_of("outbox");
  EXPECT_GE(kept, 3U);
  EXPECT_LE(kept, 12U);
  world.broker.lose_tail(kept);
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("sent"), SizeIs(60)) << "the newest messages are kept";
}

TEST(AckedMessages, CauseNoBackpressure) {
  World world({.processor = {.marks = {.outbox_bytes = 2'000}}});
  world.apply(kPublishesThree);
  for (int i = 0; i < 20; ++i) {
    world.publish("send", std::to_string(i));
    world.run_for(seconds(2));
  }
  EXPECT_EQ(world.rows_of("outbox"), 60U);
  EXPECT_TRUE(world.processor().ready());
  EXPECT_TRUE(world.intake().wait_until_quiet(Duration(0)));
}

TEST(AckedMessages, AreErasedWhenTheStoreIsNearlyFull) {
  World world;
  world.apply(kPublishesThree);
  for (int i = 0; i < 3; ++i) world.start("sends", {{"much", std::string(100'000, 'x')}});
  world.run_for(seconds(2));
  EXPECT_EQ(world.rows_of("outbox"), 9U);
  const uint64_t used = world.stored_bytes();
  world.crash();
  world.options().store.soft_limit_bytes = used + used / 16;
  world.recover();
  world.run_for(seconds(1));
  EXPECT_EQ(world.rows_of("outbox"), 0U);
  EXPECT_EQ(world.rows_of("sent"), 0U);
}

TEST(AckedMessages, AreErasedToMakeRoomForABatchThatDoesNotFitIntoTheStore) {
  World world;
  world.apply(R"(
id: echoes
start: {type: event, event: {type: say}}
states:
- {id: send, type: generateEvent, event: {type: sent, source: /t, data: 'jq(.say)'}}
)");
  for (int i = 0; i < 8; ++i) world.publish("say", std::to_string(i), std::string(100'000, 'x'));
  world.run_for(seconds(1));
  EXPECT_EQ(world.rows_of("outbox"), 8U);
  const uint64_t used = world.stored_bytes();
  world.crash();
  world.options().store.soft_limit_bytes = used + used / 4;
  // So that no backpressure begins before the store is full.
  world.options().processor.marks.store_reserve = 0;
  world.recover();
  world.run_for(seconds(1));
  EXPECT_EQ(world.rows_of("outbox"), 8U);
  world.publish("say", "much", std::string(350'000, 'x'));
  world.run_for(seconds(5));
  EXPECT_EQ(world.instances().size(), 9U);
  EXPECT_LE(world.rows_of("outbox"), 1U) << "the earlier messages are erased";
}

// The broker loses the newest messages of the stream again and again, at different times.
TEST(AckedMessages, SurviveRandomLossesOfTheBroker) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t bound) { return random() % bound; };
    World world({.seed = seed});
    world.apply(kPublishesThree);
    world.broker.decide_fates([&](const NatsMessage&) {
      PublishFate fate;
      if (below(4) != 0) return fate;
      fate.arrives = below(4) != 0;
      fate.acked = below(4) != 0;
      fate.delay = static_cast<int>(below(4));
      fate.ack_delay = static_cast<int>(below(4));
      return fate;
    });
    int events = 0;
    for (int round = 0; round < 20; ++round) {
      for (uint64_t i = below(8); i > 0; --i) world.publish("send", std::to_string(++events));
      for (uint64_t i = below(60); i > 0; --i) {
        if (below(4) == 0) world.clock.advance(milliseconds(below(300)));
        world.step(1 + below(8));
      }
      if (below(3) == 0) world.restart();
      world.clock.advance(Duration(1));
      // millrace can send only generated events again, so the broker loses no other events.
      const auto& stored = world.broker.events();
      size_t ours = 0;
      while (ours < stored.size() &&
             stored[stored.size() - 1 - ours].message.data.find("\"sent\"") != std::string::npos) {
        ++ours;
      }
      world.broker.lose_tail(below(ours + 1));
      if (below(2) == 0) world.restart();
      for (uint64_t i = below(10); i > 0; --i) world.step();
      world.broker.reconnect();
      world.step();  // the event stream is opened before other events come
    }
    world.broker.decide_fates({});
    world.run_for(minutes(1));
    EXPECT_EQ(world.instances().size(), static_cast<size_t>(events));
    expect_all_published(world);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GeneratedEvents, BecomeDeadLettersWhenTheyAreTooLargeAndBlockNoOthers) {
  World world;
  world.apply(kPublishesThree);
  world.broker.decide_fates([](const NatsMessage& message) {
    PublishFate fate;
    if (message.data.find(R"("n":1)") != std::string::npos && message.data.size() > 50) {
      fate.refused = Error{std::string(kTooLarge), "a message is larger than max_payload"};
    }
    return fate;
  });
  world.publish("send", "1");
  world.run_for(seconds(2));
  EXPECT_THAT(world.events("sent"), SizeIs(2));
  EXPECT_THAT(world.dead_letters(), testing::ElementsAre("millrace.event.tooLarge"));
  const NatsMessage& letter = world.broker.others().at(0).message;
  EXPECT_TRUE(letter.subject.starts_with("millrace.dlq.default.")) << letter.subject;
  const std::string* const whole = find_header(letter.headers, "Millrace-Truncated");
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(letter.data.size(), std::stoul(*whole) / 4);
  EXPECT_EQ(world.metric("millrace_outbox_bytes"), 0);
}

}  // namespace
}  // namespace millrace
