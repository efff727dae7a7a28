#include "orchestrator/outgoing/outbox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

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
      add(std::move(record));
    }
    commit_batch();
  }
  void add(OutboxRecord record) {
    write_outbox(*tx, ++last, record);
    batch.push_back({last, std::move(record)});
  }
  void commit_batch() {
    commit();
    outbox->committed(std::exchange(batch, {}), sends);
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
    take_in(told.back(), at);
    outbox->end_settling(*tx, kStream, now);
  }
  void tell_again() {
    for (const auto& one : told) take_in(one, 0);
    outbox->end_settling(*tx, kStream, now);
  }
  void take_in(const std::pair<uint64_t, Result<PublishAck>>& one, int64_t at) {
    const Status done = outbox->settle(*tx, one.first, one.second, openings, Duration(at), then);
    EXPECT_TRUE(done) << done.error().message;
  }

  /// The stream is opened again and has nothing of what it took behind that sequence.
  void open(uint64_t intact_to, int64_t stream = kStream) {
    outbox->stream_opened(*tx, stream, intact_to, ++openings);
    commit();
  }
  void restart() {
    outbox = make();
    const Status loaded = outbox->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
  /// So much later something is written.
  void pass(Duration time) {
    now += time;
    outbox->trim_kept(*tx, now);
    commit();
  }

  size_t rows() {
    size_t count = 0;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t, std::string_view) -> Result<bool> {
      ++count;
      return true;
    }));
    return count;
  }
  size_t sent_rows() {
    size_t count = 0;
    EXPECT_TRUE(each_sent(*tx, [&](uint64_t, const SentRecord&) { ++count; }));
    return count;
  }

  std::unique_ptr<Outbox> make() {
    return std::make_unique<Outbox>(publisher, limits,
                                    [this](uint64_t number, Result<PublishAck> ack) {
                                      told.emplace_back(number, std::move(ack));
                                    });
  }

  static constexpr int64_t kStream = 7;

  NotingPublisher publisher;
  KeptLimits limits;
  Outbox::Then then = Outbox::Then::kKeep;
  TimePoint now = from_millis(1'700'000'000'000);
  std::vector<std::pair<uint64_t, Result<PublishAck>>> told;
  uint64_t last = 0;
  std::vector<NumberedMessage> batch;  ///< written and not committed
  bool sends = true;                   ///< the stream is open
  uint64_t openings = 0;               ///< begun
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

TEST_F(OutboxTest, AreReadFromTheStoreWhereTheyCouldNotBeSentAtOnce) {
  sends = false;
  write({"a1", "b2", "a3"});
  EXPECT_THAT(publisher.take(), IsEmpty());
  sends = true;
  write({"b4", "c5"});
  EXPECT_THAT(publisher.take(), IsEmpty()) << "nothing comes before what waits";
  EXPECT_THAT(pump(), ElementsAre("a1", "b2", "c5"));
  answer("b2", kTaken);
  EXPECT_THAT(pump(), ElementsAre("b4"));
}

TEST_F(OutboxTest, HasSoManyUnderWayAtATime) {
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
  EXPECT_THAT(pump(), IsEmpty()) << "what failed keeps its place";
}

TEST_F(OutboxTest, CountsWhatWaitsForAnotherIntoTheWindow) {
  for (size_t i = 0; i < Outbox::kWindow + 1; ++i) {
    add({.instance = InstanceId{}, .message = {.subject = std::to_string(i)}});
  }
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
  restart();
  EXPECT_FALSE(outbox->idle());
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
  Outbox one(at_once, {},
             [&](uint64_t number, const Result<PublishAck>&) { numbers.push_back(number); });
  write({"a1", "b2"});
  one.committed({{last, {}}}, false);
  ASSERT_TRUE(one.pump(*tx, Duration(0)));
  EXPECT_THAT(numbers, ElementsAre(1, 2));
  EXPECT_EQ(one.in_flight(), 2U) << "until it is taken in";
}

/// Those of instances are events, in the stream under the number that ends their names.
class KeptTest : public OutboxTest {
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
  /// Writes, sends, and has all of them taken.
  void send(std::initializer_list<std::string> messages, size_t bytes = 0) {
    write(messages, bytes);
    for (size_t left = messages.size(); left > 0;) {
      for (const std::string& name : pump()) take(name), --left;
    }
  }
};

TEST_F(KeptTest, StaysInTheStoreAndNobodyWaitsForIt) {
  send({"a1", "a2", "b3"});
  EXPECT_EQ(rows(), 3U);
  EXPECT_TRUE(outbox->idle());
  EXPECT_FALSE(outbox->has_due());
  EXPECT_EQ(outbox->bytes(), 0U);
  restart();
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);
  EXPECT_THAT(pump(), IsEmpty()) << "the broker has them";
}

