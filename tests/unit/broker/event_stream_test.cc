#include "broker/event_stream.h"

#include <future>

#include <gtest/gtest.h>

#include "broker/publisher.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/event_stream_fixture.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;
using Losses = std::vector<BrokerLoss>;

TEST_F(EventStreamTest, CreatesAMissingStreamAndReportsThatItIsEmpty) {
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(sink_.words(), (Words{"opened", "caught-up"}));
  EXPECT_TRUE(events_.health());
  const StreamOpened opened = sink_.all_of<StreamOpened>()[0];
  EXPECT_EQ(opened.position.stream_created, ensure().created);
  EXPECT_EQ(opened.first_sequence, 1u);
  EXPECT_EQ(opened.last_sequence, 0u);
}

TEST_F(EventStreamTest, DeliversEveryMessageOnceAndInOrder) {
  ensure();
  publish(0, 2500);
  events_.start({}, sink_);
  publish(2500, 5000);
  ASSERT_TRUE(sink_.wait_for<EventInput>(5000));
  EXPECT_EQ(sink_.ids(), numbered(5000));
  const std::vector<EventInput> inputs = sink_.all_of<EventInput>();
  EXPECT_EQ(inputs.front().sequence, 1u);
  EXPECT_EQ(inputs.back().sequence, 5000u);
  EXPECT_EQ(inputs.back().ns, "default");
  EXPECT_FALSE(inputs.back().more);
  EXPECT_TRUE(inputs.front().more);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(events_.counts().opened, 1u);
}

TEST_F(EventStreamTest, StampsMessagesWithTheTimeOfTheBroker) {
  ensure();
  publish(0, 1);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  const Json stored = client_->api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", 1}});
  EXPECT_EQ(parse_rfc3339(stored["message"]["time"].get<std::string>()),
            sink_.all_of<EventInput>()[0].stamped);
}

TEST_F(EventStreamTest, StartsReadingAfterTheCursor) {
  ensure();
  publish(0, 10);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(10));
  events_.stop();

  Cursor cursor = sink_.cursor();
  cursor.sequence = 4;
  cursor.stamped = sink_.all_of<EventInput>()[3].stamped;
  CollectingSink second;
  events_.start(cursor, second);
  ASSERT_TRUE(second.wait_for<EventInput>(6));
  EXPECT_EQ(second.ids(), (Words{"4", "5", "6", "7", "8", "9"}));
}

TEST_F(EventStreamTest, ContinuesWhenItsConsumerIsDeleted) {
  ensure();
  events_.start({}, sink_);
  publish(0, 1500);
  ASSERT_TRUE(sink_.wait_for<EventInput>(700));
  for (const std::string& name : consumers()) {
    client_->api("CONSUMER.DELETE.MILLRACE_EVENTS." + name);
  }
  publish(1500, 3000);
  ASSERT_TRUE(sink_.wait_for<EventInput>(3000));
  EXPECT_EQ(sink_.ids(), numbered(3000));
  EXPECT_TRUE(sink_.all_of<StreamLost>().empty()) << "the connection was never lost";
  EXPECT_GE(events_.counts().opened, 2u);
}

TEST_F(EventStreamTest, DeletesItsConsumerWhenItStops) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(consumers().size(), 1u);
  events_.stop();
  while (!consumers().empty()) {  // stop() does not wait for the deletion
  }
}

TEST_F(EventStreamTest, ContinuesAfterTheBrokerWasKilled) {
  ensure();
  events_.start({}, sink_);
  publish(0, 1000);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1000));
  server_.process().kill();
  ASSERT_TRUE(sink_.wait_for<StreamLost>(1));
  ASSERT_TRUE(server_.process().start_again());
  client_ = server_.client();
  publish(1000, 2000);
  ASSERT_TRUE(sink_.wait_for<EventInput>(2000));
  EXPECT_EQ(sink_.ids(), numbered(2000));
  const std::vector<StreamOpened> opened = sink_.all_of<StreamOpened>();
  ASSERT_EQ(opened.size(), 2u);
  EXPECT_EQ(opened[0].position.stream_created, opened[1].position.stream_created);
  EXPECT_GE(opened[1].last_sequence, 1000u);
}

