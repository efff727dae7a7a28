#include "orchestrator/outgoing/outbox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/outgoing/outbox_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(OutboxTest, SendsInTheOrderOfTheRowsAndErasesAcknowledgedMessages) {
  write({"a1", "-2", "b3"});
  EXPECT_THAT(pump(), ElementsAre("a1", "-2", "b3"));
  EXPECT_THAT(pump(), IsEmpty()) << "each message is sent once";
  EXPECT_EQ(outbox->in_flight(), 3U);
  answer("-2", kTaken);
  answer("a1", PublishAck{.sequence = 9, .duplicate = true});
  EXPECT_EQ(rows(), 1U);
  EXPECT_FALSE(outbox->idle());
  answer("b3", kTaken);
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->retry_at(), std::nullopt);
}

TEST_F(OutboxTest, SendsTheNextMessageOfAnInstanceAfterTheAcknowledgementOfTheOneBefore) {
  write({"a1", "a2", "b3", "a4", "b5", "-6", "-7"});
  EXPECT_THAT(pump(), ElementsAre("a1", "b3", "-6", "-7"));
  answer("a1", kTaken);
  EXPECT_THAT(pump(), ElementsAre("a2"));
  write({"a8", "c9"});
  EXPECT_THAT(pump(), ElementsAre("c9"));
  answer("a2", kTaken);
  answer("b3", kTaken);
  EXPECT_THAT(pump(), ElementsAre("a4", "b5"));
  answer("a4", kTaken);
  EXPECT_THAT(pump(), ElementsAre("a8"));
  answer("a8", kTaken);
  write({"a10"});
  EXPECT_THAT(pump(), ElementsAre("a10"));
}

TEST_F(OutboxTest, RetriesAFailedMessageBeforeOthersOfItsInstance) {
  for (const auto& failure : {kLost, kRefused}) {
    write({"a1", "a2", "b3"});
    EXPECT_THAT(pump(0), ElementsAre("a1", "b3"));
    answer("a1", failure, 1000);
    EXPECT_EQ(outbox->retry_at(), Duration(1250));
    EXPECT_EQ(rows(), 3U);
    EXPECT_FALSE(outbox->idle());
    write({"a4", "b5", "c6"});
    EXPECT_THAT(pump(1249), ElementsAre("c6")) << "messages of other instances do not wait for a1";
    EXPECT_THAT(pump(1250), ElementsAre("a1"));
    EXPECT_EQ(outbox->retry_at(), std::nullopt);

    answer("a1", failure, 2000);
    EXPECT_THAT(pump(2250), ElementsAre("a1")) << "a message is retried without end";
    for (const char* name : {"a1", "a2", "a4", "b3", "b5", "c6"}) {
      answer(name, kTaken, 3000);
      pump(3000);
    }
    EXPECT_TRUE(outbox->idle());
    EXPECT_EQ(rows(), 0U);
  }
}

TEST_F(OutboxTest, RetriesTogetherTheMessagesThatFailedSoonAfterEachOther) {
  write({"a1", "b2", "c3"});
  pump();
  answer("b2", kLost, 100);
  answer("a1", kLost, 200);
  EXPECT_EQ(outbox->retry_at(), Duration(350));
  EXPECT_THAT(pump(350), ElementsAre("a1", "b2"))
      << "a1 and b2 are sent again in order, while c3 is in flight";
}

TEST_F(OutboxTest, ReadsAMessageFromItsRowIfItWasNotSentRightAfterTheCommit) {
  sends = false;
  write({"a1", "b2", "a3"});
  EXPECT_THAT(publisher.take(), IsEmpty());
  sends = true;
  write({"b4", "c5"});
  EXPECT_THAT(publisher.take(), IsEmpty()) << "no message overtakes a waiting one";
  EXPECT_THAT(pump(), ElementsAre("a1", "b2", "c5"));
  answer("b2", kTaken);
  EXPECT_THAT(pump(), ElementsAre("b4"));
}

TEST_F(OutboxTest, SendsAtMostOneWindowOfMessagesAtATime) {
  for (size_t i = 1; i <= Outbox::kWindow + 10; ++i) {
    add({.message = {.subject = fmt::format("-{}", i)}});
  }
  commit_batch();
  EXPECT_THAT(pump(), SizeIs(Outbox::kWindow));
  EXPECT_THAT(pump(), IsEmpty());
  answer("-1", kTaken);
  answer("-7", kTaken);
  EXPECT_THAT(pump(), ElementsAre(fmt::format("-{}", Outbox::kWindow + 1),
                                  fmt::format("-{}", Outbox::kWindow + 2)));
  answer("-8", kLost, 0);
  EXPECT_THAT(pump(), IsEmpty()) << "a failed message still counts for the window";
}

TEST_F(OutboxTest, TakesAPortionOfTheMessagesFromTheStoreAtOnce) {
  sends = false;
  const struct {
    size_t count;
    size_t bytes;
    size_t at_once;
  } cases[] = {{Outbox::kTakenAtOnce + 5, 1, Outbox::kTakenAtOnce},
               {10, Outbox::kBytesAtOnce / 4, 4},
               {3, Outbox::kBytesAtOnce * 2, 1}};
  for (const auto& [count, bytes, at_once] : cases) {
    SCOPED_TRACE(count);
    for (size_t i = 0; i < count; ++i) {
      add({.message = {.subject = fmt::format("-{}", last), .data = std::string(bytes, 'x')}});
    }
    commit_batch();
    ASSERT_TRUE(outbox->pump(*tx, Duration(0)));
    const size_t first = publisher.take().size();
    EXPECT_LE(first, at_once);
    EXPECT_GE(first + 1, at_once);
    EXPECT_TRUE(outbox->has_due());
    EXPECT_EQ(first + pump().size(), count);
    EXPECT_FALSE(outbox->has_due());
  }
}

