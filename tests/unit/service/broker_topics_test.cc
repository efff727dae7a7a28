// BrokerTopics: the topics `events` and `dead` of a LiveHub.
#include "orchestrator/service/broker_topics.h"

#include <gmock/gmock.h>

#include "cloudevents/subject.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/unit/service/live_hub_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLetterText = R"({"specversion":"1.0","id":"1","type":"paid"})";

class BrokerTopicsTest : public LiveHubTest {
 protected:
  // Events that are older than the namespace belong to an earlier one.
  BrokerTopicsTest() { clock.jump(now - clock.now() + std::chrono::hours(1)); }

  void publish(const std::string& type, const std::string& id, const std::string& space = "default",
               const std::string& more = "") {
    broker.inject({event_subject(space, type),
                   {},
                   R"({"specversion":"1.0","id":")" + id + R"(","source":"/shop","type":")" + type +
                       "\"" + more + "}"});
  }
  /// The engine has applied all events that the stream has.
  void apply_events() {
    applied = {.stream_created = broker.created(),
               .sequence = broker.last_sequence(),
               .stamped = clock.now()};
  }
  /// As apply_events(); the newest event has started an instance.
  void apply_with_effect() {
    apply_events();
    const EventPosition at{.stream = number_stream(*tx, applied.stream_created).value(),
                           .sequence = applied.sequence};
    const EventEffect started_one{.kind = EventEffect::Kind::kStarted, .instance = numbered_id(7)};
    write_effects(*tx, {.at = at, .number = at.sequence, .effects = {{at, started_one}}});
    write_cursor(*tx, applied);
    commit();
  }
  /// Lets the hub ask for events and dead letters, and send the answers.
  void settle() { pass(2 * LiveHub::kTenthsPerStep + 1); }

  static std::vector<uint64_t> sequences(const SentMessage& message) {
    std::vector<uint64_t> found;
    for (const Json& item : message.data.at("items")) found.push_back(item.at("sequence"));
    return found;
  }
  /// The sequences in all `events` messages since the last call.
  static std::vector<uint64_t> shown(RecordingClient& sink) {
    std::vector<uint64_t> all;
    for (const SentMessage& message : sink.take("events")) {
      for (const uint64_t sequence : sequences(message)) all.push_back(sequence);
    }
    return all;
  }
  /// The only message of the topic since the last call; null: there is none.
  static Json only(RecordingClient& sink, const std::string& event) {
    const auto messages = sink.take(event);
    EXPECT_LE(messages.size(), 1U);
    return messages.empty() ? Json() : messages[0].data;
  }
};

TEST_F(BrokerTopicsTest, ShowsEventsOnceTheyAreAppliedWithTheirEffects) {
  publish("paid", "1");
  apply_events();
  const auto sink = add({.events = true});
  EXPECT_EQ(only(*sink, "hello")["applied"], 1);
  settle();
  EXPECT_THAT(shown(*sink), IsEmpty()) << "it was applied before";
  publish("paid", "2", "default", R"(,"subject":"s","orderid":"o-1")");
  settle();
  EXPECT_THAT(shown(*sink), IsEmpty()) << "it is not applied yet";
  apply_with_effect();
  settle();
  const auto messages = sink->take("events");
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_TRUE(messages[0].id.starts_with("b1-")) << messages[0].id;
  EXPECT_TRUE(messages[0].id.ends_with(".2")) << messages[0].id;
  EXPECT_EQ(messages[0].data["more"], 0);
  ASSERT_THAT(messages[0].data["items"], SizeIs(1));
  const Json item = messages[0].data["items"][0];
  EXPECT_EQ(item["sequence"], 2);
  EXPECT_EQ(item["id"], "2");
  EXPECT_EQ(item["type"], "paid");
  EXPECT_EQ(item["subject"], "s");
  EXPECT_EQ(item["attributes"], (Json{{"orderid", "o-1"}}));
  EXPECT_EQ(item["applied"], true);
  EXPECT_EQ(item["effects"], (Json{{{"what", "started"}, {"instance", id(7)}}}));
  settle();
  EXPECT_THAT(shown(*sink), IsEmpty()) << "it is shown once";
}

