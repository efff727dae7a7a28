#include "orchestrator/memory/dedupe.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

Fingerprint event(int number) { return fingerprint({"event", std::to_string(number)}); }

class DedupeTest : public StoreTest {
 protected:
  /// A batch with these events, the last one stamped at that time.
  void batch(Dedupe& dedupe, int64_t at, std::initializer_list<int> numbers) {
    EXPECT_TRUE(dedupe.move_to(*tx, from_millis(at)));
    for (const int number : numbers) dedupe.add(event(number));
    EXPECT_TRUE(dedupe.end_batch(*tx, from_millis(at), ++sequence));
    commit();
  }

  /// Which of the events 0 to 9 are known.
  static std::string known(const Dedupe& dedupe) {
    std::string numbers;
    for (int i = 0; i < 10; ++i) {
      if (dedupe.seen(event(i))) numbers += std::to_string(i);
    }
    return numbers;
  }

  /// The same as another one reads from the store.
  std::string stored(DedupeWindow window) {
    Dedupe other(window, batches);
    EXPECT_TRUE(other.load(*tx));
    return known(other);
  }

  uint64_t sequence = 0;
  BatchCount batches;
};

TEST_F(DedupeTest, KnowsWhatWasAddedFromThatMomentOn) {
  Dedupe dedupe({}, batches);
  ASSERT_TRUE(dedupe.load(*tx));
  EXPECT_EQ(known(dedupe), "");
  dedupe.add(event(1));
  EXPECT_EQ(known(dedupe), "1") << "within the batch, too";
  EXPECT_EQ(stored({}), "");
  batch(dedupe, 1000, {2, 3});
  EXPECT_EQ(known(dedupe), "123");
  EXPECT_EQ(stored({}), "123");
}

TEST_F(DedupeTest, ForgetsWhatIsOlderThanTheWindow) {
  const DedupeWindow window{.time = Duration(100)};
  Dedupe dedupe(window, batches);
  batch(dedupe, 1000, {1});
  batch(dedupe, 1050, {2});
  EXPECT_TRUE(dedupe.move_to(*tx, from_millis(1100)));
  EXPECT_EQ(known(dedupe), "12") << "at the end of the window still";
  EXPECT_TRUE(dedupe.move_to(*tx, from_millis(1101)));
  EXPECT_EQ(known(dedupe), "2");
  commit();
  EXPECT_EQ(stored(window), "2");
  batch(dedupe, 5000, {});
  EXPECT_EQ(known(dedupe), "") << "without a new one being added";
  EXPECT_EQ(stored(window), "");
}

TEST_F(DedupeTest, ForgetsTheOldestBatchesOfTooMany) {
  const DedupeWindow window{.events = 3};
  Dedupe dedupe(window, batches);
  batch(dedupe, 1000, {1, 2});
  batch(dedupe, 1001, {3});
  EXPECT_EQ(known(dedupe), "123");
  batch(dedupe, 1002, {4});
  EXPECT_EQ(known(dedupe), "34") << "a batch goes as a whole";
  batch(dedupe, 1003, {5});
  EXPECT_EQ(known(dedupe), "345");
  EXPECT_EQ(stored(window), "345");
}

TEST_F(DedupeTest, GoesOnWithTheWindowThatItLoads) {
  const DedupeWindow window{.time = Duration(100)};
  {
    Dedupe dedupe(window, batches);
    batch(dedupe, 1000, {1});
    batch(dedupe, 1050, {2});
  }
  Dedupe dedupe(window, batches);
  dedupe.add(event(9));  // what is not in the store is forgotten
  ASSERT_TRUE(dedupe.load(*tx));
  EXPECT_EQ(known(dedupe), "12");
  batch(dedupe, 1120, {3});
  EXPECT_EQ(known(dedupe), "23");
  EXPECT_EQ(stored(window), "23");
}

TEST_F(DedupeTest, LosesWithItsBatchWhatThatHadChanged) {
  const DedupeWindow window{.time = Duration(100)};
  Dedupe dedupe(window, batches);
  batch(dedupe, 1000, {1});
  EXPECT_TRUE(dedupe.move_to(*tx, from_millis(2000)));
  dedupe.add(event(2));
  EXPECT_TRUE(dedupe.end_batch(*tx, from_millis(2000), ++sequence));
  EXPECT_EQ(known(dedupe), "2");
  tx->drop();
  ASSERT_TRUE(dedupe.load(*tx));
  EXPECT_EQ(known(dedupe), "1");
}

TEST_F(DedupeTest, KeepsBothBatchesThatEndWithTheSameEvent) {
  // A stream that lost its tail is read again from the cursor's millisecond.
  Dedupe dedupe({}, batches);
  batch(dedupe, 1000, {1});
  --sequence;
  batch(dedupe, 1000, {2});
  EXPECT_EQ(known(dedupe), "12");
  EXPECT_EQ(stored({}), "12");
}

}  // namespace
}  // namespace millrace
