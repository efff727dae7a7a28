#include "broker/publisher.h"

#include <atomic>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/check.h"
#include "broker/streams.h"
#include "tests/unit/broker/collecting_sink.h"

namespace millrace {
namespace {

NatsMessage message(const std::string& id, const std::string& data = "x") {
  return {kEventSubject, {{"Nats-Msg-Id", id}}, data};
}

/// Publishes and waits for the outcome.
Result<PublishAck> publish(Publisher& publisher, NatsMessage outgoing) {
  std::promise<Result<PublishAck>> promise;
  std::future<Result<PublishAck>> future = promise.get_future();
  publisher.publish(std::move(outgoing),
                    [&](Result<PublishAck> result) { promise.set_value(std::move(result)); });
  CHECK(future.wait_for(kPatience) == std::future_status::ready, "no outcome");
  return future.get();
}

/// "acked 3", "duplicate 3", or the code of the error.
std::string outcome(const Result<PublishAck>& result) {
  if (!result) return result.error().code;
  return (result->duplicate ? "duplicate " : "acked ") + std::to_string(result->sequence);
}

class PublisherTest : public NatsFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(ensure_stream(*connection_, events_stream())); }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
};

TEST_F(PublisherTest, ReportsTheSequenceAndWhetherTheMessageIsADuplicate) {
  JetStreamPublisher publisher(*connection_, kPatience);
  EXPECT_EQ(outcome(publish(publisher, message("a"))), "acked 1");
  EXPECT_EQ(outcome(publish(publisher, message("b"))), "acked 2");
  EXPECT_EQ(outcome(publish(publisher, message("a"))), "duplicate 1");
  EXPECT_EQ(outcome(publish(publisher, {kEventSubject, {}, ""})), "acked 3");
}

TEST_F(PublisherTest, SendsBytesAndHeadersUnchanged) {
  JetStreamPublisher publisher(*connection_, kPatience);
  const std::string bytes("\0\r\n\xff", 4);
  ASSERT_TRUE(publish(publisher, {kEventSubject, {{"X-One", "1"}, {"X-One", "ä"}}, bytes}));
  const Json stored = client_->api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", 1}})["message"];
  EXPECT_EQ(stored["data"], "AA0K/w==");
  EXPECT_EQ(base64_decode(stored["hdrs"].get<std::string>()),
            "NATS/1.0\r\nX-One: 1\r\nX-One: ä\r\n\r\n");
}

TEST_F(PublisherTest, SendsMessagesInTheOrderOfPublishingAndReportsEachOutcomeOnce) {
  JetStreamPublisher publisher(*connection_, kPatience);
  constexpr size_t kCount = 5000;
  std::vector<std::atomic<int>> answers(kCount);
  std::vector<uint64_t> sequences(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    publisher.publish(message(std::to_string(i)), [&, i](Result<PublishAck> ack) {
      ++answers[i];
      if (ack) sequences[i] = ack->sequence;
    });
  }
  ASSERT_TRUE(publisher.flush(kPatience));
  EXPECT_EQ(publisher.waiting(), 0u);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(answers[i], 1) << i;
    ASSERT_EQ(sequences[i], i + 1) << i;
  }
}

TEST_F(PublisherTest, SendsMessagesWithoutAcknowledgementInOrderWithTheOthers) {
  JetStreamPublisher publisher(*connection_, kPatience);
  const NatsMessage too_large{kEventSubject, {}, std::string(connection_->max_payload() + 1, 'x')};
  const std::vector<Status> sent =
      publisher.publish_unacknowledged({message("a"), too_large, message("b")});
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_TRUE(sent[0]);
  ASSERT_FALSE(sent[1]);
  EXPECT_EQ(sent[1].error().code, "broker.too_large");
  EXPECT_TRUE(sent[2]);
  EXPECT_EQ(publisher.waiting(), 0u);
  EXPECT_EQ(outcome(publish(publisher, message("c"))), "acked 3");
  EXPECT_TRUE(publisher.publish_unacknowledged({message("d")}).front());
  EXPECT_EQ(outcome(publish(publisher, message("b"))), "duplicate 2");
  EXPECT_EQ(outcome(publish(publisher, message("e"))), "acked 5");
}

TEST_F(PublisherTest, AllowsACallbackToPublish) {
  JetStreamPublisher publisher(*connection_, kPatience);
  std::promise<std::string> last;
  publisher.publish(message("a"), [&](const Result<PublishAck>&) {
    publisher.publish(message("b"),
                      [&](const Result<PublishAck>& ack) { last.set_value(outcome(ack)); });
  });
  EXPECT_EQ(last.get_future().get(), "acked 2");
}

