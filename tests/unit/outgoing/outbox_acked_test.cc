// Outbox: keeps acked messages for a while, and sends them again if the broker loses them.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/outgoing/outbox.h"
#include "tests/unit/outgoing/outbox_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The messages are events of instances. The number in the name of a message is its sequence in the
/// stream.
class OutboxAckedTest : public OutboxTest {
 protected:
  void write(std::initializer_list<std::string> messages, size_t bytes = 0) {
    for (const std::string& name : messages) {
      OutboxRecord record{.message = {.subject = "millrace.events." + name}};
      record.message.data.resize(bytes);
      record.instance.emplace().bytes[0] = static_cast<uint8_t>(name[0]);

      add(std::move(record));
    }
    commit_batch();
  }
  std::vector<std::string> pump(int64_t at = 0) {
    std::vector<std::string> names;
    for (const std::string& subject : OutboxTest::pump(at)) names.push_back(subject.substr(16));
    return names;
  }
  void take(const std::string& name) {
    answer("millrace.events." + name, PublishAck{.sequence = std::stoul(name.substr(1))});
  }
  void lose(const std::string& name) { answer("millrace.events." + name, kLost); }
  /// Writes and sends these messages, and acknowledges all of them.
  void send(std::initializer_list<std::string> messages, size_t bytes = 0) {
    write(messages, bytes);
    for (size_t left = messages.size(); left > 0;) {
      for (const std::string& name : pump()) take(name), --left;
    }
  }
};

TEST_F(OutboxAckedTest, IsIdleAlthoughItKeepsAckedMessages) {
  send({"a1", "a2", "b3"});
  EXPECT_EQ(rows(), 3U);
  EXPECT_TRUE(outbox->idle());
  EXPECT_FALSE(outbox->has_due());
  EXPECT_EQ(outbox->bytes(), 0U);
  restart();
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);
  EXPECT_THAT(pump(), IsEmpty()) << "the broker has the messages";
}

TEST_F(OutboxAckedTest, ErasesAckedMessagesAfterTheTimeLimit) {
  send({"a1", "a2"});
  pass(limits.time - Duration(1));
  send({"b3"});
  EXPECT_EQ(rows(), 3U);
  pass(Duration(1));
  EXPECT_EQ(rows(), 1U);
  EXPECT_EQ(sent_rows(), 1U);
  restart();
  pass(limits.time);
  EXPECT_EQ(rows(), 0U);
  EXPECT_EQ(sent_rows(), 0U);
}

