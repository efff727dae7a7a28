// Unusual messages in the event stream: malformed events, messages that look like a status of the
// broker, large messages, and messages that no consumer can deliver.
#include <gtest/gtest.h>

#include "broker/event_stream.h"
#include "broker/publisher.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/event_stream_fixture.h"

namespace millrace {
namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;
using Losses = std::vector<BrokerLoss>;

TEST_F(EventStreamTest, DeliversMalformedMessagesUnchanged) {
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

/// Status lines of messages that the broker sends; a client may send messages with the same lines.
constexpr const char* kStatusLines[] = {
    "100 Idle Heartbeat",  "100 FlowControl Request",  "200 OK",
    "400 Bad Request",     "404 No Messages",          "408 Request Timeout",
    "409 Batch Completed", "409 Consumer Deleted",     "409 Message Size Exceeds MaxBytes",
    "409 Server Shutdown", "423 Nats-Pin-Id mismatch", "503",
    "503 No Responders",
};

TEST_F(EventStreamTest, DeliversStoredMessagesThatLookLikeAStatusOfTheBroker) {
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
  EXPECT_EQ(events_.counts().opened, 1u) << "one consumer reads all messages";
}

TEST_F(EventStreamTest, IsCaughtUpAgainAfterAMessageThatItReadIndividually) {
  ensure();
  JetStreamEvents events(*connection_);  // a heartbeat shows that no message follows
  events.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  client_->publish_with_status(kEventSubject, "503", "", "");
  client_->flush();
  ASSERT_TRUE(sink_.wait_for<UnreadableInput>(1));
  // nats-server 2.15 delivers the message without its headers; then nothing has to be fetched.
  const bool has_more = sink_.all_of<UnreadableInput>().front().more;
  EXPECT_TRUE(!has_more || sink_.wait_for<CaughtUp>(2))
      << "timeouts of waits for events are delayed until CaughtUp";
}

/// Answers the pull requests of consumers with statuses as the broker sends them, on the reply
/// subjects of the requests.
class EventStreamStatusTest : public EventStreamTest {
 protected:
  void SetUp() override {
    ensure();
    client_->subscribe("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_EVENTS.*");
    events_.start({}, sink_);
    ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  }

  /// The reply subject of the newest pull request. The consumer must have delivered a message.
  std::string inbox() {
    client_->flush();
    std::string last;
    // The broker may send the request to this client after it has answered it.
    for (auto request = client_->next(); request; request = client_->next(Duration(0))) {
      last = request->reply;
    }
    EXPECT_NE(last, "");
    return last;
  }

  /// Publishes the event `number` and waits until it is delivered.
  void expect_reading(size_t number) {
    publish(number, number + 1);
    ASSERT_TRUE(sink_.wait_for<EventInput>(number + 1));
    EXPECT_EQ(sink_.ids(), numbered(number + 1));
  }
};

TEST_F(EventStreamStatusTest, KeepsItsConsumerWhenAPullRequestEnds) {
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

TEST_F(EventStreamStatusTest, CreatesANewConsumerWhenItsConsumerIsLostOrRefusesAPullRequest) {
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
  EXPECT_TRUE(sink_.all_of<StreamLost>().empty()) << "the connection was never lost";
}

/// The proxy corrupts each delivery of one message, so that no consumer can deliver it.
TEST_F(EventStreamTest, ReadsAMessageThatNoConsumerCanDeliver) {
  ensure();
  TcpProxy proxy(server_.port());
  const std::unique_ptr<Connection> connection = connect_to(proxy.nats_url());
  JetStreamEvents events(*connection, EventStreamSettings{.pull = kPatientPull});
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
  EXPECT_GE(events.counts().passed_over, 2u)
      << "other messages of the same pull request may be passed over too";
}

TEST_F(EventStreamTest, ReadsTheNamespaceOfAnUndeliverableMessageIfTheStreamHasAnotherPrefix) {
  const StreamSettings stream = events_stream({.prefix = "orders"});
  ASSERT_TRUE(ensure_stream(*connection_, stream));
  TcpProxy proxy(server_.port());
  const std::unique_ptr<Connection> connection = connect_to(proxy.nats_url());
  JetStreamEvents events(*connection, EventStreamSettings{.stream = stream, .pull = kPatientPull});
  events.start({}, sink_);
  ASSERT_TRUE(sink_.wait_for<CaughtUp>(1));
  proxy.spoil("shop.stuck ", "$JS.ACK", "$JX.ACK");
  client_->publish("orders.events.shop.stuck", event_json("1"));
  client_->flush();
  ASSERT_TRUE(sink_.wait_for<EventInput>(1));
  EXPECT_EQ(sink_.all_of<EventInput>()[0].ns, "shop");
}

TEST_F(EventStreamTest, ReadsHeadersThatTheLibraryNatsCMisreads) {
  ensure();
  client_->publish_acked(kEventSubject,
                         "ce-specversion: 1.0\r\nx-empty: \r\nCe-Id:7\r\nce-source: /s\r\n"
                         "Ce-Type: t\r\nx-last: \r\n",
                         "data");
  events_.start({}, sink_);
  ASSERT_TRUE(sink_.wait_until([](const std::vector<Delivery>& all) { return all.size() >= 3; }));
  ASSERT_EQ(sink_.words(), (Words{"opened", "7", "caught-up"}));
  EXPECT_EQ(sink_.all_of<EventInput>()[0].event.event().source, "/s");
  EXPECT_EQ(sink_.all_of<EventInput>()[0].event.event().data, "data");
}

TEST(EventStream, ReportsAnEventOfMoreThanOneMebibyteAsTooLarge) {
  NatsServer server("max_payload: 8MB\n");
  const std::unique_ptr<Connection> connection = server.connect();
  ASSERT_TRUE(ensure_stream(*connection, events_stream()));
  const std::unique_ptr<RawNatsClient> client = server.client();
  client->publish(kEventSubject, std::string(size_t{7} << 20, 'x'));
  client->publish_acked(kEventSubject, "", event_json("small"));
  CollectingSink sink;
  JetStreamEvents events(*connection, EventStreamSettings{.pull = kPatientPull});
  events.start({}, sink);
  ASSERT_TRUE(sink.wait_for<CaughtUp>(1));
  EXPECT_EQ(sink.words(), (Words{"opened", "?event.too_large", "small", "caught-up"}));
}

TEST(EventStream, KeepsItsConsumerWhenLargeEventsEndAPullRequest) {
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
  JetStreamEvents events(*connection, EventStreamSettings{.pull = kPatientPull});
  events.start({}, sink);
  ASSERT_TRUE(sink.wait_for<EventInput>(150));
  EXPECT_EQ(sink.ids(), numbered(150));
  EXPECT_EQ(events.counts().opened, 1u)
      << "a pull request that ends at its byte limit needs no new consumer";
}

}  // namespace
}  // namespace millrace
