#include "orchestrator/service/early_event_search.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/service/early_event_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Sequences = std::vector<uint64_t>;

const TimePoint kNow = from_millis(1'700'000'000'000);
constexpr int64_t kStream = kFakeStream;

class EarlyEventSearchTest : public EarlyEventFixture {
 protected:
  EarlyEventSearchTest() : EarlyEventFixture(false) {}
};

TEST_F(EarlyEventSearchTest, ReadsInOnePageWhatLaterSearchesNeed) {
  stream_.add("default", kNow - minutes(1));
  ask("one");
  stream_.add("default", kNow - seconds(2));
  ask("two");
  ASSERT_TRUE(search_.turn(Duration(0)));
  EXPECT_EQ(stream_.take_read(), (Sequences{1, 2}));
  ASSERT_TRUE(search_.turn(Duration(0)));
  EXPECT_EQ(answers_, "one 1; two 1; ") << "each of its own window";
  stream_.add("default", kNow);
  ask("three", kNow + minutes(5));
  for (int i = 0; i < 4; ++i) stream_.add("default", kNow);
  ask("four", kNow + minutes(5));
  ASSERT_TRUE(search_.turn(Duration(0)));
  EXPECT_EQ(stream_.take_read(), (Sequences{3, 4, 5}));
  EXPECT_EQ(work(), "one 1; two 1; three 3; four 3; ");
}

TEST_F(EarlyEventSearchTest, ReadsTheWindowOnceForAllSearches) {
  stream_.add("default", kNow - minutes(6));
  for (int i = 0; i < 4; ++i) stream_.add("default", kNow - minutes(4) + seconds(i));
  stream_.add("other", kNow);
  ask("one");
  ask("two");
  ask("three", kNow, "default", "b");
  EXPECT_EQ(work(), "one 2; two 2; three none; ");
  EXPECT_EQ(stream_.take_read(), (Sequences{2, 3, 4, 5}));
  stream_.add("default", kNow, "b");
  ask("four", kNow + seconds(1), "default", "b");
  ask("five", kNow + seconds(61));
  EXPECT_EQ(work(), "four 7; five 3; ");
  EXPECT_EQ(stream_.take_read(), Sequences{7}) << "only what has come since";
}

TEST_F(EarlyEventSearchTest, ReadsAgainForALongerWindowAndAfterALongTime) {
  stream_.add("default", kNow - minutes(6));
  stream_.add("default", kNow - minutes(4));
  ask("one");
  EXPECT_EQ(work(), "one 2; ");
  ask("longer", kNow - minutes(1));
  EXPECT_EQ(work(), "longer 1; ");
  EXPECT_EQ(stream_.take_read(), (Sequences{2, 1, 2}));
  stream_.add("default", kNow + minutes(30));
  stream_.add("default", kNow + minutes(58));
  ask("later", kNow + minutes(60));
  EXPECT_EQ(work(), "later 4; ");
  EXPECT_EQ(stream_.take_read(), Sequences{4}) << "what came between the windows is not read";
}

TEST_F(EarlyEventSearchTest, ReadsOnceForAShortWindowBeforeALongOne) {
  for (int i = 0; i < 4; ++i) stream_.add("default", kNow - minutes(20) + seconds(i));
  for (int i = 0; i < 4; ++i) stream_.add("default", kNow - minutes(1) + seconds(i));
  ask("short");
  ask("long", kNow - minutes(16));
  EXPECT_EQ(work(), "short 5; long 1; ");
  EXPECT_EQ(stream_.take_read(), (Sequences{1, 2, 3, 4, 5, 6, 7, 8}))
      << "the first pages are all before the short window";
}

TEST_F(EarlyEventSearchTest, WaitsWhileTheBrokerIsAway) {
  stream_.add("default", kNow);
  ask("one");
  stream_.is_away = true;
  EXPECT_EQ(search_.turn({}).error().code, "broker.unreachable");
  EXPECT_TRUE(search_.has_work());
  stream_.is_away = false;
  EXPECT_EQ(work(), "one 1; ");
}

TEST_F(EarlyEventSearchTest, GivesEachNamespaceItsTurn) {
  for (int i = 0; i < 30; ++i) stream_.add("many", kNow);
  stream_.add("few", kNow);
  ask("many", kNow, "many");
  ask("few", kNow, "few");
  EXPECT_EQ(work(), "few 31; many 1; ");
}