TEST_F(OutboxAckedTest, ErasesTheOldestAckedMessagesIfTheirTotalExceedsTheByteLimit) {
  limits.bytes = 10'000;
  outbox = make();
  send({"a1", "a2", "a3", "a4"}, 4'000);
  pass(Duration(0));
  EXPECT_EQ(rows(), 2U);
  EXPECT_EQ(read_outbox(*tx, 1)->has_value(), false);
  restart();
  send({"b5"}, 4'000);
  pass(Duration(0));
  EXPECT_EQ(rows(), 2U);
  EXPECT_EQ(read_outbox(*tx, 3)->has_value(), false);
}

TEST_F(OutboxAckedTest, ErasesALimitedNumberOfAckedMessagesInEachBatch) {
  for (size_t i = 0; i < 3 * AckedMessages::kErasedAtOnce; ++i) send({fmt::format("a{}", i + 1)});
  pass(limits.time);
  EXPECT_EQ(rows(), 2 * AckedMessages::kErasedAtOnce);
  pass(Duration(0));
  pass(Duration(0));
  EXPECT_EQ(rows(), 0U);
}

TEST_F(OutboxAckedTest, ErasesAckedMessagesWhenTheStoreNeedsSpace) {
  send({"a1", "b2"});
  write({"c3"});
  EXPECT_THAT(pump(), ElementsAre("c3"));
  outbox->drop_acked(*tx);
  commit();
  EXPECT_EQ(rows(), 1U) << "a message without an acknowledgement stays";
  on_ack = Outbox::OnAck::kErase;
  take("c3");
  EXPECT_EQ(rows(), 0U);
}

TEST_F(OutboxAckedTest, SendsAgainInOrderTheMessagesThatTheBrokerLost) {
  send({"a1", "b2", "a3", "b4", "a5"});
  write({"a6"});
  EXPECT_THAT(pump(), ElementsAre("a6"));
  lose("a6");
  open(2);
  EXPECT_EQ(outbox->bytes(), 18U) << "a lost message counts from the time that it is sent again";
  EXPECT_THAT(pump(), ElementsAre("a3", "b4"));
  EXPECT_EQ(outbox->bytes(), 4 * 18U);
  take("a3");
  EXPECT_THAT(pump(), ElementsAre("a5"));
  take("a5");
  EXPECT_THAT(pump(), ElementsAre("a6")) << "a6 follows the earlier messages of its instance";
  take("a6");
  take("b4");
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);

  // A message is sent again each time it is lost.
  open(4);
  EXPECT_THAT(pump(), ElementsAre("a5"));
}

TEST_F(OutboxAckedTest, RetriesAFailedMessageAfterEarlierOnesThatTheBrokerLost) {
  send({"a1", "a2"});
  write({"a3", "a4"});
  EXPECT_THAT(pump(), ElementsAre("a3"));
  open(0);
  EXPECT_THAT(pump(), IsEmpty()) << "an instance has one message in flight";
  lose("a3");
  for (const char* name : {"a1", "a2", "a3", "a4"}) {
    EXPECT_THAT(pump(Outbox::kRetryDelay.count()), ElementsAre(name));
    take(name);
  }
  EXPECT_TRUE(outbox->idle());
}

TEST_F(OutboxAckedTest, SendsAgainAfterARestartOfMillraceTheMessagesThatTheBrokerLost) {
  send({"a1", "a2", "b3"});
  write({"a4"});
  EXPECT_THAT(pump(), ElementsAre("a4"));
  restart();
  open(1);
  EXPECT_THAT(pump(), ElementsAre("a2", "b3"));
  restart();
  EXPECT_THAT(pump(), ElementsAre("a2", "b3")) << "the store has the messages to send again";
  take("a2");
  EXPECT_THAT(pump(), ElementsAre("a4"));
}

TEST_F(OutboxAckedTest, KeepsAckedMessagesIfTheBatchThatFoundThemMissingInTheStreamIsLost) {
  send({"a1", "a2"});
  outbox->stream_opened(*tx, kStream, 0, 1);
  tx->drop();
  ASSERT_TRUE(outbox->forget_batch(*tx));
  EXPECT_THAT(pump(), IsEmpty());
  open(0);
  EXPECT_THAT(pump(), ElementsAre("a1"));
}

TEST_F(OutboxAckedTest, KeepsMessagesAcknowledgedAfterTheStateOfTheStreamWasRequested) {
  send({"a1", "a2"});
  ++openings;  // the stream has a1 and a2 when its state is requested; the answer comes later
  send({"b3", "c4"});
  outbox->stream_opened(*tx, kStream, 2, openings);
  commit();
  EXPECT_THAT(pump(), IsEmpty());
  open(2);  // the state is requested again; the stream has lost b3 and c4
  EXPECT_THAT(pump(), ElementsAre("b3", "c4"));
}

TEST_F(OutboxAckedTest, SendsAgainOnlyMessagesAcknowledgedBeforeTheStateOfTheStreamWasRequested) {
  write({"a1", "b2", "c3"});
  pump();
  settle("millrace.events.a1", PublishAck{.sequence = 1});
  settle("millrace.events.b2", PublishAck{.sequence = 2});
  ++openings;
  settle("millrace.events.c3",
         PublishAck{.sequence = 2});  // the stream lost b2 and used its sequence again
  outbox->stream_opened(*tx, kStream, 1, openings);
  commit();
  EXPECT_THAT(pump(), ElementsAre("b2"));
}

TEST_F(OutboxAckedTest, KeepsAfterALostBatchTheMessagesAckedSinceTheStateOfTheStreamWasRequested) {
  send({"a1"});
  ++openings;
  send({"b2"});
  outbox->stream_opened(*tx, kStream, 1, openings);
  tx->drop();
  ASSERT_TRUE(outbox->forget_batch(*tx));
  outbox->stream_opened(*tx, kStream, 1, openings);
  commit();
  EXPECT_THAT(pump(), IsEmpty());
}

TEST_F(OutboxAckedTest, SendsNoAckedMessageAgainIntoAStreamThatWasCreatedAgain) {
  send({"a1", "a2"});
  open(0, kStream + 1);
  EXPECT_THAT(pump(), IsEmpty());
}

TEST_F(OutboxAckedTest, SendsAgainInPartsMoreLostMessagesThanTheWindowAllows) {
  for (size_t i = 1; i <= Outbox::kWindow + 10; ++i) {
    add({.message = {.subject = fmt::format("millrace.events.{}", i)}});
  }
  commit_batch();
  const auto take_all = [&] {
    size_t count = 0;
    for (const std::string& subject : OutboxTest::pump()) {
      settle(subject, PublishAck{.sequence = ++count});
    }
    commit();
    return count;
  };
  EXPECT_EQ(take_all(), Outbox::kWindow);
  EXPECT_EQ(take_all(), 10U);
  open(0);
  EXPECT_EQ(take_all(), Outbox::kWindow);
  EXPECT_EQ(take_all(), 10U);
  EXPECT_EQ(take_all(), 0U);
}

TEST_F(OutboxAckedTest, PutsTheFirstBytesOfATooLargeMessageIntoADeadLetter) {
  const Result<PublishAck> too_large = fail(std::string(kTooLarge), "1600 bytes are too many");
  write({"a1", "a2"}, 1'600);
  EXPECT_THAT(pump(), ElementsAre("a1"));
  answer("millrace.events.a1", too_large);
  const auto sent = OutboxTest::pump();
  EXPECT_THAT(sent, testing::UnorderedElementsAre("millrace.events.a2",
                                                  testing::StartsWith("millrace.dlq.")));
  const std::string subject = *std::find_if(sent.begin(), sent.end(), [](const std::string& name) {
    return name.starts_with("millrace.dlq.");
  });
  EXPECT_EQ(read_outbox(*tx, 1).value()->message.data.size(), 400U);

  // The outbox shortens the data after each refusal.
  for (const size_t left : {100, 25, 6, 1, 0}) {
    answer(subject, too_large);
    EXPECT_THAT(OutboxTest::pump(), ElementsAre(subject));
    EXPECT_EQ(read_outbox(*tx, 1).value()->message.data.size(), left);
  }
  answer(subject, too_large);
  EXPECT_FALSE(read_outbox(*tx, 1)->has_value()) << "the broker refused even the headers";
  take("a2");
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);
}

}  // namespace
}  // namespace millrace
