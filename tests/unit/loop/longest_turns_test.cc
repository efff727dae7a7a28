// LongestTurns: a turn is the result for a minute after its end, with all its parts.
#include "orchestrator/loop/longest_turns.h"

#include <chrono>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSomeTime = 12h;

TEST(LongestTurns, AreNoneWithoutTurns) {
  EXPECT_EQ(LongestTurns().longest(kSomeTime).elapsed, 0ns);
}

TEST(LongestTurns, KeepTheTurnThatTookLongestWithItsParts) {
  LongestTurns turns;
  turns.add(kSomeTime,
            {.elapsed = 7ms, .apply = 5ms, .commit = 1ms, .perform = 1ms, .processor = 6ms});
  turns.add(kSomeTime + 1s,
            {.elapsed = 12ms, .apply = 2ms, .commit = 7ms, .perform = 3ms, .processor = 4ms});
  turns.add(kSomeTime + 20s, {.elapsed = 9ms, .apply = 1ms, .commit = 8ms});
  const TurnTime longest = turns.longest(kSomeTime + 30s);
  EXPECT_EQ(longest.elapsed, 12ms);
  EXPECT_EQ(longest.apply, 2ms);
  EXPECT_EQ(longest.commit, 7ms);
  EXPECT_EQ(longest.perform, 3ms);
  EXPECT_EQ(longest.processor, 4ms);
}

TEST(LongestTurns, ForgetATurnBetweenOneMinuteAndFiveSecondsMoreAfterItsEnd) {
  LongestTurns turns;
  turns.add(kSomeTime + 4'999ms, {.elapsed = 7ms});
  turns.add(kSomeTime + 40s, {.elapsed = 1ms});
  EXPECT_EQ(turns.longest(kSomeTime + 64'999ms).elapsed, 7ms) << "a minute after the end";
  EXPECT_EQ(turns.longest(kSomeTime + 65s).elapsed, 1ms);
  EXPECT_EQ(turns.longest(kSomeTime + 10min).elapsed, 0ns);
}

TEST(LongestTurns, UseTheirSlotsAgain) {
  LongestTurns turns;
  turns.add(kSomeTime, {.elapsed = 7ms});
  for (int i = 1; i <= 100; ++i) {
    turns.add(kSomeTime + i * 5s, {.elapsed = std::chrono::microseconds(i)});
  }
  EXPECT_EQ(turns.longest(kSomeTime + 500s).elapsed, 100us);
}

}  // namespace
}  // namespace millrace
