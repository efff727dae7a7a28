// EarlyEventSearch with the feed: what was fed is not read again, and what the feed lacks is read.
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/service/early_event_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ReadSequences = std::vector<uint64_t>;

const TimePoint kAsked = from_millis(1'700'000'000'000);

class FedSearchTest : public EarlyEventFixture {
 protected:
  FedSearchTest() : EarlyEventFixture(true) {}

  /// The first search has read the window, which has the event 1, and the namespace is followed.
  void begin() {
    stream_.add("default", kAsked - minutes(1));
    open(0);
    deliver();
    ask("first");
    EXPECT_EQ(work(), "first 1; ");
    EXPECT_EQ(stream_.take_read(), ReadSequences{1});
    stream_.take_requests();
  }
};

TEST_F(FedSearchTest, DoesNotReadWhatWasFed) {
  begin();
  stream_.add("default", kAsked, "b");
  stream_.add("other", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  EXPECT_EQ(stream_.take_requests(), 3) << "the first check, and the event with its data";
  for (int i = 0; i < 10; ++i) {
    stream_.add("default", kAsked + seconds(i), fmt::format("c{}", i));
    stream_.add("other", kAsked + seconds(i), fmt::format("c{}", i));
    deliver();
    ask("c", kAsked, "default", fmt::format("c{}", i));
    EXPECT_EQ(work(), fmt::format("c {}; ", 4 + 2 * i));
    EXPECT_EQ(stream_.take_requests(), 1) << "only the event with its data";
  }
  ask("all", kAsked + minutes(4));
  EXPECT_EQ(work(), "all 1; ");
  ask("later", kAsked + minutes(5) + seconds(5), "default", "c5");
  EXPECT_EQ(work(), "later 14; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences());
}

TEST_F(FedSearchTest, KeepsOfTheFedEventsOnlyThoseOfTheWindow) {
  begin();
  stream_.add("default", kAsked - minutes(6), "b");  // the clock of the broker has gone back
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 3; ");
}

TEST_F(FedSearchTest, ReadsTheWholeStreamFromTheFeedIfThatHasIt) {
  feed_.follow("default");
  open(0);
  stream_.add("default", kAsked - minutes(6));
  stream_.add("default", kAsked - minutes(4));
  deliver();
  ask("one");
  EXPECT_EQ(work(), "one 2; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences());
}

TEST_F(FedSearchTest, ReadsWhatIsMissingBeforeTheFeed) {
  begin();
  stream_.add("default", kAsked, "b");
  stream_.add("default", kAsked, "b");
  deliver();
  open(3);
  stream_.add("default", kAsked, "c");
  deliver();
  ask("b", kAsked, "default", "b");
  ask("c", kAsked, "default", "c");
  EXPECT_EQ(work(), "b 2; c 4; ");
  EXPECT_EQ(stream_.take_read(), (ReadSequences{2, 3}));
}

TEST_F(FedSearchTest, ReadsWhileTheStreamIsNotOpen) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  EXPECT_TRUE(feed_.deliver({StreamLost{}}));
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences{2});
}

TEST_F(FedSearchTest, ReadsWhatTheFeedHasDropped) {
  begin();
  for (int i = 0; i < 3; ++i) stream_.add("default", kAsked, "b", 1'000);
  deliver();
  stream_.add("default", kAsked, "c");
  deliver();
  ask("b", kAsked, "default", "b");
  ask("c", kAsked, "default", "c");
  EXPECT_EQ(work(), "b 2; c 5; ");
  EXPECT_EQ(stream_.take_read(), (ReadSequences{2, 3, 4}));
  stream_.add("default", kAsked, "d");
  deliver();
  ask("d", kAsked, "default", "d");
  EXPECT_EQ(work(), "d 6; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences()) << "the feed continues";
}

TEST_F(FedSearchTest, ReadsAgainForALongerWindow) {
  stream_.add("default", kAsked - minutes(6));
  stream_.add("default", kAsked - minutes(4));
  open(0);
  deliver();
  ask("one");
  EXPECT_EQ(work(), "one 2; ");
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 3; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences{2});
  ask("longer", kAsked - minutes(1));
  EXPECT_EQ(work(), "longer 1; ");
  EXPECT_EQ(stream_.take_read(), (ReadSequences{1, 2, 3})) << "what was fed, too";
  stream_.add("default", kAsked, "c");
  deliver();
  ask("c", kAsked, "default", "c");
  EXPECT_EQ(work(), "c 4; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences());
}

TEST_F(FedSearchTest, FindsTheEventsOfTheStreamThatReplacedTheOther) {
  begin();
  stream_.replace();
  created_ = kFakeStream + 1;
  open(0);
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  created_ = kFakeStream;
  ask("of the former stream", kAsked, "default", "b");
  EXPECT_EQ(work(), "of the former stream none; ");
}

TEST_F(FedSearchTest, ReadsAgainWhatCameInPlaceOfALostTail) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  stream_.lose_last();
  open(1);
  stream_.add("default", kAsked + seconds(1), "c");
  deliver();
  ask("as long", kAsked, "default", "c");
  EXPECT_EQ(work(), "as long 2; ");
  EXPECT_EQ(stream_.take_read(), (ReadSequences{1, 2}));
  stream_.lose_last();
  open(1);
  for (int i = 2; i < 5; ++i) stream_.add("default", kAsked + seconds(i), "d");
  deliver();
  ask("longer", kAsked, "default", "d");
  EXPECT_EQ(work(), "longer 2; ");
  for (int i = 0; i < 2; ++i) stream_.lose_last();
  open(2);
  ask("shorter", kAsked, "default", "c");
  EXPECT_EQ(work(), "shorter none; ");
  stream_.add("default", kAsked + seconds(5), "e");
  deliver();
  ask("one more", kAsked, "default", "e");
  EXPECT_EQ(work(), "one more 3; ");
}

TEST_F(FedSearchTest, NoticesALostTailBeforeTheReaderDoes) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  ask("b", kAsked, "default", "b");
  stream_.lose_last();
  EXPECT_EQ(work(), "b none; ") << "no error: the window is read again";
  open(1);
  stream_.add("default", kAsked + seconds(1), "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
}

TEST_F(FedSearchTest, NoticesWhatTheReaderHasNotDelivered) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  stream_.add("default", kAsked + seconds(1), "c");
  stream_.add("default", kAsked + seconds(2), "d");
  for (int i = 0; i < 3; ++i) stream_.lose_first(kAsked + seconds(2));
  deliver();
  ask("c", kAsked + seconds(3), "default", "c");
  EXPECT_EQ(work(), "c millrace.limits.lookback; ");
}

TEST_F(FedSearchTest, KnowsWhatWasFedBeforeTheStreamLostIt) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  stream_.add("default", kAsked, "c");
  deliver();
  for (int i = 0; i < 3; ++i) stream_.lose_first(kAsked + hours(1));
  ask("c", kAsked, "default", "c");
  EXPECT_EQ(work(), "c 3; ");
}