TEST_F(EventStreamTest, ContinuesIfTheBrokerIsKilledDuringReading) {
  ensure();
  publish(0, 20000);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  server_.process().kill();
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(sink_.wait_for<EventInput>(20000));
  EXPECT_EQ(sink_.ids(), numbered(20000));
}

TEST_F(EventStreamTest, WaitsForABrokerThatDoesNotRunYet) {
  server_.process().stop();
  Result<std::unique_ptr<Connection>> early =
      Connection::open({.servers = {server_.url()}, .request_timeout = kPatience});
  ASSERT_TRUE(early);
  JetStreamEvents events(**early, EventStreamSettings{.pull = kPatientPull});
  events.start({}, sink_);
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(sink_.words(), (Words{"opened", "caught-up"}));
}

TEST_F(EventStreamTest, StartsReadingAtTheFirstMessageOfAStreamThatWasCreatedAgain) {
  const StreamInfo before = ensure();
  events_.start({}, sink_);
  publish(0, 3);
  ASSERT_TRUE(sink_.wait_for<EventInput>(3));
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ensure();
  publish(3, 6);
  ASSERT_TRUE(sink_.wait_for<EventInput>(6));
  EXPECT_EQ(sink_.ids(), numbered(6));
  EXPECT_EQ(sink_.all_of<EventInput>()[3].sequence, 1u);
  EXPECT_NE(sink_.all_of<StreamOpened>().back().position.stream_created, before.created);
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kStream, 3, 3}}));
}

TEST_F(EventStreamTest, CreatesADeletedStreamAgain) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(2));
  publish(0, 1);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
}

TEST_F(EventStreamTest, StepsBackToTheTimeOfTheCursorIfTheBrokerLostTheNewestMessages) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  const auto stamp = [this](int sequence) {
    const Json stored = client_->api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", sequence}});
    return *parse_rfc3339(stored["message"]["time"].get<std::string>());
  };
  const Cursor beyond_the_end{stream.created, 1000, stamp(10)};
  events_.start(beyond_the_end, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  publish(10, 12);
  ASSERT_TRUE(sink_.wait_until([](const std::vector<Delivery>& all) {
    return std::any_of(all.begin(), all.end(), [](const Delivery& one) {
      const auto* event = std::get_if<EventInput>(&one);
      return event != nullptr && event->event.event().id == "11";
    });
  }));
  for (const EventInput& input : sink_.all_of<EventInput>()) {
    EXPECT_GE(input.stamped, beyond_the_end.stamped)
        << "the broker stored each delivered message at the time of the cursor or later";
  }
  const Cursor position = sink_.all_of<StreamOpened>()[0].position;
  EXPECT_LE(position.sequence, 10u);
  EXPECT_EQ(sink_.all_of<StreamOpened>()[0].intact_to, position.sequence);
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kTail, position.sequence + 1, 1000}}));
  events_.stop();

  const Cursor replaced{stream.created, 3, stamp(3) - Duration(60'000)};
  CollectingSink second;
  events_.start(replaced, second);
  ASSERT_TRUE(second.wait_for<EventInput>(12)) << "all messages are newer than the cursor";
  EXPECT_EQ(second.ids(), numbered(12));
  EXPECT_EQ(losses().back(), (BrokerLoss{BrokerLoss::Kind::kTail, 1, 3}));
}

TEST_F(EventStreamTest, StepsBackToTheEndOfTheStreamOnceIfTheBrokerLostTheNewestMessages) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  events_.start({stream.created, 1000, from_millis(4'102'444'800'000)}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  const Cursor position = sink_.cursor();
  EXPECT_EQ(position.sequence, 10u) << "no message was published after the time of the cursor";
  events_.stop();
  publish(10, 11);

  CollectingSink second;
  events_.start(position, second);
  ASSERT_TRUE(second.wait_for<EventInput>(1));
  EXPECT_EQ(second.ids(), (Words{"10"}))
      << "the message is new, although its time is before that of the cursor";
  EXPECT_EQ(losses().size(), 1u);
}

TEST_F(EventStreamTest, ReportsMessagesThatWereDroppedBeforeItStarted) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  client_->api("STREAM.PURGE.MILLRACE_EVENTS", {{"seq", 8}});
  events_.start({stream.created, 2, from_millis(1)}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(3));
  EXPECT_EQ(sink_.ids(), (Words{"7", "8", "9"}));
  EXPECT_EQ(sink_.all_of<StreamOpened>()[0].first_sequence, 8u);
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kDropped, 3, 7}}));
}

