#include "orchestrator/memory/dedupe.h"

#include <gtest/gtest.h>

#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

Fingerprint event(int number) { return fingerprint({"event", std::to_string(number)}); }

class DedupeTest : public StoreTest {
 protected:
  /// A batch at the time `at` that adds these events.
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

  /// The events that are known to another Dedupe that reads the store.
  std::string stored(DedupeWindow window) {
    Dedupe other(window, batches);
    EXPECT_TRUE(other.load(*tx));
    return known(other);
  }

  uint64_t sequence = 0;
  BatchCount batches;
};

TEST_F(DedupeTest, KnowsAnEventOnceItIsAdded) {
  Dedupe dedupe({}, batches);
  ASSERT_TRUE(dedupe.load(*tx));
  EXPECT_EQ(known(dedupe), "");
  dedupe.add(event(1));
  EXPECT_EQ(known(dedupe), "1") << "an event is known within its own batch, too";
  EXPECT_EQ(stored({}), "");
  batch(dedupe, 1000, {2, 3});
  EXPECT_EQ(known(dedupe), "123");
  EXPECT_EQ(stored({}), "123");
}

TEST_F(DedupeTest, ForgetsEventsOlderThanTheWindow) {
  const DedupeWindow window{.time = Duration(100)};
  Dedupe dedupe(window, batches);
  batch(dedupe, 1000, {1});
  batch(dedupe, 1050, {2});
  EXPECT_TRUE(dedupe.move_to(*tx, from_millis(1100)));
  EXPECT_EQ(known(dedupe), "12") << "an event is still known at the end of the window";
  EXPECT_TRUE(dedupe.move_to(*tx, from_millis(1101)));
  EXPECT_EQ(known(dedupe), "2");
  commit();
  EXPECT_EQ(stored(window), "2");
  batch(dedupe, 5000, {});
  EXPECT_EQ(known(dedupe), "") << "old events are forgotten even if no event is added";
  EXPECT_EQ(stored(window), "");
}

TEST_F(DedupeTest, ForgetsTheOldestBatchesBeyondTheEventLimit) {
  const DedupeWindow window{.events = 3};
  Dedupe dedupe(window, batches);
  batch(dedupe, 1000, {1, 2});
  batch(dedupe, 1001, {3});
  EXPECT_EQ(known(dedupe), "123");
  batch(dedupe, 1002, {4});
  EXPECT_EQ(known(dedupe), "34") << "a batch is forgotten as a whole";
  batch(dedupe, 1003, {5});
  EXPECT_EQ(known(dedupe), "345");
  EXPECT_EQ(stored(window), "345");
}

TEST_F(DedupeTest, ForgetsSomeEventsInEachBatchIfTheWindowWasMadeSmaller) {
  {
    Dedupe dedupe({}, batches);
    for (int number = 10; number < 310; ++number) batch(dedupe, 1000, {number});
  }
  Dedupe dedupe({.events = 1}, batches);
  ASSERT_TRUE(dedupe.load(*tx));
  const auto left = [&] {
    int count = 0;
    for (int number = 10; number < 310; ++number) count += dedupe.seen(event(number)) ? 1 : 0;
    return count;
  };
  batch(dedupe, 1001, {1});
  EXPECT_GT(left(), 200) << "one batch forgets a bounded number of events";
  EXPECT_LT(left(), 300);
  for (int i = 2; i < 8; ++i) batch(dedupe, 1001, {i});
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(known(dedupe), "7");
}

TEST_F(DedupeTest, ContinuesWithTheWindowThatItLoads) {
  const DedupeWindow window{.time = Duration(100)};
  {
    Dedupe dedupe(window, batches);
    batch(dedupe, 1000, {1});
    batch(dedupe, 1050, {2});
  }
  Dedupe dedupe(window, batches);
  dedupe.add(event(9));  // load() forgets it, because it is not in the store
  ASSERT_TRUE(dedupe.load(*tx));
  EXPECT_EQ(known(dedupe), "12");
  batch(dedupe, 1120, {3});
  EXPECT_EQ(known(dedupe), "23");
  EXPECT_EQ(stored(window), "23");
}

TEST_F(DedupeTest, EqualsTheStoreAfterALostBatch) {
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

TEST_F(DedupeTest, KeepsBothBatchesThatEndAtTheSameSequence) {
  // An event stream that lost its newest messages is read again from the millisecond of the cursor,
  // so two batches may end at the same sequence.
  Dedupe dedupe({}, batches);
  batch(dedupe, 1000, {1});
  --sequence;
  batch(dedupe, 1000, {2});
  EXPECT_EQ(known(dedupe), "12");
  EXPECT_EQ(stored({}), "12");
}

}  // namespace
}  // namespace millrace