TEST_F(BrokerTopicsTest, ShowsToEachClientWhatItAsksFor) {
  create_namespace("other");
  apply_events();
  const auto all = add({.events = true});
  const auto orders = add({.events = true, .type = "order.*"});
  const auto elsewhere = add({.ns = "other", .events = true});
  const auto counts = add({.counts = true});
  settle();
  publish("order.placed", "1");
  publish("paid", "2");
  publish("order.paid", "3", "other");
  broker.inject({"millrace.events.default.t", {}, "no event"});
  apply_events();
  settle();
  EXPECT_THAT(shown(*orders), ElementsAre(1));
  EXPECT_THAT(shown(*elsewhere), ElementsAre(3));
  EXPECT_THAT(counts->take("events"), IsEmpty());
  const Json message = only(*all, "events");
  ASSERT_EQ(message["items"].size(), 3U) << message;
  EXPECT_EQ(message["items"][2]["sequence"], 4);
  EXPECT_TRUE(message["items"][2].contains("error")) << message;
}

TEST_F(BrokerTopicsTest, EncodesAMessageOfEventsOnceForAllClientsThatWantTheSame) {
  apply_events();
  const auto one = add({.events = true});
  const auto two = add({.events = true});
  settle();
  one->take();
  two->take();
  publish("paid", "1");
  apply_events();
  settle();
  ASSERT_THAT(one->texts, SizeIs(1));
  ASSERT_THAT(two->texts, SizeIs(1));
  EXPECT_EQ(one->texts[0], two->texts[0]) << "they share the bytes";
  EXPECT_EQ(reads.asked, 1U) << "and the read of the broker";
}

TEST_F(BrokerTopicsTest, AsksTheBrokerForNothingWhileNoClientWatchesEvents) {
  const auto sink = add({.counts = true, .levels = true, .instances = true});
  publish("paid", "1");
  apply_events();
  settle();
  EXPECT_EQ(reads.asked, 0U);
  const auto events = add({.events = true});
  settle();
  EXPECT_EQ(reads.asked, 0U) << "no event was applied since";
}

TEST_F(BrokerTopicsTest, CountsTheEventsThatAMessageDoesNotShow) {
  apply_events();
  const auto sink = add({.events = true});
  settle();
  for (size_t i = 0; i < kMostLiveItems + 3; ++i) publish("paid", "1");
  apply_events();
  settle();
  auto messages = sink->take("events");
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].data["more"], 3);
  ASSERT_THAT(sequences(messages[0]), SizeIs(kMostLiveItems));
  EXPECT_EQ(sequences(messages[0]).front(), 4U) << "the newest are shown, the oldest of them first";

  for (size_t i = 0; i < kMostStoredEvents + 5; ++i) publish("paid", "1");
  apply_events();
  settle();
  messages = sink->take("events");
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages[0].data["more"], kMostStoredEvents - kMostLiveItems + 5);
  publish("paid", "1");
  apply_events();
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(broker.last_sequence()));
}

TEST_F(BrokerTopicsTest, BoundsTheBytesOfAMessage) {
  apply_events();
  const auto sink = add({.events = true});
  settle();
  const std::string large = R"(,"note":")" + std::string(40'000, 'x') + "\"";
  for (int i = 0; i < 3; ++i) publish("paid", "1", "default", large);
  apply_events();
  settle();
  const Json message = only(*sink, "events");
  EXPECT_EQ(message["items"].size(), 2U) << "with the second one, it has more than 64 KiB";
  EXPECT_EQ(message["more"], 1);
}

TEST_F(BrokerTopicsTest, ContinuesBehindTheLastEventOfAClientThatComesAgain) {
  apply_events();
  const auto first = add({.events = true});
  settle();
  publish("paid", "1");
  apply_events();
  settle();
  const auto messages = first->take("events");
  ASSERT_THAT(messages, SizeIs(1));
  first->open = false;
  publish("paid", "2");
  apply_events();
  settle();
  const auto again = add({.events = true, .last_id = messages[0].id});
  publish("paid", "3");
  apply_events();
  settle();
  const auto missed = again->take();
  ASSERT_THAT(missed, SizeIs(2));
  EXPECT_EQ(missed[0].event, "hello");
  EXPECT_THAT(sequences(missed[1]), ElementsAre(2, 3));
  for (const char* const last : {"b0-1.1", "b1-1.x", "b1-1.", "b1-1:1"}) {
    const auto unknown = add({.events = true, .last_id = last});
    settle();
    const auto resets = unknown->take("reset");
    ASSERT_THAT(resets, SizeIs(1)) << last;
    EXPECT_EQ(resets[0].data["why"], "restart");
  }
}