TEST_F(KeptTest, IsErasedWhenItsTimeIsOver) {
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

TEST_F(KeptTest, IsErasedFromTheOldestWhereItIsTooMuch) {
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

TEST_F(KeptTest, IsErasedALittleInEachBatch) {
  for (size_t i = 0; i < 3 * Kept::kErasedAtOnce; ++i) send({fmt::format("a{}", i + 1)});
  pass(limits.time);
  EXPECT_EQ(rows(), 2 * Kept::kErasedAtOnce);
  pass(Duration(0));
  pass(Duration(0));
  EXPECT_EQ(rows(), 0U);
}

TEST_F(KeptTest, GoesFirstWhenRoomIsNeeded) {
  send({"a1", "b2"});
  write({"c3"});
  EXPECT_THAT(pump(), ElementsAre("c3"));
  outbox->drop_kept(*tx);
  commit();
  EXPECT_EQ(rows(), 1U) << "what is not acknowledged stays";
  then = Outbox::Then::kErase;
  take("c3");
  EXPECT_EQ(rows(), 0U);
}

TEST_F(KeptTest, IsSentAgainInOrderWhereTheBrokerLostIt) {
  send({"a1", "b2", "a3", "b4", "a5"});
  write({"a6"});
  EXPECT_THAT(pump(), ElementsAre("a6"));
  lose("a6");
  open(2);
  EXPECT_EQ(outbox->bytes(), 18U) << "once it is sent";
  EXPECT_THAT(pump(), ElementsAre("a3", "b4"));
  EXPECT_EQ(outbox->bytes(), 4 * 18U);
  take("a3");
  EXPECT_THAT(pump(), ElementsAre("a5"));
  take("a5");
  EXPECT_THAT(pump(), ElementsAre("a6")) << "behind those that came before it";
  take("a6");
  take("b4");
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);

  // And again, as often as it is lost.
  open(4);
  EXPECT_THAT(pump(), ElementsAre("a5"));
}

TEST_F(KeptTest, ComesBeforeWhatIsUnderWayIfThatFails) {
  send({"a1", "a2"});
  write({"a3", "a4"});
  EXPECT_THAT(pump(), ElementsAre("a3"));
  open(0);
  EXPECT_THAT(pump(), IsEmpty()) << "one at a time";
  lose("a3");
  for (const char* name : {"a1", "a2", "a3", "a4"}) {
    EXPECT_THAT(pump(Outbox::kRetryDelay.count()), ElementsAre(name));
    take(name);
  }
  EXPECT_TRUE(outbox->idle());
}

TEST_F(KeptTest, IsSentAgainAfterARestartToo) {
  send({"a1", "a2", "b3"});
  write({"a4"});
  EXPECT_THAT(pump(), ElementsAre("a4"));
  restart();
  open(1);
  EXPECT_THAT(pump(), ElementsAre("a2", "b3"));
  restart();
  EXPECT_THAT(pump(), ElementsAre("a2", "b3")) << "what is to be sent again is written down";
  take("a2");
  EXPECT_THAT(pump(), ElementsAre("a4"));
}

TEST_F(KeptTest, IsStillKeptWhenTheBatchThatFoundTheLossIsLost) {
  send({"a1", "a2"});
  outbox->stream_opened(*tx, kStream, 0, 1);
  tx->drop();
  ASSERT_TRUE(outbox->forget_batch(*tx));
  EXPECT_THAT(pump(), IsEmpty());
  open(0);
  EXPECT_THAT(pump(), ElementsAre("a1"));
}

TEST_F(KeptTest, IsNotLostWhereItWasAcknowledgedAfterTheStreamWasAskedForItsState) {
  send({"a1", "a2"});
  ++openings;  // the stream is asked, and has the two; its answer is on its way
  send({"b3", "c4"});
  outbox->stream_opened(*tx, kStream, 2, openings);
  commit();
  EXPECT_THAT(pump(), IsEmpty());
  open(2);  // it is asked again, and does not have them any more
  EXPECT_THAT(pump(), ElementsAre("b3", "c4"));
}

TEST_F(KeptTest, OfOneBatchOnlyThatIsLostWhichWasAcknowledgedBeforeTheStreamWasAsked) {
  write({"a1", "b2", "c3"});
  pump();
  settle("millrace.events.a1", PublishAck{.sequence = 1});
  settle("millrace.events.b2", PublishAck{.sequence = 2});
  ++openings;
  settle("millrace.events.c3",
         PublishAck{.sequence = 2});  // the stream lost the other and gave its place away
  outbox->stream_opened(*tx, kStream, 1, openings);
  commit();
  EXPECT_THAT(pump(), ElementsAre("b2"));
}

TEST_F(KeptTest, WhenItWasAcknowledgedIsStillKnownAfterALostBatch) {
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

TEST_F(KeptTest, IsNotSentIntoAnotherStream) {
  send({"a1", "a2"});
  open(0, kStream + 1);
  EXPECT_THAT(pump(), IsEmpty());
}

TEST_F(KeptTest, ThatIsMoreThanTheWindowIsSentByAndBy) {
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

TEST_F(KeptTest, OfWhatIsTooLargeIsTheHeadInADeadLetter) {
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

  // Whatever the broker takes of it.
  for (const size_t left : {100, 25, 6, 1, 0}) {
    answer(subject, too_large);
    EXPECT_THAT(OutboxTest::pump(), ElementsAre(subject));
    EXPECT_EQ(read_outbox(*tx, 1).value()->message.data.size(), left);
  }
  answer(subject, too_large);
  EXPECT_FALSE(read_outbox(*tx, 1)->has_value()) << "not even its headers";
  take("a2");
  EXPECT_TRUE(outbox->idle());
  EXPECT_EQ(outbox->bytes(), 0U);
}

}  // namespace
}  // namespace millrace
