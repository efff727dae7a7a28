#include "broker/event_stream.h"

#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "broker/publisher.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/collecting_sink.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;
using Losses = std::vector<BrokerLoss>;

class EventStreamTest : public NatsFixture {
 protected:
  /// Returns when the stream has them all: since 2.10 a server stores them after it has read them.
  void publish(size_t from, size_t to) {
    for (size_t i = from; i + 1 < to; ++i) {
      client_->publish(kEventSubject, event_json(std::to_string(i)));
    }
    const Json ack = client_->publish_acked(kEventSubject, "", event_json(std::to_string(to - 1)));
    EXPECT_FALSE(ack.contains("error")) << ack;
  }

  StreamInfo ensure() {
    const Result<StreamInfo> info = ensure_stream(*connection_, events_stream());
    EXPECT_TRUE(info) << info.error().message;
    return *info;
  }

  /// The consumers that the server has on the event stream.
  std::vector<std::string> consumers() {
    const Json answer = client_->api("CONSUMER.NAMES.MILLRACE_EVENTS");
    return answer.value("consumers", std::vector<std::string>());
  }

  std::vector<BrokerLoss> losses() {
    const std::lock_guard lock(losses_mutex_);
    return losses_;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  CollectingSink sink_;
  std::mutex losses_mutex_;
  std::vector<BrokerLoss> losses_;
  JetStreamEvents events_{*connection_, EventStreamSettings{.on_loss = [this](auto& loss) {
                            const std::lock_guard lock(losses_mutex_);
                            losses_.push_back(loss);
                          }}};
};

TEST_F(EventStreamTest, IsMadeWhenItIsMissingAndKnowsThatItIsEmpty) {
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
  EXPECT_EQ(inputs.back().space, "default");
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

TEST_F(EventStreamTest, BeginsBehindTheCursor) {
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

TEST_F(EventStreamTest, GoesOnWhenItsConsumerIsDeleted) {
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
  EXPECT_TRUE(sink_.all_of<StreamLost>().empty()) << "the connection was there all the time";
  EXPECT_GE(events_.counts().opened, 2u);
}

TEST_F(EventStreamTest, LeavesNoConsumersBehind) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(consumers().size(), 1u);
  events_.stop();
  while (!consumers().empty()) {  // the deletion is not waited for
  }
}

TEST_F(EventStreamTest, GoesOnWhenTheServerWasKilled) {
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

TEST_F(EventStreamTest, GoesOnWhenTheServerIsKilledInTheMiddle) {
  ensure();
  publish(0, 20000);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  server_.process().kill();
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(sink_.wait_for<EventInput>(20000));
  EXPECT_EQ(sink_.ids(), numbered(20000));
}

TEST_F(EventStreamTest, WaitsForAServerThatIsNotThereYet) {
  server_.process().stop();
  Result<std::unique_ptr<Connection>> early = Connection::open({.servers = {server_.url()}});
  ASSERT_TRUE(early);
  JetStreamEvents events(**early);
  events.start({}, sink_);
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  EXPECT_EQ(sink_.words(), (Words{"opened", "caught-up"}));
}

TEST_F(EventStreamTest, IsReadFromTheFirstMessageWhenItWasMadeAnew) {
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

TEST_F(EventStreamTest, IsMadeAgainWhenSomebodyDeletesIt) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(2));
  publish(0, 1);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
}

TEST_F(EventStreamTest, StepsBackWhenTheBrokerHasLostItsTail) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  const auto stamp = [this](int sequence) {
    const Json stored = client_->api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", sequence}});
    return *parse_rfc3339(stored["message"]["time"].get<std::string>());
  };
  const Cursor beyond{stream.created, 1000, stamp(10)};
  events_.start(beyond, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  publish(10, 12);
  ASSERT_TRUE(sink_.wait_until([](const std::vector<Delivery>& all) {
    return std::any_of(all.begin(), all.end(), [](const Delivery& one) {
      const auto* event = std::get_if<EventInput>(&one);
      return event != nullptr && event->event.event().id == "11";
    });
  }));
  for (const EventInput& input : sink_.all_of<EventInput>()) {
    EXPECT_GE(input.stamped, beyond.stamped) << "only what the broker took at that time or later";
  }
  const Cursor position = sink_.all_of<StreamOpened>()[0].position;
  EXPECT_LE(position.sequence, 10u);
  EXPECT_EQ(sink_.all_of<StreamOpened>()[0].intact_to, position.sequence);
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kTail, position.sequence + 1, 1000}}));
  events_.stop();

  const Cursor replaced{stream.created, 3, stamp(3) - Duration(60'000)};
  CollectingSink second;
  events_.start(replaced, second);
  ASSERT_TRUE(second.wait_for<EventInput>(12)) << "all are newer than what was applied last";
  EXPECT_EQ(second.ids(), numbered(12));
  EXPECT_EQ(losses().back(), (BrokerLoss{BrokerLoss::Kind::kTail, 1, 3}));
}

TEST_F(EventStreamTest, StepsBackOnceAndThenKnowsWhereItIs) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  events_.start({stream.created, 1000, from_millis(4'102'444'800'000)}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  const Cursor position = sink_.cursor();
  EXPECT_EQ(position.sequence, 10u) << "nothing came since";
  events_.stop();
  publish(10, 11);

  CollectingSink second;
  events_.start(position, second);
  ASSERT_TRUE(second.wait_for<EventInput>(1));
  EXPECT_EQ(second.ids(), (Words{"10"})) << "it is new, whatever the time of the broker";
  EXPECT_EQ(losses().size(), 1u);
}

TEST_F(EventStreamTest, TellsWhatTheBrokerStillHasWhenItsOldestMessagesAreGone) {
  const StreamInfo stream = ensure();
  publish(0, 10);
  client_->api("STREAM.PURGE.MILLRACE_EVENTS", {{"seq", 8}});
  events_.start({stream.created, 2, from_millis(1)}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(3));
  EXPECT_EQ(sink_.ids(), (Words{"7", "8", "9"}));
  EXPECT_EQ(sink_.all_of<StreamOpened>()[0].first_sequence, 8u);
  EXPECT_EQ(losses(), (Losses{{BrokerLoss::Kind::kDropped, 3, 7}}));
}

TEST_F(EventStreamTest, TellsWhatWentWhileItWasRead) {
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

TEST_F(EventStreamTest, MissesNothingInAStreamWithOtherSubjects) {
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

TEST_F(EventStreamTest, IsNotReadWhileItsSettingsWouldLoseEventsAndSaysSo) {
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
  EXPECT_EQ(config["max_msgs_per_subject"], 1) << "what a user has set is left alone";
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ensure();
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1)) << "it goes on by itself";
}

TEST_F(EventStreamTest, HasAMissingStreamMadeAgainWhenAMessageFoundNone) {
  JetStreamPublisher publisher(*connection_, kAckTimeout, [this] { events_.doubt_streams(); });
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->api("STREAM.DELETE.MILLRACE_DLQ");
  sink_.hold();  // as when the outbox is full: the thread that reads cannot help
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

TEST_F(EventStreamTest, CatchesUpThoughWhatWasPendingIsDeleted) {
  ensure();
  publish(0, 3000);
  sink_.hold();
  events_.start({}, sink_);
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

TEST_F(EventStreamTest, EndsWhenItsSinkIsClosed) {
  ensure();
  sink_.close();
  events_.start({}, sink_);
  events_.stop();
  EXPECT_EQ(sink_.words(), Words());
}

TEST_F(EventStreamTest, DeliversWhatIsNoEventAsItWasReceived) {
  ensure();
  const struct {
    const char* subject;
    std::string headers;
    std::string data;
    const char* code;
    Headers received;
  } rows[] = {
      {kEventSubject, "", "no json", "event.malformed_json", {}},
      {kEventSubject, "", "\0\xff"s, "event.not_utf8", {}},
      {kEventSubject, "", "", "event.malformed_json", {}},
      {"millrace.events.nothing-behind", "", event_json("1"), "event.subject", {}},
      {"millrace.events.a%zz.t", "", event_json("1"), "event.subject", {}},
      {kEventSubject,
       "Zz: 1\r\nAa: 2\r\nzz: 3\r\nZz: 4\r\n",
       "[",
       "event.malformed_json",
       {{"Zz", "1"}, {"Aa", "2"}, {"zz", "3"}, {"Zz", "4"}}},
      {kEventSubject,
       "A: x\0y\r\nB: \r\nC: 1\r\n"s,
       "{}",
       "event.missing_attribute",
       {{"A", "x\0y"s}, {"B", ""}, {"C", "1"}}},
      {kEventSubject, "B: \r\n", "{}", "event.missing_attribute", {{"B", ""}}},
      {kEventSubject, "no colon\r\n", "{}", "event.missing_attribute", {{"no colon", ""}}},
  };
  for (const auto& row : rows) {
    if (row.headers.empty()) {
      client_->publish(row.subject, row.data);
    } else {
      client_->publish(row.subject, row.headers, row.data, "");
    }
  }
  publish(0, 1);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  const std::vector<UnreadableInput> inputs = sink_.all_of<UnreadableInput>();
  ASSERT_EQ(inputs.size(), std::size(rows));
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(inputs[i].sequence, i + 1);
    EXPECT_EQ(inputs[i].message.subject, rows[i].subject) << i;
    EXPECT_EQ(inputs[i].message.data, rows[i].data) << i;
    EXPECT_EQ(inputs[i].message.headers, rows[i].received) << i;
    EXPECT_EQ(inputs[i].reason.code, rows[i].code) << i;
  }
}

/// A status line is for messages of the server itself, but a client may send one too.
constexpr const char* kStatusLines[] = {
    "100 Idle Heartbeat",  "100 FlowControl Request",  "200 OK",
    "400 Bad Request",     "404 No Messages",          "408 Request Timeout",
    "409 Batch Completed", "409 Consumer Deleted",     "409 Message Size Exceeds MaxBytes",
    "409 Server Shutdown", "423 Nats-Pin-Id mismatch", "503",
    "503 No Responders",
};

TEST_F(EventStreamTest, DeliversStoredMessagesThatLookLikeAStatusOfTheServer) {
  ensure();
  for (const char* status : kStatusLines) {
    client_->publish_with_status(kEventSubject, status, "", "");
    client_->publish_with_status(kEventSubject, status,
                                 "Nats-Last-Consumer: 7\r\nNats-Pending-Messages: 512\r\n", "");
    client_->publish_with_status(kEventSubject, status, "", "no event");
  }
  client_->publish(kEventSubject, "Status: 503\r\n", "", "");
  client_->publish_with_status(kEventSubject, "503", "", event_json("an event"));
  publish(0, 1);
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<EventInput>(2));
  EXPECT_EQ(sink_.ids(), (Words{"an event", "0"}));
  const std::vector<UnreadableInput> inputs = sink_.all_of<UnreadableInput>();
  ASSERT_EQ(inputs.size(), 3 * std::size(kStatusLines) + 1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(inputs[i].sequence, i + 1);
    EXPECT_EQ(inputs[i].reason.code, "event.malformed_json") << i;
  }
  EXPECT_EQ(events_.counts().opened, 1u) << "one consumer has read them all";
}

TEST_F(EventStreamTest, IsCaughtUpAgainBehindAMessageThatItHadToFetch) {
  ensure();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->publish_with_status(kEventSubject, "503", "", "");
  client_->flush();
  ASSERT_TRUE(sink_.wait_for<UnreadableInput>(1));
  // nats-server 2.15 delivers it without its headers, so it is not destroyed there.
  const bool has_more = sink_.all_of<UnreadableInput>().front().more;
  EXPECT_TRUE(!has_more || sink_.wait_for<CaughtUp>(2))
      << "timeouts of waits for events are held back until then";
}

/// Says to the requests of consumers what a server might say, by the reply subjects that they name.
class EventStreamStatusTest : public EventStreamTest {
 protected:
  void SetUp() override {
    ensure();
    client_->subscribe("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_EVENTS.*");
    events_.start({}, sink_);
    ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  }

  /// The reply subject of the newest request, of a consumer that has delivered something.
  std::string inbox() {
    client_->flush();
    std::string last;
    while (auto request = client_->next(Duration(0))) last = request->reply;
    EXPECT_NE(last, "");
    return last;
  }

  /// Publishes an event and waits until it is read.
  void expect_reading(size_t number) {
    publish(number, number + 1);
    ASSERT_TRUE(sink_.wait_for<EventInput>(number + 1));
    EXPECT_EQ(sink_.ids(), numbered(number + 1));
  }
};

TEST_F(EventStreamStatusTest, AnEndedRequestIsNoReasonToMakeAnotherConsumer) {
  size_t number = 0;
  expect_reading(number++);
  const std::string inbox = this->inbox();
  for (const char* const status : {"100 Idle Heartbeat", "404 No Messages", "408 Request Timeout",
                                   "409 Batch Completed", "409 Message Size Exceeds MaxBytes"}) {
    client_->publish_with_status(inbox, status, "", "");
    client_->flush();
    expect_reading(number++);
  }
  EXPECT_EQ(events_.counts().opened, 1u);
}

TEST_F(EventStreamStatusTest, AConsumerThatIsLostOrRefusesIsMadeAgain) {
  size_t number = 0;
  expect_reading(number++);
  for (const char* const status :
       {"503", "503 No Responders", "409 Consumer Deleted", "409 Leadership Change",
        "409 Server Shutdown", "409 Exceeded MaxWaiting", "400 Bad Request", "999 Unknown"}) {
    client_->publish_with_status(inbox(), status, "", "");
    client_->flush();
    ASSERT_TRUE(sink_.wait_for<StreamOpened>(number + 1)) << status;
    expect_reading(number++);
  }
  EXPECT_EQ(events_.counts().opened, number);
  EXPECT_TRUE(sink_.all_of<StreamLost>().empty()) << "the connection was there all the time";
}

/// Each delivery of one message is spoiled on its way, so that no consumer gets past it.
TEST_F(EventStreamTest, WhatNoConsumerCanDeliverIsReadWithoutOne) {
  ensure();
  TcpProxy proxy(server_.port());
  const std::unique_ptr<Connection> connection = connect_to(proxy.nats_url());
  JetStreamEvents events(*connection);
  events.start({}, sink_);
  publish(0, 1);
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  proxy.spoil("default.stuck ", "$JS.ACK", "$JX.ACK");
  client_->publish("millrace.events.default.stuck", event_json("1"));
  client_->flush();
  ASSERT_TRUE(sink_.wait_for<EventInput>(2));
  publish(2, 4);
  client_->publish("millrace.events.default.stuck", "no event");
  publish(4, 5);
  ASSERT_TRUE(sink_.wait_for<EventInput>(5));
  EXPECT_EQ(sink_.ids(), numbered(5));
  EXPECT_EQ(sink_.all_of<UnreadableInput>().size(), 1u);
  EXPECT_GE(events.counts().passed_over, 2u) << "and what came with them in one read";
}

TEST_F(EventStreamTest, WhatNoConsumerCanDeliverKeepsItsNamespaceUnderAnotherPrefix) {
  const StreamSettings stream = events_stream({.prefix = "orders"});
  ASSERT_TRUE(ensure_stream(*connection_, stream));
  TcpProxy proxy(server_.port());
  const std::unique_ptr<Connection> connection = connect_to(proxy.nats_url());
  JetStreamEvents events(*connection, EventStreamSettings{.stream = stream});
  events.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  proxy.spoil("shop.stuck ", "$JS.ACK", "$JX.ACK");
  client_->publish("orders.events.shop.stuck", event_json("1"));
  client_->flush();
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  EXPECT_EQ(sink_.all_of<EventInput>()[0].space, "shop");
}

TEST_F(EventStreamTest, ReadsHeadersThatTheLibraryMixesUp) {
  ensure();
  client_->publish(kEventSubject,
                   "ce-specversion: 1.0\r\nx-empty: \r\nCe-Id:7\r\nce-source: /s\r\n"
                   "Ce-Type: t\r\nx-last: \r\n",
                   "data", "");
  client_->flush();
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_until([](const std::vector<Delivery>& all) { return all.size() >= 3; }));
  ASSERT_EQ(sink_.words(), (Words{"opened", "7", "caught-up"}));
  EXPECT_EQ(sink_.all_of<EventInput>()[0].event.event().source, "/s");
  EXPECT_EQ(sink_.all_of<EventInput>()[0].event.event().data, "data");
}