TEST_F(OutboxTest, SendsAMessageOfAnotherInstanceThoughMoreThanAWindowWaitsForOne) {
  for (size_t i = 0; i < Outbox::kWindow + 1; ++i) {
    add({.instance = InstanceId{}, .message = {.subject = std::to_string(i)}});
  }
  write({"b1"});
  EXPECT_THAT(pump(), ElementsAre("0", "b1"));
  answer("0", kTaken);
  EXPECT_THAT(pump(), ElementsAre("1"));
  answer("1", kTaken);
  write({"c1"});
  EXPECT_THAT(pump(), UnorderedElementsAre("2", "c1"));
}

TEST_F(OutboxTest, SendsAllUnacknowledgedMessagesAfterARestartOfMillrace) {
  write({"a1", "a2", "-3"});
  pump();
  answer("a1", kTaken);
  restart();
  EXPECT_FALSE(outbox->idle());
  EXPECT_THAT(pump(), ElementsAre("a2", "-3"));
}

TEST_F(OutboxTest, LosesNoMessageWhenABatchIsLost) {
  write({"a1", "a2", "b3", "b4", "-5"});
  EXPECT_THAT(pump(), ElementsAre("a1", "b3", "-5"));
  settle("a1", kTaken);
  settle("b3", kLost, 0);
  tx->drop();
  EXPECT_EQ(rows(), 5U);

  settle_all_again();
  commit();
  EXPECT_EQ(rows(), 4U);
  EXPECT_THAT(pump(0), ElementsAre("a2"));
  EXPECT_THAT(pump(250), ElementsAre("b3"));
  for (const char* name : {"b3", "a2", "-5"}) answer(name, kTaken);
  EXPECT_THAT(pump(), ElementsAre("b4"));
  answer("b4", kTaken);
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(rows(), 0U);
}

TEST_F(OutboxTest, AcceptsAResultBeforePublishReturns) {
  class AtOnce final : public Publisher {
   public:
    void publish(NatsMessage, Done done) override { done(kLost); }
  } at_once;
  std::vector<uint64_t> numbers;
  Outbox one(at_once, {},
             [&](uint64_t number, const Result<PublishAck>&) { numbers.push_back(number); });
  write({"a1", "b2"});
  one.committed({last, {}}, false);
  ASSERT_TRUE(one.pump(*tx, Duration(0)));
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  EXPECT_EQ(one.in_flight(), 2U) << "a message is in flight until its answer is settled";
}

TEST_F(OutboxTest, SendsEachMessageOnlyOnceAndInOrderAfterFailedReads) {
  sends = false;  // so that the messages are read from their rows
  write({"a1", "b2", "a3"});
  std::vector<std::string> sent;
  const auto note = [&] {
    for (const std::string& name : publisher.take()) sent.push_back(name);
  };
  const auto send = [&] { return outbox->pump(*tx, Duration(0)); };
  EXPECT_GE(fail_each_read(send, note), 1U);
  note();
  EXPECT_THAT(sent, testing::UnorderedElementsAre("a1", "b2"));
  answer("a1", kTaken);
  EXPECT_GE(fail_each_read(send, note), 1U);
  note();
  EXPECT_THAT(sent, testing::UnorderedElementsAre("a1", "b2", "a3"));
  EXPECT_EQ(sent.back(), "a3");
}

TEST_F(OutboxTest, ReplacesATooLargeMessageByADeadLetterAsSoonAsItsRowCanBeRead) {
  add({.instance = InstanceId{},
       .message = {.subject = "millrace.events.default.t", .data = std::string(400, 'x')}});
  commit_batch();
  EXPECT_THAT(pump(), SizeIs(1));
  const auto settle = [&] {
    return outbox->on_ack(*tx, 1, fail(std::string(kTooLarge), "400 bytes are too many"), openings,
                          Duration(0), on_ack);
  };
  const uint64_t failed = fail_each_read(settle, [&] {
    ASSERT_TRUE(outbox->forget_batch(*tx));
    EXPECT_EQ(outbox->in_flight(), 1U);
    EXPECT_EQ(read_outbox(*tx, 1).value()->message.subject, "millrace.events.default.t");
  });
  EXPECT_EQ(failed, 1U);
  commit();
  EXPECT_THAT(pump(), ElementsAre(testing::StartsWith("millrace.dlq.default.")));
}

TEST_F(OutboxTest, LoadsAllMessagesAfterFailedReads) {
  sends = false;
  write({"a1", "b2"});
  outbox = make();
  EXPECT_GE(fail_each_read([&] { return outbox->load(*tx); }, [] {}), 1U);
  EXPECT_FALSE(outbox->idle());
  EXPECT_THAT(pump(), ElementsAre("a1", "b2"));
}

}  // namespace
}  // namespace millrace
