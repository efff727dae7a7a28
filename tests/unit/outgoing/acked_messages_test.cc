// Kept: which messages the broker has acknowledged and may yet lose.
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
  /// A batch that takes note of these messages, each with its number for its place in the stream.
  void acknowledge(std::initializer_list<uint64_t> numbers, uint64_t openings = 0,
                   uint64_t bytes = 1) {
    for (const uint64_t number : numbers) {
      write_outbox(*tx, number, {});
      kept->add({.number = number, .sequence = number, .bytes = bytes}, openings);
    }
    kept->write(*tx, kStream, now);
    commit();
  }
  void trim() {
    kept->trim(*tx, now);
    commit();
  }
  /// The messages that are taken out behind that place, by their numbers.
  std::vector<uint64_t> take_behind(uint64_t sequence, uint64_t openings = 1,
                                    int64_t stream = kStream) {
    std::vector<uint64_t> numbers;
    for (const Kept::Message& message : kept->take_behind(*tx, stream, sequence, openings)) {
      numbers.push_back(message.number);
    }
    return numbers;
  }
  std::vector<uint64_t> numbers() const { return kept->numbers_from(0); }
  /// The numbers of the rows of the outbox.
  std::vector<uint64_t> rows() {
    std::vector<uint64_t> found;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t number, std::string_view) -> Result<bool> {
      found.push_back(number);
      return true;
    }));
    return found;
  }
  /// What another process finds in the store.
  std::vector<uint64_t> stored() {
    Kept other(limits);
    EXPECT_TRUE(other.load(*tx));
    return other.numbers_from(0);
  }
  void restart() {
    kept.emplace(limits);
    EXPECT_TRUE(kept->load(*tx));
  }

  TimePoint now = from_millis(1'700'000'000'000);
  KeptLimits limits{.time = minutes(4), .bytes = 100};
  std::optional<Kept> kept{limits};
};

TEST_F(AckedMessagesTest, AreKeptInTheStoreFromTheBatchThatWritesThem) {
  kept->add({.number = 1, .sequence = 1}, 0);
  EXPECT_THAT(numbers(), IsEmpty()) << "it is only noted";
  kept->write(*tx, kStream, now);
  commit();
  acknowledge({2, 5});
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 5));
  EXPECT_THAT(kept->numbers_from(2), ElementsAre(2, 5));
  EXPECT_THAT(stored(), ElementsAre(1, 2, 5));
}

TEST_F(AckedMessagesTest, AreErasedWithTheirMessagesWhenTheirTimeIsOver) {
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

TEST_F(AckedMessagesTest, AreErasedFromTheOldestWhereTheyTakeTooMuchRoom) {
  acknowledge({1}, 0, 60);
  acknowledge({2}, 0, 40);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(1, 2)) << "just as much as may be";
  acknowledge({3}, 0, 1);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(2, 3));
  restart();
  acknowledge({4}, 0, 60);
  trim();
  EXPECT_THAT(numbers(), ElementsAre(3, 4)) << "what was there before counts behind a restart";
}

TEST_F(AckedMessagesTest, AreDroppedWhateverTheirAge) {
  acknowledge({1, 2});
  acknowledge({3});
  kept->drop(*tx);
  commit();
  EXPECT_THAT(numbers(), IsEmpty());
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_THAT(stored(), IsEmpty());
}

TEST_F(AckedMessagesTest, BehindAPlaceOfTheirStreamAreTakenOut) {
  acknowledge({1, 2, 3});
  acknowledge({4});
  EXPECT_THAT(take_behind(2, 1, kStream + 1), IsEmpty()) << "of another stream";
  EXPECT_THAT(take_behind(4), IsEmpty());
  EXPECT_THAT(take_behind(2), UnorderedElementsAre(3, 4));
  commit();
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  EXPECT_THAT(stored(), ElementsAre(1, 2));
  EXPECT_THAT(rows(), ElementsAre(1, 2, 3, 4)) << "they are to be sent again";
}

TEST_F(AckedMessagesTest, ThatWereTakenOutTakeNoRoom) {
  acknowledge({1}, 0, 60);
  acknowledge({2}, 0, 60);
  EXPECT_THAT(take_behind(1), ElementsAre(2));
  trim();
  EXPECT_THAT(numbers(), ElementsAre(1));
}

TEST_F(AckedMessagesTest, AcknowledgedAfterTheStreamWasAskedAreNotTakenOut) {
  acknowledge({1}, 1);
  acknowledge({2}, 2);
  acknowledge({3}, 3);
  EXPECT_THAT(take_behind(0, 2), ElementsAre(1));
  EXPECT_THAT(take_behind(0, 4), UnorderedElementsAre(2, 3));
}

TEST_F(AckedMessagesTest, KeepTheOpeningsOfThisProcessWhenTheyAreLoadedAgain) {
  acknowledge({1}, 1);
  acknowledge({2}, 2);
  EXPECT_TRUE(kept->load(*tx));
  EXPECT_THAT(take_behind(0, 2), ElementsAre(1));
  tx->drop();
  restart();
  EXPECT_THAT(take_behind(0, 1), UnorderedElementsAre(1, 2))
      << "an earlier process had them acknowledged before any opening of this one";
}

TEST_F(AckedMessagesTest, OfALostBatchAreAsTheStoreHasThem) {
  acknowledge({1});
  acknowledge({2});
  kept->add({.number = 3, .sequence = 3}, 0);
  kept->write(*tx, kStream, now);
  kept->add({.number = 4, .sequence = 4}, 0);
  EXPECT_THAT(take_behind(1), UnorderedElementsAre(2, 3));
  tx->drop();
  ASSERT_TRUE(kept->load(*tx));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  kept->write(*tx, kStream, now);
  commit();
  EXPECT_THAT(stored(), ElementsAre(1, 2)) << "nor is what was only noted written later";
}

TEST_F(AckedMessagesTest, AreLoadedWholeOnceAllReadsSucceed) {
  acknowledge({1, 2}, 1);
  acknowledge({3}, 2);
  EXPECT_GE(fail_each_read([&] { return kept->load(*tx); }, [] {}), 1U);
  EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace millrace