TEST_F(PublisherTest, RefusesMalformedAndTooLargeMessages) {
  JetStreamPublisher publisher(*connection_, kPatience);
  const NatsMessage refused[] = {
      {"a b", {}, ""},
      {"millrace.events.>", {}, ""},
      {kEventSubject, {{"a", "b\r\nc: d"}}, ""},
  };
  for (const NatsMessage& one : refused) {
    EXPECT_EQ(outcome(publish(publisher, one)), "broker.refused") << one.subject;
  }
  const NatsMessage too_large[] = {
      {kEventSubject, {}, std::string(connection_->max_payload() + 1, 'x')},
      {kEventSubject, {{"a", "b"}}, std::string(connection_->max_payload(), 'x')},
  };
  for (const NatsMessage& one : too_large) {
    EXPECT_EQ(outcome(publish(publisher, one)), "broker.too_large");
  }
  EXPECT_EQ(outcome(publish(publisher, message("still usable"))), "acked 1");
}

TEST_F(PublisherTest, ReportsWhyTheBrokerRefusesAMessage) {
  JetStreamPublisher publisher(*connection_, kPatience);
  const Result<PublishAck> ack =
      publish(publisher, {kEventSubject, {{"Nats-Expected-Last-Sequence", "77"}}, "x"});
  ASSERT_EQ(outcome(ack), "broker.refused");
  EXPECT_NE(ack.error().message.find("wrong last sequence"), std::string::npos)
      << ack.error().message;
}

TEST_F(PublisherTest, ReportsAMessageThatIsTooLargeForItsStream) {
  client_->api("STREAM.CREATE.SMALL",
               {{"name", "SMALL"}, {"subjects", {"small"}}, {"max_msg_size", 100}});
  JetStreamPublisher publisher(*connection_, kPatience);
  EXPECT_EQ(outcome(publish(publisher, {"small", {}, std::string(100, 'x')})), "acked 1");
  EXPECT_EQ(outcome(publish(publisher, {"small", {}, std::string(101, 'x')})), "broker.too_large");
}

TEST_F(PublisherTest, ReportsAMissingStreamAsUnreachable) {
  JetStreamPublisher publisher(*connection_, kPatience);
  EXPECT_EQ(outcome(publish(publisher, {"no.stream", {}, "x"})), "broker.unreachable");
}

TEST_F(PublisherTest, FailsAMessageThatIsNotAcknowledgedInTime) {
  client_->subscribe("silent");
  JetStreamPublisher publisher(*connection_, Duration(50));
  EXPECT_EQ(outcome(publish(publisher, {"silent", {}, "x"})), "broker.timeout");
  // On a busy machine an acknowledgement of the stream may take longer than 50 ms too. The message
  // is stored all the same, so each try has an id of its own and gets the next sequence.
  int tries = 0;
  std::string next = "broker.timeout";
  while (next == "broker.timeout") {
    next = outcome(publish(publisher, message(std::to_string(++tries))));
  }
  EXPECT_EQ(next, "acked " + std::to_string(tries));
}

TEST_F(PublisherTest, FailsPendingMessagesWhenTheConnectionIsLost) {
  client_->subscribe("silent");
  JetStreamPublisher publisher(*connection_, kPatience);
  std::promise<std::string> pending;
  publisher.publish({"silent", {}, "x"},
                    [&](const Result<PublishAck>& ack) { pending.set_value(outcome(ack)); });
  ASSERT_TRUE(client_->next()) << "the message was sent";
  server_.process().kill();
  EXPECT_EQ(pending.get_future().get(), "broker.unreachable");
  EXPECT_EQ(outcome(publish(publisher, message("too early"))), "broker.unreachable");

  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(connection_->wait_until_connected(kPatience));
  EXPECT_EQ(outcome(publish(publisher, message("a"))), "acked 1");
}

TEST_F(PublisherTest, FailsPendingMessagesWhenItIsDestroyed) {
  client_->subscribe("silent");
  std::string result;
  {
    JetStreamPublisher publisher(*connection_, kPatience);
    publisher.publish({"silent", {}, "x"},
                      [&](const Result<PublishAck>& ack) { result = outcome(ack); });
    EXPECT_FALSE(publisher.flush(Duration(1)));
  }
  EXPECT_EQ(result, "broker.unreachable");
}

TEST(Publisher, ReadsWellFormedAcknowledgementsOnly) {
  EXPECT_EQ(outcome(read_publish_ack(R"({"stream":"S","seq":7})")), "acked 7");
  EXPECT_EQ(outcome(read_publish_ack(R"({"stream":"S","seq":7,"domain":"d","duplicate":true})")),
            "duplicate 7");
  EXPECT_EQ(outcome(read_publish_ack(
                R"({"error":{"code":503,"err_code":10077,"description":"full"},"seq":0})")),
            "broker.refused");
  for (const char* text : {"", "+ACK", "[]", "{}", R"({"seq":0})", R"({"seq":"7"})"}) {
    EXPECT_EQ(outcome(read_publish_ack(text)), "broker.protocol") << text;
  }
}

}  // namespace
}  // namespace millrace
