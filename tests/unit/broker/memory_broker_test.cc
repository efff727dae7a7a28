#include "broker/memory_broker.h"

#include <gtest/gtest.h>

#include "tests/unit/broker/collecting_sink.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

class ManualClock : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_ = from_millis(1'700'000'000'000);
};

class MemoryBrokerTest : public testing::Test {
 protected:
  /// Publishes an event whose CloudEvents id and Nats-Msg-Id are `id`; outcomes_ gets the outcome.
  void publish(const std::string& id) {
    broker_.publish({kEventSubject, {{"Nats-Msg-Id", id}}, event_json(id)},
                    [this, id](const Result<PublishAck>& ack) {
                      outcomes_.push_back(id + " " +
                                          (!ack             ? ack.error().code
                                           : ack->duplicate ? "duplicate"
                                                            : std::to_string(ack->sequence)));
                    });
  }

  void publish_next(const std::string& id, const PublishFate& fate) {
    broker_.decide_fates([fate](const NatsMessage&) { return fate; });
    publish(id);
    broker_.decide_fates({});
  }

  void pump_all() {
    while (broker_.pump()) {
    }
  }

  /// The deliveries since the last call.
  Words delivered() {
    const Words all = sink_.words();
    Words fresh(all.begin() + static_cast<ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    return fresh;
  }

  Words outcomes() { return std::exchange(outcomes_, {}); }

  ManualClock clock_;
  MemoryBroker broker_{clock_};
  CollectingSink sink_;
  Words outcomes_;
  size_t seen_ = 0;
};

TEST_F(MemoryBrokerTest, DeliversAndAcknowledgesOnlyWhenPumpIsCalled) {
  broker_.start({}, sink_);
  publish("a");
  publish("b");
  EXPECT_EQ(delivered(), Words());
  EXPECT_EQ(outcomes(), Words());
  EXPECT_TRUE(broker_.pump());
  EXPECT_EQ(outcomes(), (Words{"a 1", "b 2"}));
  EXPECT_EQ(delivered(), (Words{"opened", "a", "b", "caught-up"}));
  EXPECT_FALSE(broker_.pump());
  clock_.advance(Duration(7));
  publish("c");
  pump_all();
  EXPECT_EQ(delivered(), (Words{"c", "caught-up"}));
  const EventInput last = sink_.all_of<EventInput>().back();
  EXPECT_EQ(last.sequence, 3u);
  EXPECT_EQ(last.stamped, clock_.now());
  EXPECT_EQ(last.ns, "default");
}

TEST_F(MemoryBrokerTest, DeliversInPartsAndReportsWhetherMoreMessagesWait) {
  for (const char* id : {"a", "b", "c"}) broker_.inject({kEventSubject, {}, event_json(id)});
  broker_.start({}, sink_);
  broker_.pump(2);
  EXPECT_EQ(delivered(), (Words{"opened", "a", "b"}));
  EXPECT_TRUE(sink_.all_of<EventInput>()[1].more);
  broker_.pump(0);
  EXPECT_EQ(delivered(), Words());
  broker_.pump(2);
  EXPECT_EQ(delivered(), (Words{"c", "caught-up"}));
  EXPECT_FALSE(sink_.all_of<EventInput>()[2].more);
}

TEST_F(MemoryBrokerTest, DropsDuplicatesWithinItsDuplicateWindow) {
  publish("a");
  pump_all();
  clock_.advance(std::chrono::minutes(2) - Duration(1));
  publish("a");
  pump_all();
  clock_.advance(std::chrono::minutes(2));
  publish("a");
  pump_all();
  EXPECT_EQ(outcomes(), (Words{"a 1", "a duplicate", "a 2"}));
}

TEST_F(MemoryBrokerTest, KeepsMessagesOfOtherSubjectsOutOfTheEventStream) {
  broker_.publish({"millrace.dlq.default.x", {{"Nats-Msg-Id", "a"}}, "bytes"}, [](const auto&) {});
  publish("a");
  broker_.start({}, sink_);
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "a", "caught-up"}));
  EXPECT_EQ(outcomes(), Words{"a 1"}) << "duplicates are detected within one stream only";
  ASSERT_EQ(broker_.others().size(), 1u);
  EXPECT_EQ(broker_.others()[0].message.data, "bytes");
  EXPECT_EQ(broker_.events().size(), 1u);
}

TEST_F(MemoryBrokerTest, DeliversMalformedMessagesAsUnreadable) {
  broker_.inject({kEventSubject, {}, "no json"});
  broker_.inject({"millrace.events.x", {}, event_json("a")});
  broker_.start({}, sink_);
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "?event.malformed_json", "?event.subject", "caught-up"}));
}

TEST_F(MemoryBrokerTest, RefusesTheMessagesThatARealBrokerRefuses) {
  Words codes;
  const auto keep = [&](const Result<PublishAck>& ack) { codes.push_back(ack.error().code); };
  broker_.publish({"a b", {}, ""}, keep);
  broker_.publish({"a", {{"b", "c\r\n"}}, ""}, keep);
  broker_.publish({"a", {}, std::string((1 << 20) + 1, 'x')}, keep);
  pump_all();
  EXPECT_EQ(codes, (Words{"broker.refused", "broker.refused", "broker.too_large"}));
}