TEST_F(EarlyEventSearchTest, CountsTheEventsThatATurnReadsAgain) {
  for (int i = 0; i < 40; ++i) stream_.add("many", kNow);
  stream_.add("one", kNow);
  for (const char* const ns : {"many", "one"}) {
    ask("first", kNow, ns);
    EXPECT_EQ(work(), ns == std::string("many") ? "first 1; " : "first 41; ");
  }
  for (int i = 0; i < 5; ++i) {
    LookBack asked{.fills_each = true,
                   .until = {.stream = 1, .sequence = stream_.last()},
                   .space = "many",
                   .stream_created = kStream};
    for (uint32_t entry = 0; entry < 40; ++entry) {
      asked.listeners.push_back({.entry = entry, .filter = {.type = "a"}, .since = kNow});
    }
    search_.ask(std::move(asked), [&](const EarlyEvents& found) {
      answers_ += fmt::format("{} of many; ", found ? found->size() : 0);
    });
  }
  ask("one", kNow, "one");
  EXPECT_EQ(work(), "40 of many; 40 of many; 40 of many; 40 of many; one 41; 40 of many; ");
}

TEST_F(EarlyEventSearchTest, CountsTheEventsAtWhichATurnLooks) {
  EarlyEventSearch search(stream_);
  for (int i = 0; i < 3'000; ++i) stream_.add("many", kNow);
  stream_.add("one", kNow);
  const Predicate none{.attribute = "id", .kind = Predicate::Kind::kPattern, .text = "^x"};
  const auto ask_in = [&](const std::string& ns) {
    search.ask({.listeners = {{.filter = {.type = "a", .predicates = {none}}, .since = kNow}},
                .until = {.stream = 1, .sequence = stream_.last()},
                .space = ns,
                .stream_created = kStream},
               [this, ns](const EarlyEvents&) { answers_ += ns + " "; });
  };
  for (const char* const ns : {"many", "one"}) {
    ask_in(ns);
    for (int i = 0; i < 2'000 && search.has_work(); ++i) ASSERT_TRUE(search.turn({}));
  }
  ASSERT_EQ(std::exchange(answers_, {}), "many one ");
  for (int i = 0; i < 30; ++i) ask_in("many");
  ask_in("one");
  EXPECT_TRUE(search.turn({}));
  EXPECT_EQ(search.waiting(), 12U) << "each search of `many` looks at 3 000 events";
  EXPECT_TRUE(search.turn({}));
  EXPECT_TRUE(answers_.ends_with("many one ")) << answers_;
}

TEST_F(EarlyEventSearchTest, WaitsUntilTheEngineHasTakenWhatWasFound) {
  EarlyEventSearch search(stream_, {.given_bytes = 1'000});
  stream_.add("default", kNow);
  stream_.add("other", kNow);
  std::vector<EarlyEvents> answers;
  const auto ask_in = [&](const std::string& ns) {
    search.ask({.listeners = {{.filter = {.type = "a"}, .since = kNow}},
                .until = {.stream = 1, .sequence = stream_.last()},
                .space = ns,
                .stream_created = kStream},
               [&](EarlyEvents found) { answers.push_back(std::move(found)); });
  };
  const auto work_on = [&] {
    for (int i = 0; i < 10 && search.has_work(); ++i) ASSERT_TRUE(search.turn({}));
  };
  for (int i = 0; i < 3; ++i) ask_in("default");
  ask_in("other");
  work_on();
  EXPECT_EQ(answers.size(), 3U) << "two of this namespace, and that of the other one";
  EXPECT_TRUE(search.has_work());
  EXPECT_TRUE(search.is_held_up());
  answers.clear();
  EXPECT_FALSE(search.is_held_up());
  work_on();
  EXPECT_EQ(answers.size(), 1U);
  EXPECT_FALSE(search.has_work());
}

TEST_F(EarlyEventSearchTest, RefusesAWindowThatTheStreamHasLostInPart) {
  stream_.add("default", kNow - minutes(4));
  stream_.add("default", kNow - minutes(2));
  stream_.lose_first(kNow - minutes(3));
  ask("one");
  EXPECT_EQ(work(), "one millrace.limits.lookback; ");
  ask("later", kNow + minutes(2));
  EXPECT_EQ(work(), "later 2; ");
  stream_.lose_first(kNow + minutes(1));
  ask("from memory", kNow + minutes(2));
  EXPECT_EQ(work(), "from memory 2; ") << "the window was read before";
}

TEST_F(EarlyEventSearchTest, NoticesWhatWasLostBeforeItWasRead) {
  stream_.add("default", kNow);
  ask("one");
  EXPECT_EQ(work(), "one 1; ");
  stream_.add("default", kNow + seconds(1), "b");
  stream_.add("default", kNow + seconds(2));
  stream_.lose_first(TimePoint::min());
  stream_.lose_first(kNow + seconds(2));
  ask("two", kNow + seconds(3), "default", "b");
  EXPECT_EQ(work(), "two millrace.limits.lookback; ");
}

TEST_F(EarlyEventSearchTest, ReadsAgainWhatCameInPlaceOfALostTail) {
  stream_.add("default", kNow);
  stream_.add("default", kNow + seconds(1), "b");
  stream_.add("other", kNow + seconds(2));
  ask("before", kNow, "default", "c");
  EXPECT_EQ(work(), "before none; ");
  stream_.lose_last();
  stream_.lose_last();
  stream_.add("default", kNow + seconds(3), "c");
  ask("shorter", kNow, "default", "c");
  EXPECT_EQ(work(), "shorter 2; ") << "the stream ends before what was read";
  stream_.add("other", kNow + seconds(4));
  stream_.lose_last();
  stream_.lose_last();
  stream_.add("default", kNow + seconds(5), "d");
  ask("as long", kNow, "default", "d");
  EXPECT_EQ(work(), "as long 2; ") << "the last message is another one";
}

TEST_F(EarlyEventSearchTest, RefusesAWindowWithTooManyBytes) {
  for (int i = 0; i < 8; ++i) stream_.add("default", kNow - minutes(4) + minutes(i), "a", 2'000);
  ask("one");
  EXPECT_EQ(work(), "one millrace.limits.lookback; ");
  ask("two", kNow + minutes(6));
  EXPECT_EQ(work(), "two 6; ") << "a later window is smaller";
}

TEST_F(EarlyEventSearchTest, DoesNotReadAgainAWindowWithTooManyBytes) {
  for (int i = 0; i < 8; ++i) stream_.add("default", kNow - minutes(4) + minutes(i), "a", 2'000);
  ask("one");
  EXPECT_EQ(work(), "one millrace.limits.lookback; ");
  stream_.add("default", kNow + minutes(60));
  ask("later", kNow + minutes(62));
  EXPECT_EQ(work(), "later 9; ");
  stream_.take_read();
  ask("again");
  EXPECT_EQ(work(), "again millrace.limits.lookback; ");
  EXPECT_EQ(stream_.take_read(), Sequences());
}

TEST_F(EarlyEventSearchTest, RefusesOnlyWindowsOfTheStreamWithTooManyBytes) {
  for (int i = 0; i < 8; ++i) stream_.add("default", kNow - minutes(4) + seconds(i), "a", 2'000);
  ask("old");
  stream_.replace();
  created_ = kStream + 1;
  ask("new");
  for (int i = 0; i < 100 && answers_.empty(); ++i) ASSERT_TRUE(search_.turn({}));
  for (int i = 0; i < 6; ++i) stream_.lose_first(TimePoint::min());
  EXPECT_EQ(work(), "old millrace.limits.lookback; new 7; ");
}

TEST_F(EarlyEventSearchTest, FindsNothingInAStreamThatWasReplaced) {
  stream_.add("default", kNow);
  created_ = 0;
  ask("before the replacement");
  EXPECT_EQ(work(), "before the replacement none; ");
  EXPECT_EQ(stream_.take_read(), Sequences());
  created_ = kStream;
  stream_.replace();
  ask("during the replacement");
  EXPECT_EQ(work(), "during the replacement none; ");
  created_ = kStream + 1;
  ask("after the replacement");
  EXPECT_EQ(work(), "after the replacement 1; ");
}

TEST_F(EarlyEventSearchTest, BoundsTheMemoryOfAllNamespaces) {
  for (const char* const ns : {"x", "y", "z"}) {
    for (int i = 0; i < 4; ++i) stream_.add(ns, kNow, "a", 2'000);
  }
  for (const char* const ns : {"x", "y", "z"}) ask(ns, kNow, ns);
  EXPECT_EQ(work().size(), std::string("x 1; y 5; z 9; ").size()) << "all are answered";
  EXPECT_GT(stream_.take_read().size(), 12U) << "what was dropped is read again";
}

TEST_F(EarlyEventSearchTest, AnswersOthersWhileANamespaceThatNeedsTheMemoryAsksAgainAndAgain) {
  for (const char* const ns : {"x", "y"}) {
    for (int i = 0; i < 4; ++i) stream_.add(ns, kNow, "a", 1'900);
  }
  ask("y", kNow, "y");
  EXPECT_EQ(work(), "y 5; ");
  ask("x", kNow, "x");
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(search_.turn({}));  // what `y` has in memory is dropped
  ask("y again", kNow, "y");
  for (int i = 0; i < 10; ++i) {
    stream_.add("x", kNow);
    ask("x", kNow, "x");
    EXPECT_TRUE(search_.turn({}));
  }
  EXPECT_NE(answers_.find("y again 5; "), std::string::npos) << answers_;
}

TEST_F(EarlyEventSearchTest, ForgetsEventsThatAreNotUsed) {
  stream_.add("default", kNow);
  ask("one");
  EXPECT_EQ(work(), "one 1; ");
  stream_.take_read();
  search_.forget_unused(minutes(9));
  ask("two");
  EXPECT_EQ(work(), "two 1; ");
  EXPECT_EQ(stream_.take_read(), Sequences());
  search_.forget_unused(minutes(10) + seconds(1));
  ask("three");
  EXPECT_EQ(work(), "three 1; ");
  EXPECT_EQ(stream_.take_read(), Sequences{1});
}

}  // namespace
}  // namespace millrace
