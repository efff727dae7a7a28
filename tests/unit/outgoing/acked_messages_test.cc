// AckedMessages: messages that the broker has acknowledged and may still lose.
#include "orchestrator/outgoing/acked_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/outbox_rows.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kStream = 7;

class AckedMessagesTest : public FaultyStoreTest {
 protected:
  /// Commits a batch that adds these acked messages. The number of each message is also its
  /// sequence in the stream.
  void acknowledge(std::initializer_list<uint64_t> numbers, uint64_t openings = 0,
                   uint64_t bytes = 1) {
    for (const uint64_t number : numbers) {
      write_outbox(*tx, number, {});
      acked->add({.number = number, .sequence = number, .bytes = bytes}, openings);
    }
    acked->write(*tx, kStream, now);
    commit();
  }
  void trim() {
    acked->trim(*tx, now);
    commit();
  }
  /// Takes out the messages after that sequence; returns their numbers.
  std::vector<uint64_t> take_behind(uint64_t sequence, uint64_t openings = 1,
                                    int64_t stream = kStream) {
    std::vector<uint64_t> numbers;
    for (const AckedMessages::Message& message :
         acked->take_behind(*tx, stream, sequence, openings)) {
      numbers.push_back(message.number);
    }
    return numbers;
  }
  std::vector<uint64_t> numbers() const { return acked->numbers_from(0); }
  /// The numbers of the rows in the outbox.
  std::vector<uint64_t> rows() {
    std::vector<uint64_t> found;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t number, std::string_view) -> Result<bool> {
      found.push_back(number);
      return true;
    }));
    return found;
  }
  /// The numbers that another process loads from the store.
  std::vector<uint64_t> stored() {
    AckedMessages other(limits);
    EXPECT_TRUE(other.load(*tx));
    return other.numbers_from(0);
  }
  void restart() {
    acked.emplace(limits);
    EXPECT_TRUE(acked->load(*tx));
  }

  TimePoint now = from_millis(1'700'000'000'000);
  AckedLimits limits{.time = minutes(4), .bytes = 100};
  std::optional<AckedMessages> acked{limits};
};

TEST_F(AckedMessagesTest, AreStoredWithTheBatchThatWritesThem) {
  acked->add({.number = 1, .sequence = 1}, 0);
  EXPECT_THAT(numbers(), IsEmpty()) << "add() does not store the message yet";
  acked->write(*tx, kStream, now);
  commit();
  acknowledge({2, 5});
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 5));
  EXPECT_THAT(acked->numbers_from(2), ElementsAre(2, 5));
  EXPECT_THAT(stored(), ElementsAre(1, 2, 5));
}

TEST_F(AckedMessagesTest, AreErasedWithTheirRowsInTheOutboxAfterTheTimeLimit) {
  acknowledge({1, 2});
  now += minutes(1);
  acknowledge({3});
  now += minutes(3) - Duration(1);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
  now += Duration(1);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(3));
  EXPECT_THAT(rows(), ElementsAre(3));
  EXPECT_THAT(stored(), ElementsAre(3));
}

TEST_F(AckedMessagesTest, AreErasedOldestFirstIfTheyExceedTheByteLimit) {
  acknowledge({1}, 0, 60);
  acknowledge({2}, 0, 40);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(1, 2)) << "the messages are exactly at the limit";
  acknowledge({3}, 0, 1);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(2, 3));
  restart();
  acknowledge({4}, 0, 60);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(3, 4))
      << "earlier messages count for the limit after a restart";
}

TEST_F(AckedMessagesTest, AreErasedByDropWhateverTheirAge) {
  acknowledge({1, 2});
  acknowledge({3});
  acked->drop(*tx);
  commit();
  EXPECT_THAT(numbers(), IsEmpty());
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_THAT(stored(), IsEmpty());
}

TEST_F(AckedMessagesTest, AreTakenOutToBeSentAgainIfTheirSequenceIsAfterTheGivenOne) {
  acknowledge({1, 2, 3});
  acknowledge({4});
  EXPECT_THAT(take_behind(2, 1, kStream + 1), IsEmpty()) << "the messages are of another stream";
  EXPECT_THAT(take_behind(4), IsEmpty());
  EXPECT_THAT(take_behind(2), UnorderedElementsAre(3, 4));
  commit();
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  EXPECT_THAT(stored(), ElementsAre(1, 2));
  EXPECT_THAT(rows(), ElementsAre(1, 2, 3, 4))
      << "the rows stay, because the messages are sent again";
}

TEST_F(AckedMessagesTest, DoNotCountTowardTheByteLimitOnceTheyAreTakenOut) {
  acknowledge({1}, 0, 60);
  acknowledge({2}, 0, 60);
  EXPECT_THAT(take_behind(1), ElementsAre(2));
  trim();
  EXPECT_THAT(numbers(), ElementsAre(1));
}

TEST_F(AckedMessagesTest, StayIfTheyWereAcknowledgedAfterTheStateOfTheStreamWasRequested) {
  acknowledge({1}, 1);
  acknowledge({2}, 2);
  acknowledge({3}, 3);
  EXPECT_THAT(take_behind(0, 2), ElementsAre(1));
  EXPECT_THAT(take_behind(0, 4), UnorderedElementsAre(2, 3));
}

TEST_F(AckedMessagesTest, KeepTheirNumberOfStreamOpeningsWhenTheSameProcessLoadsThemAgain) {
  acknowledge({1}, 1);
  acknowledge({2}, 2);
  EXPECT_TRUE(acked->load(*tx));
  EXPECT_THAT(take_behind(0, 2), ElementsAre(1));
  tx->drop();
  restart();
  EXPECT_THAT(take_behind(0, 1), UnorderedElementsAre(1, 2))
      << "messages of an earlier process were acknowledged before any opening of this one";
}

TEST_F(AckedMessagesTest, AreAgainThoseOfTheStoreAfterALostBatch) {
  acknowledge({1});
  acknowledge({2});
  acked->add({.number = 3, .sequence = 3}, 0);
  acked->write(*tx, kStream, now);
  acked->add({.number = 4, .sequence = 4}, 0);
  EXPECT_THAT(take_behind(1), UnorderedElementsAre(2, 3));
  tx->drop();
  ASSERT_TRUE(acked->load(*tx));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  acked->write(*tx, kStream, now);
  commit();
  EXPECT_THAT(stored(), ElementsAre(1, 2)) << "a message that was only added is not written later";
}

TEST_F(AckedMessagesTest, AreLoadedCompletelyAfterFailedReads) {
  acknowledge({1, 2}, 1);
  acknowledge({3}, 2);
  EXPECT_GE(fail_each_read([&] { return acked->load(*tx); }, [] {}), 1U);
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace millrace