TEST_F(EventStreamTest, ReportsMessagesThatWereDeletedDuringReading) {
  ensure();
  sink_.hold();
  events_.start({}, sink_);
  publish(0, 4000);
  for (const int sequence : {3001, 3002, 3500}) {
    client_->api("STREAM.MSG.DELETE.MILLRACE_EVENTS", {{"seq", sequence}});
  }
  sink_.release();
  ASSERT_TRUE(sink_.wait_for<EventInput>(3997));
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kDropped, 3001, 3002},
                              {BrokerLoss::Kind::kDropped, 3500, 3500}}));
}

TEST_F(EventStreamTest, ReportsNoLossIfTheStreamAlsoHasOtherSubjects) {
  client_->api("STREAM.CREATE.MILLRACE_EVENTS",
               {{"name", "MILLRACE_EVENTS"}, {"subjects", {"millrace.events.>", "other"}}});
  for (int i = 0; i < 3; ++i) {
    client_->publish(kEventSubject, event_json(std::to_string(i)));
    client_->publish("other", "x");
  }
  client_->flush();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(3));
  EXPECT_EQ(sink_.ids(), numbered(3));
  EXPECT_EQ(losses(), Losses());
}

TEST_F(EventStreamTest, RefusesAStreamWhoseSettingsWouldLoseEvents) {
  client_->api("STREAM.CREATE.MILLRACE_EVENTS", {{"name", "MILLRACE_EVENTS"},
                                                 {"subjects", {"millrace.events.>"}},
                                                 {"max_msgs_per_subject", 1}});
  events_.start({}, sink_);
  while (events_.health() || events_.health().error().code != "broker.stream") {
  }
  const std::string message = events_.health().error().message;
  EXPECT_NE(message.find("stream MILLRACE_EVENTS has max_msgs_per_subject 1 instead of -1"),
            std::string::npos)
      << message;
  const Json config = client_->api("STREAM.INFO.MILLRACE_EVENTS")["config"];
  EXPECT_EQ(config["max_msgs_per_subject"], 1) << "settings of a user are not changed";
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ensure();
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1)) << "reading starts without a restart";
}

TEST_F(EventStreamTest, CreatesADeletedStreamAgainWhenAMessageIsPublishedToIt) {
  JetStreamPublisher publisher(*connection_, kPatience, [this] { events_.doubt_streams(); });
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->api("STREAM.DELETE.MILLRACE_DLQ");
  sink_.hold();  // blocks the reader thread, like a full outbox
  publish(0, 1);
  Result<PublishAck> ack = fail("test", "not tried");
  while (!ack) {
    std::promise<Result<PublishAck>> done;
    publisher.publish({"millrace.dlq.default.x", {}, "letter"},
                      [&](Result<PublishAck> result) { done.set_value(std::move(result)); });
    ack = done.get_future().get();
  }
  EXPECT_EQ(client_->api("STREAM.INFO.MILLRACE_DLQ")["state"]["messages"], 1);
  sink_.release();
}

TEST_F(EventStreamTest, CatchesUpIfUnreadMessagesAreDeleted) {
  ensure();
  publish(0, 3000);
  sink_.hold();
  JetStreamEvents events(*connection_);  // a heartbeat shows that no message comes any more
  events.start({}, sink_);
  client_->api("STREAM.PURGE.MILLRACE_EVENTS");
  sink_.release();
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
}

TEST_F(EventStreamTest, StopsPullingWhileTheSinkIsFull) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  sink_.hold();
  publish(0, 10000);
  const std::vector<std::string> names = consumers();
  ASSERT_EQ(names.size(), 1u);
  const Json info = client_->api("CONSUMER.INFO.MILLRACE_EVENTS." + names[0]);
  EXPECT_LE(info["delivered"]["consumer_seq"], 3 * 512 + 256);
  sink_.release();
  ASSERT_TRUE(sink_.wait_for<EventInput>(10000));
  EXPECT_EQ(sink_.ids(), numbered(10000));
}

TEST_F(EventStreamTest, DeliversNothingToAClosedSinkAndCanBeStopped) {
  ensure();
  sink_.close();
  events_.start({}, sink_);
  events_.stop();
  EXPECT_EQ(sink_.words(), Words());
}

}  // namespace
}  // namespace millrace