TEST_F(MemoryBrokerTest, LosesMessagesOrDelaysOrReordersThemAsTheTestDecides) {
  broker_.start({}, sink_);
  publish_next("late", {.delay = 2});
  publish_next("twice", {.twice = true});
  publish_next("acked late", {.ack_delay = 1});
  publish_next("never acked", {.acked = false});
  publish_next("lost", {.arrives = false});
  publish_next("refused", {.refused = Error{"broker.refused", "full"}});
  broker_.pump();
  EXPECT_EQ(delivered(),
            (Words{"opened", "twice", "twice", "acked late", "never acked", "caught-up"}));
  EXPECT_EQ(outcomes(), (Words{"twice 1", "refused broker.refused"}));
  broker_.pump();
  EXPECT_EQ(outcomes(), Words{"acked late 3"});
  broker_.pump();
  EXPECT_EQ(delivered(), (Words{"late", "caught-up"}));
  EXPECT_EQ(outcomes(), Words{"late 5"});
  ASSERT_TRUE(broker_.next_deadline());
  clock_.advance(*broker_.next_deadline() - clock_.now());
  broker_.pump();
  EXPECT_EQ(outcomes(), (Words{"never acked broker.timeout", "lost broker.timeout"}));
  EXPECT_EQ(broker_.next_deadline(), std::nullopt);
}

TEST_F(MemoryBrokerTest, FailsPendingPublishesWhenItDisconnects) {
  broker_.start({}, sink_);
  broker_.pump();
  publish_next("delayed", {.delay = 1});
  publish_next("arrived", {.ack_delay = 5});
  broker_.pump();
  broker_.disconnect();
  publish("too late");
  pump_all();
  EXPECT_EQ(outcomes(), (Words{"delayed broker.unreachable", "arrived broker.unreachable",
                               "too late broker.unreachable"}));
  EXPECT_EQ(delivered(), (Words{"opened", "caught-up", "arrived", "caught-up", "lost"}));
  broker_.reconnect();
  publish("arrived");
  pump_all();
  EXPECT_EQ(outcomes(), Words{"arrived duplicate"});
  EXPECT_EQ(delivered(), (Words{"opened", "caught-up"}));
}

TEST_F(MemoryBrokerTest, AssignsTheSequencesOfLostMessagesToLaterMessages) {
  broker_.start({}, sink_);
  for (const char* id : {"a", "b", "c"}) {
    clock_.advance(Duration(1000));
    publish(id);
    pump_all();
  }
  broker_.lose_tail(2);
  broker_.reconnect();
  clock_.advance(Duration(1000));
  publish("d");
  publish("e");
  publish("f");
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "a", "caught-up", "b", "caught-up", "c", "caught-up",
                                "lost", "opened", "d", "e", "f", "caught-up"}));
  EXPECT_EQ(sink_.all_of<EventInput>()[3].sequence, 2u)
      << "sequences of the lost tail are assigned again";
  EXPECT_EQ(sink_.all_of<StreamOpened>()[1].intact_to, 1u);
}

TEST_F(MemoryBrokerTest, DeliversFromTheFirstMessageAfterItsStreamWasCreatedAgain) {
  broker_.start({}, sink_);
  publish("a");
  pump_all();
  broker_.recreate_stream();
  broker_.reconnect();
  publish("a");
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "a", "caught-up", "lost", "opened", "a", "caught-up"}));
  const std::vector<StreamOpened> opened = sink_.all_of<StreamOpened>();
  EXPECT_NE(opened[0].position.stream_created, opened[1].position.stream_created);
}

TEST_F(MemoryBrokerTest, KeepsDeliveringToASinkThatHasReplacedTheOneThatStops) {
  CollectingSink before;
  broker_.start({}, before);
  broker_.stop();
  broker_.start({}, sink_);
  broker_.stop(before);
  publish("a");
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "a", "caught-up"}));
  broker_.stop(sink_);
  publish("b");
  pump_all();
  EXPECT_EQ(delivered(), Words());
}

TEST_F(MemoryBrokerTest, ContinuesAfterTheCursorAndSkipsDroppedMessages) {
  for (const char* id : {"a", "b", "c", "d"}) broker_.inject({kEventSubject, {}, event_json(id)});
  broker_.start({}, sink_);
  broker_.pump(2);
  EXPECT_EQ(delivered(), (Words{"opened", "a", "b"}));
  broker_.lose_consumer();
  broker_.pump(1);
  EXPECT_EQ(delivered(), (Words{"opened", "c"}));
  broker_.stop();

  Cursor cursor = sink_.cursor();
  cursor.sequence = 1;
  broker_.drop_oldest(3);
  broker_.start(cursor, sink_);
  pump_all();
  EXPECT_EQ(delivered(), (Words{"opened", "d", "caught-up"}));
  EXPECT_EQ(sink_.all_of<StreamOpened>().back().first_sequence, 4u);
}

}  // namespace
}  // namespace millrace
