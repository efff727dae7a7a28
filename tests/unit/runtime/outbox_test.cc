#include "orchestrator/runtime/outbox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runtime/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Result<PublishAck> kTaken = PublishAck{.sequence = 1};
const Result<PublishAck> kLost = fail("broker.timeout", "no acknowledgement came in time");
const Result<PublishAck> kRefused = fail("broker.refused", "the stream is full");

/// Notes what is to be sent; the test says what became of it.
class NotingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    sent.push_back(message.subject);
    waiting.emplace(message.subject, std::move(done));
  }
  std::vector<std::string> take() { return std::exchange(sent, {}); }

  std::vector<std::string> sent;
  std::multimap<std::string, Done> waiting;
};

/// Messages are called by instance and number: `a1`; those without an instance `-1`.
class OutboxTest : public StoreTest {
 protected:
  void write(std::initializer_list<std::string> messages) {
    for (const std::string& name : messages) {
      OutboxRecord record{.message = {.subject = name}};
      if (name[0] != '-') record.instance.emplace().bytes[0] = static_cast<uint8_t>(name[0]);
      write_outbox(*tx, ++last, record);
    }
    commit();
    outbox->committed(0);
  }

  /// What is sent at that time.
  std::vector<std::string> pump(int64_t at = 0) {
    const Status pumped = outbox->pump(*tx, Duration(at));
    EXPECT_TRUE(pumped) << pumped.error().message;
    return publisher.take();
  }

  /// The broker answers, and the batch that takes it in is written.
  void answer(const std::string& name, const Result<PublishAck>& ack, int64_t at = 0) {
    settle(name, ack, at);
    commit();
  }
  void settle(const std::string& name, const Result<PublishAck>& ack, int64_t at = 0) {
    const auto found = publisher.waiting.find(name);
    ASSERT_NE(found, publisher.waiting.end()) << name;
    found->second(ack);
    publisher.waiting.erase(found);
    outbox->settle(*tx, told.back().first, told.back().second, Duration(at));
  }
  void tell_again() {
    for (const auto& [number, ack] : told) outbox->settle(*tx, number, ack, Duration(0));
  }

  size_t rows() {
    size_t count = 0;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t, const OutboxRecord&) {
      ++count;
      return true;
    }));
    return count;
  }

  std::unique_ptr<Outbox> make() {
    return std::make_unique<Outbox>(publisher, [this](uint64_t number, Result<PublishAck> ack) {
      told.emplace_back(number, std::move(ack));
    });
  }

  NotingPublisher publisher;
  std::vector<std::pair<uint64_t, Result<PublishAck>>> told;
  uint64_t last = 0;
  std::unique_ptr<Outbox> outbox = make();
};

TEST_F(OutboxTest, SendsInTheOrderOfTheRowsAndErasesWhatTheBrokerHas) {
  write({"a1", "-2", "b3"});
  EXPECT_THAT(pump(), ElementsAre("a1", "-2", "b3"));
  EXPECT_THAT(pump(), IsEmpty()) << "once";
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

TEST_F(OutboxTest, SendsTheNextOfAnInstanceWhenTheOneBeforeIsTaken) {
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

TEST_F(OutboxTest, SendsAgainWhatFailedAndNothingOfThatInstanceBefore) {
  for (const auto& failure : {kLost, kRefused}) {
    write({"a1", "a2", "b3"});
    EXPECT_THAT(pump(0), ElementsAre("a1", "b3"));
    answer("a1", failure, 1000);
    EXPECT_EQ(outbox->retry_at(), Duration(1250));
    EXPECT_EQ(rows(), 3U);
    EXPECT_FALSE(outbox->idle());
    write({"a4", "b5", "c6"});
    EXPECT_THAT(pump(1249), ElementsAre("c6")) << "others do not wait for it";
    EXPECT_THAT(pump(1250), ElementsAre("a1"));
    EXPECT_EQ(outbox->retry_at(), std::nullopt);

    answer("a1", failure, 2000);
    EXPECT_THAT(pump(2250), ElementsAre("a1")) << "for ever";
    for (const char* name : {"a1", "a2", "a4", "b3", "b5", "c6"}) {
      answer(name, kTaken, 3000);
      pump(3000);
    }
    EXPECT_TRUE(outbox->idle());
    EXPECT_EQ(rows(), 0U);
  }
}

TEST_F(OutboxTest, SendsTogetherWhatFailedTogether) {
  write({"a1", "b2", "c3"});
  pump();
  answer("b2", kLost, 100);
  answer("a1", kLost, 200);
  EXPECT_EQ(outbox->retry_at(), Duration(350));
  EXPECT_THAT(pump(350), ElementsAre("a1", "b2")) << "in order, and c3 is under way";
}

TEST_F(OutboxTest, HasSoManyUnderWayAtATime) {
  for (size_t i = 1; i <= Outbox::kWindow + 10; ++i) {
    write_outbox(*tx, ++last, {.message = {.subject = fmt::format("-{}", i)}});
  }
  commit();
  outbox->committed(0);
  EXPECT_THAT(pump(), SizeIs(Outbox::kWindow));
  EXPECT_THAT(pump(), IsEmpty());
  answer("-1", kTaken);
  answer("-7", kTaken);
  EXPECT_THAT(pump(), ElementsAre(fmt::format("-{}", Outbox::kWindow + 1),
                                  fmt::format("-{}", Outbox::kWindow + 2)));
  answer("-8", kLost, 0);
  EXPECT_THAT(pump(), IsEmpty()) << "what failed keeps its place";
}

TEST_F(OutboxTest, CountsWhatWaitsForAnotherIntoTheWindow) {
  for (size_t i = 0; i < Outbox::kWindow + 1; ++i) {
    OutboxRecord record{.instance = InstanceId{}, .message = {.subject = std::to_string(i)}};
    write_outbox(*tx, ++last, record);
  }
  commit();
  write({"b1"});
  EXPECT_THAT(pump(), ElementsAre("0"));
  answer("0", kTaken);
  EXPECT_THAT(pump(), ElementsAre("1"));
  answer("1", kTaken);
  EXPECT_THAT(pump(), ElementsAre("2", "b1"));
}

TEST_F(OutboxTest, SendsAllThatIsInTheStoreAfterARestart) {
  write({"a1", "a2", "-3"});
  pump();
  answer("a1", kTaken);
  outbox = make();
  EXPECT_THAT(pump(), ElementsAre("a2", "-3"));
}

TEST_F(OutboxTest, LosesNothingWithABatchThatIsLost) {
  write({"a1", "a2", "b3", "b4", "-5"});
  EXPECT_THAT(pump(), ElementsAre("a1", "b3", "-5"));
  settle("a1", kTaken);
  settle("b3", kLost, 0);
  tx->drop();
  EXPECT_EQ(rows(), 5U);

  tell_again();
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

TEST_F(OutboxTest, MayBeToldWithinTheSendingCall) {
  class AtOnce final : public Publisher {
   public:
    void publish(NatsMessage, Done done) override { done(kLost); }
  } at_once;
  std::vector<uint64_t> numbers;
  Outbox one(at_once,
             [&](uint64_t number, const Result<PublishAck>&) { numbers.push_back(number); });
  write({"a1", "b2"});
  ASSERT_TRUE(one.pump(*tx, Duration(0)));
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  EXPECT_EQ(one.in_flight(), 2U) << "until it is taken in";
}

}  // namespace
}  // namespace millrace