TEST_F(BrokerTopicsTest, ShowsTheEventsWhenTheBrokerAnswersAgain) {
  apply_events();
  const auto sink = add({.events = true});
  settle();
  publish("paid", "1");
  apply_events();
  broker.disconnect();
  settle();
  EXPECT_THAT(shown(*sink), IsEmpty());
  publish("paid", "2");
  apply_events();
  broker.reconnect();
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(1, 2));
}

TEST_F(BrokerTopicsTest, HasOneQuestionOfEachKindForANamespaceAtATime) {
  apply_events();
  const auto sink = add({.events = true, .dead = true});
  reads.holds = true;
  for (int i = 0; i < 5; ++i) {
    publish("paid", "1");
    apply_events();
    settle();
  }
  EXPECT_EQ(reads.asked, 2U);
  reads.holds = false;
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(BrokerTopicsTest, ShowsTheEventsOfAStreamThatReplacesAnother) {
  publish("paid", "1");
  publish("paid", "2");
  apply_events();
  const auto sink = add({.events = true});
  settle();
  broker.recreate_stream();
  broker.reconnect();
  publish("paid", "3");
  apply_events();
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(1));
  publish("paid", "4");
  publish("paid", "5");
  apply_events();
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(2, 3));
  broker.lose_tail(2);
  broker.reconnect();
  apply_events();
  settle();
  EXPECT_THAT(shown(*sink), IsEmpty());
  publish("paid", "6");
  apply_events();
  settle();
  EXPECT_THAT(shown(*sink), ElementsAre(2)) << "another event has the sequence of the lost one";
}

TEST_F(BrokerTopicsTest, ShowsTheNumberOfDeadLettersAndThoseThatCome) {
  stored_letters.add("default", kLetterText);
  stored_letters.add("other", kLetterText);
  const auto sink = add({.dead = true});
  settle();
  EXPECT_EQ(only(*sink, "dead"), Json::parse(R"({"count":1,"last":"1","items":[],"more":0})"));
  stored_letters.add("other", kLetterText);
  settle();
  EXPECT_EQ(only(*sink, "dead"), Json()) << "nothing has changed in the namespace";
  stored_letters.add("default", kLetterText, "event.time");
  stored_letters.add("default", kLetterText);
  settle();
  const Json came = only(*sink, "dead");
  EXPECT_EQ(came["count"], 3);
  EXPECT_EQ(came["last"], "5");
  EXPECT_EQ(came["more"], 0);
  ASSERT_EQ(came["items"].size(), 2U) << came;
  EXPECT_EQ(came["items"][0]["id"], "4");
  EXPECT_EQ(came["items"][0]["reason"], "event.time");
  EXPECT_FALSE(came["items"][0].contains("data"));
  EXPECT_EQ(came["items"][1]["id"], "5");
  ASSERT_TRUE(stored_letters.remove(5));
  const auto later = add({.dead = true});
  settle();
  const Json left = Json::parse(R"({"count":2,"last":"4","items":[],"more":0})");
  EXPECT_EQ(only(*sink, "dead"), left) << "one was deleted";
  EXPECT_EQ(only(*later, "dead"), left);
}

TEST_F(BrokerTopicsTest, CountsTheDeadLettersThatAMessageDoesNotShow) {
  const auto sink = add({.dead = true});
  settle();
  EXPECT_EQ(only(*sink, "dead"), Json::parse(R"({"count":0,"last":null,"items":[],"more":0})"));
  for (size_t i = 0; i < kMostLiveItems + 10; ++i) stored_letters.add("default", kLetterText);
  settle();
  const Json many = only(*sink, "dead");
  EXPECT_EQ(many["count"], kMostLiveItems + 10);
  ASSERT_EQ(many["items"].size(), kMostLiveItems);
  EXPECT_EQ(many["items"][0]["id"], "11") << "the newest are shown, the oldest of them first";
  EXPECT_EQ(many["more"], 10);
}

TEST_F(BrokerTopicsTest, ShowsNoDeadLettersOfAnEarlierNamespace) {
  const auto sink = add({.dead = true});
  settle();
  sink->take();
  stored_letters.add("default", kLetterText, "a", {{"Millrace-Namespace", "99"}});
  settle();
  EXPECT_EQ(only(*sink, "dead"), Json::parse(R"({"count":1,"last":null,"items":[],"more":0})"));
  stored_letters.failing = Error{"broker.unreachable", "not connected"};
  stored_letters.add("default", kLetterText);
  settle();
  EXPECT_EQ(only(*sink, "dead"), Json());
  stored_letters.failing.reset();
  settle();
  EXPECT_EQ(only(*sink, "dead")["items"].size(), 1U);
}

}  // namespace
}  // namespace millrace