TEST_F(FedSearchTest, ChecksAFedWindowForWhatTheStreamHadLostBefore) {
  feed_.follow("default");
  stream_.add("default", kAsked - minutes(2));
  stream_.add("default", kAsked - minutes(1));
  stream_.lose_first(kAsked - minutes(1));
  open(0);
  deliver();
  ask("one");
  EXPECT_EQ(work(), "one millrace.limits.lookback; ");
}

TEST_F(FedSearchTest, AnswersWhileTheBrokerIsAway) {
  begin();
  stream_.add("default", kAsked, "b");
  deliver();
  ask("b", kAsked, "default", "b");
  EXPECT_EQ(work(), "b 2; ");
  stream_.add("default", kAsked, "c");
  deliver();
  stream_.is_away = true;
  ask("d", kAsked, "default", "d");
  EXPECT_EQ(work(), "d none; ") << "all of the window is in memory";
}

TEST_F(FedSearchTest, FeedsEachNamespace) {
  stream_.add("x", kAsked);
  stream_.add("y", kAsked);
  open(0);
  deliver();
  ask("x", kAsked, "x");
  ask("y", kAsked, "y");
  EXPECT_EQ(work(), "x 1; y 2; ");
  stream_.take_read();
  stream_.add("x", kAsked, "b");
  stream_.add("y", kAsked, "b");
  deliver();
  ask("x", kAsked, "x", "b");
  ask("y", kAsked, "y", "b");
  EXPECT_EQ(work(), "x 3; y 4; ");
  EXPECT_EQ(stream_.take_read(), ReadSequences());
}

TEST_F(FedSearchTest, IsNotFedWithNamespacesThatAreNotInMemory) {
  for (const char* const ns : {"x", "y"}) {
    for (int i = 0; i < 4; ++i) stream_.add(ns, kAsked, "a", 1'900);
  }
  open(0);
  deliver();
  ask("y", kAsked, "y");
  EXPECT_EQ(work(), "y 5; ");
  ask("x", kAsked, "x");
  EXPECT_EQ(work(), "x 1; ");
  stream_.add("x", kAsked);
  deliver();
  EXPECT_EQ(feed_.take("y", kFakeStream, 8).created, 0) << "its memory was needed for `x`";
  EXPECT_EQ(feed_.take("x", kFakeStream, 8).created, kFakeStream);
  search_.forget_unused(minutes(9));
  EXPECT_EQ(feed_.take("x", kFakeStream, 9).created, kFakeStream);
  search_.forget_unused(minutes(11));
  EXPECT_EQ(feed_.take("x", kFakeStream, 9).created, 0) << "it was not used";
}

TEST_F(FedSearchTest, FindsWhatASearchWithoutTheFeedFinds) {
  EarlyEventSearch plain(stream_);
  EarlyEventSearch fed(stream_, {}, &feed_);
  std::mt19937_64 random(1);
  open(0);
  int found = 0;
  for (int i = 0; i < 2'000; ++i) {
    const TimePoint now = kAsked + seconds(10 * i);
    const std::string ns = random() % 3 == 0 ? "x" : "y";
    const uint64_t choice = random() % 100;
    if (choice < 50) {
      // A few of the large ones are more than the feed keeps.
      const int many = choice < 8 ? 4 : 1;
      for (int k = 0; k < many; ++k) {
        stream_.add(ns, now, fmt::format("t{}", random() % 20), many > 1 ? 1'000 : 0);
      }
      deliver();
    } else if (choice < 92) {
      const std::string type = fmt::format("t{}", random() % 20);
      ask(plain, "it", now, ns, type);
      const std::string expected = work(plain);
      ask(fed, "it", now, ns, type);
      ASSERT_EQ(work(fed), expected) << i;
      if (expected != "it none; ") ++found;
    } else if (choice < 95) {
      open(read_to_);
    } else if (choice < 97) {
      EXPECT_TRUE(feed_.deliver({StreamLost{}}));
      open(read_to_);
    } else {
      for (uint64_t lost = random() % 4; lost > 0 && stream_.last() > 0; --lost) {
        stream_.lose_last();
      }
      open(stream_.last());
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace millrace
