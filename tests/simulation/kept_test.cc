// What the broker acknowledged and lost: it is sent again, from what is kept for that.
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

/// Tells three times, once of them later.
constexpr const char* kTellsAtEach = R"(
id: tells
start: {type: event, event: {type: tell}}
states:
- {id: a, type: generateEvent, event: {type: told, source: /t, data: 'jq({n: 1})'}, transition: b}
- {id: b, type: generateEvent, event: {type: told, source: /t, data: 'jq({n: 2})'}, transition: wait}
- {id: wait, type: delay, duration: PT1S, transition: c}
- {id: c, type: generateEvent, event: {type: told, source: /t, data: 'jq({n: 3})'}}
)";

/// A batch that writes something, as there is one whenever anything happens.
void write_something(World& world) {
  static int last = 0;
  world.must(CreateNamespace{.name = fmt::format("n{}", ++last)});
}

/// Whatever was generated is in the stream, in the order of its instance.
void expect_all_told(World& world) {
  std::map<std::string, size_t> place;
  for (const Event& event : world.events("told")) place.try_emplace(event.id, place.size());
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

TEST(Kept, IsSentAgainWhatTheBrokerLost) {
  for (const bool restarts : {false, true}) {
    for (size_t lost = 1; lost <= 8; ++lost) {
      SCOPED_TRACE(fmt::format("{} lost, restarts: {}", lost, restarts));
      World world;
      world.apply(kTellsAtEach);
      for (int i = 0; i < 2; ++i) {
        world.publish("tell", std::to_string(i));
        world.run_for(seconds(2));
      }
      std::set<std::string> ids;
      for (const Event& event : world.events("told")) ids.insert(event.id);
      ASSERT_THAT(ids, SizeIs(6));

      if (restarts) world.crash();
      world.broker.lose_tail(lost);
      world.broker.reconnect();
      if (restarts) world.recover();
      world.run_for(seconds(2));
      std::set<std::string> again;
      for (const Event& event : world.events("told")) again.insert(event.id);
      EXPECT_EQ(again, ids) << "under the ids that they had";
      expect_all_told(world);
      EXPECT_EQ(world.metric("millrace_outbox_bytes"), 0);
    }
  }
}

TEST(Kept, ComesBackWhereOthersTookItsPlaces) {
  World world;
  world.apply(kTellsAtEach);
  world.publish("tell", "1");
  world.run_for(seconds(2));
  world.broker.lose_tail(2);
  world.clock.advance(seconds(1));
  for (int i = 0; i < 5; ++i) world.publish("other", std::to_string(i));
  world.broker.reconnect();
  world.run_for(seconds(1));
  EXPECT_THAT(world.events("told"), SizeIs(3));
  expect_all_told(world);
}

TEST(Kept, IsSentAgainWhenItWasNeverReadEither) {
  World world;
  world.apply(kTellsAtEach);
  world.publish("tell", "1");
  world.settle();
  const size_t read = world.broker.events().size();
  for (int i = 0; i < 5; ++i) world.publish("other", std::to_string(i));
  world.start("tells");
  ASSERT_EQ(world.events("told").size(), 4U);
  world.crash();
  world.broker.lose_tail(world.broker.events().size() - read);
  world.broker.reconnect();
  world.recover();
  world.run_for(seconds(2));
  EXPECT_THAT(world.events("told"), SizeIs(6));
  expect_all_told(world);
}

TEST(Kept, GoesAheadOfWhatItsInstanceTellsMeanwhile) {
  World world;
  world.apply(kTellsAtEach);
  world.publish("tell", "1");
  world.settle();
  world.broker.lose_tail(2);
  world.run_for(seconds(2));  // the third is generated while nothing can be sent
  EXPECT_THAT(world.events("told"), IsEmpty());
  world.broker.reconnect();
  world.run_for(seconds(1));
  EXPECT_THAT(world.events("told"), SizeIs(3));
  expect_all_told(world);
}

TEST(Kept, IsNothingToAStreamThatWasMadeAnew) {
  World world;
  world.apply(kTellsAtEach);
  world.publish("tell", "1");
  world.run_for(seconds(2));
  world.clock.advance(seconds(1));
  world.broker.make_anew();
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("told"), IsEmpty());
}

TEST(Kept, IsForgottenInTimeButWithNoBatchOfItsOwn) {
  World world;
  world.apply(kTellsAtEach);
  world.publish("tell", "1");
  world.run_for(minutes(1));
  EXPECT_EQ(world.rows_of("outbox"), 3U);
  const auto before = world.rows();
  world.run_for(hours(1));
  EXPECT_EQ(world.rows(), before) << "nothing is written because time goes by";

  write_something(world);
  EXPECT_EQ(world.rows_of("outbox"), 0U);
  EXPECT_EQ(world.rows_of("sent"), 0U);
  world.broker.lose_tail(2);
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("told"), SizeIs(1)) << "what is lost so late is lost";
}