TEST(EventStreamLimits, AnEventOfMoreThanOneMebibyteIsTooLarge) {
  NatsServer server("max_payload: 8MB\n");
  const std::unique_ptr<Connection> connection = server.connect();
  ASSERT_TRUE(ensure_stream(*connection, events_stream()));
  const std::unique_ptr<RawNatsClient> client = server.client();
  client->publish(kEventSubject, std::string(size_t{7} << 20, 'x'));
  client->publish(kEventSubject, event_json("small"));
  client->flush();
  CollectingSink sink;
  JetStreamEvents events(*connection);
  events.start({}, sink);
  ASSERT_TRUE(sink.wait_for<CaughtUp>(1));
  EXPECT_EQ(sink.words(), (Words{"opened", "?event.too_large", "small", "caught-up"}));
}

TEST(EventStreamLimits, LargeEventsDoNotEndARequestForGood) {
  NatsServer server;
  const std::unique_ptr<Connection> connection = server.connect();
  ASSERT_TRUE(ensure_stream(*connection, events_stream()));
  const std::unique_ptr<RawNatsClient> client = server.client();
  const std::string padding(900'000, 'x');
  for (int i = 0; i < 150; ++i) {
    client->publish(kEventSubject, R"({"specversion":"1.0","id":")" + std::to_string(i) +
                                       R"(","source":"/s","type":"t","data":")" + padding + "\"}");
  }
  client->flush();
  CollectingSink sink;
  JetStreamEvents events(*connection);
  events.start({}, sink);
  ASSERT_TRUE(sink.wait_for<EventInput>(150));
  EXPECT_EQ(sink.ids(), numbered(150));
  EXPECT_EQ(events.counts().opened, 1u) << "running out of bytes is no reason to begin again";
}

}  // namespace
}  // namespace millrace