TEST(Kept, IsNoMoreThanItMayBe) {
  World world({.processor = {.engine = {.kept = {.bytes = 2'000}}}});
  world.apply(kTellsAtEach);
  for (int i = 0; i < 20; ++i) {
    world.publish("tell", std::to_string(i));
    world.run_for(seconds(2));
  }
  write_something(world);
  const size_t kept = world.rows_of("outbox");
  EXPECT_GE(kept, 3U);
  EXPECT_LE(kept, 12U);
  world.broker.lose_tail(kept);
  world.broker.reconnect();
  world.run_for(minutes(1));
  EXPECT_THAT(world.events("told"), SizeIs(60)) << "the newest are those that are kept";
}

TEST(Kept, IsNoPressure) {
  World world({.processor = {.marks = {.outbox_bytes = 2'000}}});
  world.apply(kTellsAtEach);
  for (int i = 0; i < 20; ++i) {
    world.publish("tell", std::to_string(i));
    world.run_for(seconds(2));
  }
  EXPECT_EQ(world.rows_of("outbox"), 60U);
  EXPECT_TRUE(world.processor().ready());
  EXPECT_TRUE(world.intake().wait_until_quiet(Duration(0)));
}

TEST(Kept, GivesWayWhenTheStoreIsNearlyFull) {
  World world;
  world.apply(kTellsAtEach);
  for (int i = 0; i < 3; ++i) world.start("tells", {{"much", std::string(100'000, 'x')}});
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

TEST(Kept, GivesWayToWhatElseWouldNotFit) {
  World world;
  world.apply(R"(
id: echoes
start: {type: event, event: {type: say}}
states:
- {id: tell, type: generateEvent, event: {type: told, source: /t, data: 'jq(.say)'}}
)");
  for (int i = 0; i < 8; ++i) world.publish("say", std::to_string(i), std::string(100'000, 'x'));
  world.run_for(seconds(1));
  EXPECT_EQ(world.rows_of("outbox"), 8U);
  const uint64_t used = world.stored_bytes();
  world.crash();
  world.options().store.soft_limit_bytes = used + used / 4;
  world.options().processor.marks.store_reserve = 0;  // it comes without warning
  world.recover();
  world.run_for(seconds(1));
  EXPECT_EQ(world.rows_of("outbox"), 8U);
  world.publish("say", "much", std::string(350'000, 'x'));
  world.run_for(seconds(5));
  EXPECT_EQ(world.instances().size(), 9U);
  EXPECT_LE(world.rows_of("outbox"), 1U) << "of those before nothing is left";
}

/// Some work, then the broker goes back, again and again, and each time in another state.
TEST(Kept, LosesNothingWhateverTheBrokerLosesAndWhenever) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t bound) { return random() % bound; };
    World world({.seed = seed});
    world.apply(kTellsAtEach);
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
      for (uint64_t i = below(8); i > 0; --i) world.publish("tell", std::to_string(++events));
      for (uint64_t i = below(60); i > 0; --i) {
        if (below(4) == 0) world.clock.advance(milliseconds(below(300)));
        world.step(1 + below(8));
      }
      if (below(3) == 0) world.restart();
      world.clock.advance(Duration(1));
      // From outside nothing is kept, so no more is lost than what is ours.
      const auto& stored = world.broker.events();
      size_t ours = 0;
      while (ours < stored.size() &&
             stored[stored.size() - 1 - ours].message.data.find("\"told\"") != std::string::npos) {
        ++ours;
      }
      world.broker.lose_tail(below(ours + 1));
      if (below(2) == 0) world.restart();
      for (uint64_t i = below(10); i > 0; --i) world.step();
      world.broker.reconnect();
      world.step();  // others do not come before the stream is opened
    }
    world.broker.decide_fates({});
    world.run_for(minutes(1));
    EXPECT_EQ(world.instances().size(), static_cast<size_t>(events));
    expect_all_told(world);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TooLarge, IsADeadLetterAndWhatComesBehindItGoesOut) {
  World world;
  world.apply(kTellsAtEach);
  world.broker.decide_fates([](const NatsMessage& message) {
    PublishFate fate;
    if (message.data.find(R"("n":1)") != std::string::npos && message.data.size() > 50) {
      fate.refused = Error{std::string(kTooLarge), "a message is larger than max_payload"};
    }
    return fate;
  });
  world.publish("tell", "1");
  world.run_for(seconds(2));
  EXPECT_THAT(world.events("told"), SizeIs(2));
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
