#include "orchestrator/timers/wheel.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kNow = 1'717'000'000'123;  // some time in 2024
constexpr int64_t kYear = int64_t{365} * 24 * 3600 * 1000;

/// The timers that fire at `now`, as (deadline, key).
std::vector<std::pair<int64_t, TimerKey>> fired(Wheel& wheel, int64_t now) {
  std::vector<Due> due;
  wheel.advance(from_millis(now), due);
  std::vector<std::pair<int64_t, TimerKey>> result;
  for (const Due& timer : due) result.emplace_back(to_millis(timer.deadline), timer.key);
  return result;
}

TEST(Wheel, FiresAtTheDeadlineAndNotBefore) {
  const int64_t distances[] = {
      1,         2,         62,        63,     64,          65,        127,
      128,       255,       256,       257,    4095,        4096,      4097,
      65535,     65536,     65537,     262143, 262144,      262145,    16777215,
      16777216,  1 << 30,   1LL << 36, kYear,  100 * kYear, 1LL << 42, (1LL << 42) + 1,
      1LL << 48, 1LL << 60,
  };
  // The starts are at, just before and just after the boundaries of the wheel's levels.
  for (const int64_t start :
       {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{255}, int64_t{256},
        int64_t{65535}, int64_t{-1}, int64_t{-256}, kNow, kNow / 65536 * 65536 - 1}) {
    for (const int64_t distance : distances) {
      Wheel wheel;
      ASSERT_THAT(fired(wheel, start), IsEmpty());
      wheel.arm(from_millis(start + distance), 1);
      EXPECT_THAT(fired(wheel, start + distance - 1), IsEmpty()) << start << " + " << distance;
      EXPECT_THAT(fired(wheel, start + distance), ElementsAre(std::pair(start + distance, 1)));
      EXPECT_THAT(fired(wheel, start + distance), IsEmpty()) << "the timer fires once";
      EXPECT_EQ(wheel.size(), 0U);
    }
  }
}

TEST(Wheel, ReachesADeadlineInAFewWakeUps) {
  for (const int64_t distance : {int64_t{1}, int64_t{64}, int64_t{3'600'000}, kYear, 100 * kYear}) {
    Wheel wheel;
    fired(wheel, kNow);
    wheel.arm(from_millis(kNow + distance), 1);
    int steps = 0;
    for (std::optional<TimePoint> next = wheel.next(); next; next = wheel.next()) {
      ASSERT_LE(*next, from_millis(kNow + distance));
      ASSERT_LE(++steps, 8);
      fired(wheel, to_millis(*next));
    }
    EXPECT_EQ(wheel.size(), 0U) << distance;
  }
}

TEST(Wheel, AcceptsTheEarliestAndTheLatestPossibleDeadline) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  Wheel wheel;
  wheel.arm(from_millis(most), 2);
  wheel.arm(from_millis(least), 1);
  EXPECT_EQ(wheel.next(), from_millis(least));
  EXPECT_THAT(fired(wheel, kNow), ElementsAre(std::pair(least, 1)));
  EXPECT_THAT(fired(wheel, most - 1), IsEmpty());
  EXPECT_THAT(fired(wheel, most), ElementsAre(std::pair(most, 2)));
  EXPECT_EQ(wheel.next(), std::nullopt);
}

TEST(Wheel, FiresInTheOrderOfDeadlineThenKey) {
  constexpr TimerKey kHigh = UINT64_MAX;
  const std::vector<Due> sorted = {
      {from_millis(kNow - 5), 99},    {from_millis(kNow + 1), 7},    {from_millis(kNow + 7), 1},
      {from_millis(kNow + 7), 2},     {from_millis(kNow + 7), 1000}, {from_millis(kNow + 7), kHigh},
      {from_millis(kNow + 7), kHigh}, {from_millis(kNow + 5000), 0},
  };
  Wheel wheel;
  fired(wheel, kNow);
  for (const size_t i : {6, 0, 3, 7, 5, 2, 1, 4}) wheel.arm(sorted[i].deadline, sorted[i].key);
  std::vector<Due> due = {{from_millis(kNow + 9999), 1}};
  wheel.advance(from_millis(kNow + kYear), due);
  ASSERT_EQ(due.size(), sorted.size() + 1);
  EXPECT_EQ(due.front().key, 1) << "timers that are already in the list stay first";
  EXPECT_EQ(std::vector<Due>(due.begin() + 1, due.end()), sorted);
}

TEST(Wheel, FiresATimerWithAPassedDeadlineAtTheNextAdvance) {
  Wheel wheel;
  fired(wheel, kNow);
  wheel.arm(from_millis(kNow), 1);
  EXPECT_EQ(wheel.next(), from_millis(kNow));
  wheel.arm(from_millis(kNow - 1000), 2);
  EXPECT_EQ(wheel.next(), from_millis(kNow - 1000));
  EXPECT_THAT(fired(wheel, kNow), ElementsAre(std::pair(kNow - 1000, 2), std::pair(kNow, 1)));
}

TEST(Wheel, IgnoresAClockThatGoesBack) {
  Wheel wheel;
  fired(wheel, kNow);
  wheel.arm(from_millis(kNow + 100), 1);
  EXPECT_THAT(fired(wheel, kNow - kYear), IsEmpty());
  EXPECT_THAT(fired(wheel, kNow + 99), IsEmpty());
  EXPECT_THAT(fired(wheel, kNow - kYear), IsEmpty());
  EXPECT_THAT(fired(wheel, kNow + 100), ElementsAre(std::pair(kNow + 100, 1)));
}

TEST(Wheel, DoesNotFireACancelledTimer) {
  Wheel wheel;
  fired(wheel, kNow);
  const Wheel::Handle overdue = wheel.arm(from_millis(kNow), 0);
  const Wheel::Handle near = wheel.arm(from_millis(kNow + 10), 1);
  const Wheel::Handle far = wheel.arm(from_millis(kNow + kYear), 2);
  wheel.arm(from_millis(kNow + 10), 3);
  for (const Wheel::Handle handle : {near, overdue, far}) wheel.cancel(handle);
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_THAT(fired(wheel, kNow + 2 * kYear), ElementsAre(std::pair(kNow + 10, 3)));
  EXPECT_EQ(wheel.next(), std::nullopt);
}

TEST(Wheel, IgnoresACancelWithAStaleHandle) {
  Wheel wheel;
  wheel.cancel({});
  wheel.cancel({123'456'789, 1});
  const Wheel::Handle cancelled = wheel.arm(from_millis(kNow), 1);
  wheel.cancel(cancelled);
  wheel.cancel(cancelled);
  wheel.cancel({});
  const Wheel::Handle reused = wheel.arm(from_millis(kNow), 2);
  EXPECT_EQ(reused.index, cancelled.index);
  EXPECT_NE(reused, cancelled);
  wheel.cancel(cancelled);
  EXPECT_THAT(fired(wheel, kNow), ElementsAre(std::pair(kNow, 2)));
  const Wheel::Handle after_firing = wheel.arm(from_millis(kNow), 3);
  wheel.cancel(reused);
  EXPECT_EQ(wheel.size(), 1U);
  wheel.cancel(after_firing);
  EXPECT_EQ(wheel.size(), 0U);
}

/// The reference implementation: timers sorted by deadline.
class NaiveTimers {
 public:
  void arm(int64_t deadline, TimerKey key) { timers_.emplace(Due{from_millis(deadline), key}, 0); }

  /// Returns whether the timer was still armed.
  bool cancel(int64_t deadline, TimerKey key) {
    const auto found = timers_.find(Due{from_millis(deadline), key});
    if (found == timers_.end()) return false;
    timers_.erase(found);
    return true;
  }

  std::vector<Due> advance(int64_t now) {
    time_ = std::max(time_, now);
    std::vector<Due> due;
    while (!timers_.empty() && to_millis(timers_.begin()->first.deadline) <= time_) {
      due.push_back(timers_.begin()->first);
      timers_.erase(timers_.begin());
    }
    return due;
  }

  std::optional<TimePoint> earliest() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.deadline;
  }

  size_t size() const { return timers_.size(); }

 private:
  int64_t time_ = std::numeric_limits<int64_t>::min();
  std::multimap<Due, int> timers_;
};

struct Armed {
  int64_t deadline;
  TimerKey key;
  Wheel::Handle handle;
};

void compare_with_naive(uint64_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Wheel wheel;
  NaiveTimers naive;
  std::vector<Armed> armed;  // also has stale handles of fired and cancelled timers
  int64_t now = kNow;
  // A distance of random magnitude; 2^42 ms are 139 years.
  const auto distance = [&] { return static_cast<int64_t>(random() >> (22 + random() % 42)); };
  for (int step = 0; step < 30'000; ++step) {
    const uint64_t choice = random() % 100;
    if (choice < 50) {
      const int64_t deadline = now + (random() % 10 == 0 ? -distance() : distance());
      // The step makes keys unique, so that the reference cancels the same timer as the wheel.
      const TimerKey key = (random() % 3) << 32 | static_cast<uint32_t>(step);
      naive.arm(deadline, key);
      armed.push_back({deadline, key, wheel.arm(from_millis(deadline), key)});
    } else if (choice < 80 && !armed.empty()) {
      const size_t i = random() % armed.size();
      wheel.cancel(armed[i].handle);
      naive.cancel(armed[i].deadline, armed[i].key);
      if (random() % 4 != 0) {
        armed[i] = armed.back();
        armed.pop_back();
      }
    } else {
      const std::optional<TimePoint> next = wheel.next();
      switch (random() % 4) {
        case 0:
          if (next) now = std::max(now, to_millis(*next));
          break;
        case 1:
          now += distance() >> 22;
          break;
        case 2:
          now += static_cast<int64_t>(random() % 3) - 1;
          break;
        default:
          now += distance() >> (random() % 50 == 0 ? 4 : 14);
      }
      std::vector<Due> due;
      wheel.advance(from_millis(now), due);
      ASSERT_EQ(due, naive.advance(now)) << "step " << step;
    }
    ASSERT_EQ(wheel.size(), naive.size()) << "step " << step;
    ASSERT_EQ(wheel.next().has_value(), naive.earliest().has_value()) << "step " << step;
    if (wheel.next()) {
      ASSERT_LE(*wheel.next(), *naive.earliest()) << "step " << step;
    }
  }
  std::vector<Due> due;
  const int64_t end = std::numeric_limits<int64_t>::max();
  wheel.advance(from_millis(end), due);
  EXPECT_EQ(due, naive.advance(end));
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(Wheel, FiresLikeTheReferenceImplementation) {
  for (const uint64_t seed : {1, 2, 3, 4}) compare_with_naive(seed);
}

// Portions.

/// The timers that fire at `now` in portions of `most`.
std::vector<Due> fired_in_portions(Wheel& wheel, int64_t now, size_t most) {
  std::vector<Due> all;
  while (wheel.next() && *wheel.next() <= from_millis(now)) {
    const size_t before = all.size();
    const bool is_done = wheel.advance(from_millis(now), all, most);
    EXPECT_TRUE(!is_done || !wheel.next() || *wheel.next() > from_millis(now));
    EXPECT_LE(all.size() - before, most);
    EXPECT_TRUE(std::is_sorted(all.begin() + static_cast<std::ptrdiff_t>(before), all.end()));
  }
  return all;
}

TEST(Wheel, FiresInPortionsInTheOrderOfTheDeadlines) {
  std::mt19937_64 random(7);
  for (const size_t most : {1, 2, 7, 100, 10'000}) {
    SCOPED_TRACE(most);
    Wheel wheel;
    std::vector<Due> armed;
    fired(wheel, kNow);
    for (TimerKey key = 0; key < 3'000; ++key) {
      const auto distance = static_cast<int64_t>(random() >> (22 + random() % 42));
      armed.push_back({from_millis(kNow + 1 + distance), key});
      wheel.arm(armed.back().deadline, key);
    }
    std::vector<Due> due = fired_in_portions(wheel, kNow + 200 * kYear, most);
    EXPECT_TRUE(std::is_sorted(due.begin(), due.end(),
                               [](const Due& a, const Due& b) { return a.deadline < b.deadline; }));
    std::sort(armed.begin(), armed.end());
    std::sort(due.begin(), due.end());
    EXPECT_EQ(due, armed);
    EXPECT_EQ(wheel.size(), 0U);
  }
}

TEST(Wheel, ReturnsAPortionOfManyTimersWithOneDeadline) {
  constexpr size_t kMany = 50'000;
  for (const int64_t distance : {int64_t{0}, int64_t{1}, int64_t{300}, kYear}) {
    SCOPED_TRACE(distance);
    Wheel wheel;
    fired(wheel, kNow);
    for (TimerKey key = 0; key < kMany; ++key) wheel.arm(from_millis(kNow + distance), key);
    std::vector<Due> due;
    while (due.empty()) wheel.advance(from_millis(kNow + distance), due, 10);
    EXPECT_EQ(due.size(), 10U);
    EXPECT_EQ(wheel.size(), kMany - 10);
    EXPECT_LE(*wheel.next(), from_millis(kNow + distance));
    EXPECT_EQ(fired_in_portions(wheel, kNow + distance, 1'000).size(), kMany - 10);
    EXPECT_EQ(wheel.next(), std::nullopt);
  }
}

TEST(Wheel, FiresATimerThatIsArmedBetweenTwoPortionsAtItsDeadline) {
  Wheel wheel;
  fired(wheel, kNow);
  for (TimerKey key = 0; key < 4; ++key) wheel.arm(from_millis(kNow + 5), key);
  wheel.arm(from_millis(kNow + 9), 9);
  std::vector<Due> due;
  wheel.advance(from_millis(kNow + 10), due, 2);
  ASSERT_EQ(due.size(), 2U);
  wheel.arm(from_millis(kNow + 7), 7);
  wheel.arm(from_millis(kNow + 3), 3);
  wheel.arm(from_millis(kNow + 11), 11);
  std::vector<int64_t> after;
  for (const Due& timer : fired_in_portions(wheel, kNow + 10, 1)) {
    after.push_back(to_millis(timer.deadline) - kNow);
  }
  EXPECT_THAT(after, ElementsAre(3, 5, 5, 7, 9));
  EXPECT_THAT(fired(wheel, kNow + 11), ElementsAre(std::pair(kNow + 11, 11)));
}

TEST(Wheel, LetsNoTimerWaitForEverWhileOthersAreArmedForNow) {
  Wheel wheel;
  fired(wheel, kNow);
  wheel.arm(from_millis(kNow), 1);
  wheel.arm(from_millis(kNow + 1), 2);
  std::vector<TimerKey> fired_keys;
  for (int64_t now = kNow; now < kNow + 8; ++now) {
    for (TimerKey key = 10; key < 13; ++key) wheel.arm(from_millis(now), key);
    std::vector<Due> due;
    wheel.advance(from_millis(now), due, 3);
    for (const Due& timer : due) fired_keys.push_back(timer.key);
  }
  EXPECT_THAT(fired_keys, testing::IsSupersetOf({TimerKey{1}, TimerKey{2}}));
}

TEST(Wheel, FiresEachTimerOnceInPortionsBetweenWhichTimersAreArmedAndCancelled) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Wheel wheel;
    NaiveTimers naive;
    std::vector<Armed> armed;
    int64_t now = kNow;
    for (int step = 0; step < 20'000; ++step) {
      const uint64_t choice = random() % 100;
      if (choice < 55) {
        const auto distance = static_cast<int64_t>(random() >> (34 + random() % 30));
        const int64_t deadline = now + (random() % 10 == 0 ? -distance : distance);
        const auto key = static_cast<TimerKey>(step);
        naive.arm(deadline, key);
        armed.push_back({deadline, key, wheel.arm(from_millis(deadline), key)});
      } else if (choice < 75 && !armed.empty()) {
        const size_t i = random() % armed.size();
        wheel.cancel(armed[i].handle);
        naive.cancel(armed[i].deadline, armed[i].key);
      } else {
        if (random() % 3 == 0) now += static_cast<int64_t>(random() >> (44 + random() % 20));
        std::vector<Due> due;
        wheel.advance(from_millis(now), due, 1 + random() % 20);
        for (const Due& timer : due) {
          ASSERT_LE(timer.deadline, from_millis(now)) << "step " << step;
          ASSERT_TRUE(naive.cancel(to_millis(timer.deadline), timer.key)) << "step " << step;
        }
      }
      ASSERT_EQ(wheel.size(), naive.size()) << "step " << step;
      ASSERT_EQ(wheel.next().has_value(), naive.earliest().has_value()) << "step " << step;
      if (wheel.next()) {
        ASSERT_LE(*wheel.next(), *naive.earliest()) << "step " << step;
      }
    }
    std::vector<Due> left = fired_in_portions(wheel, now, 50);
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, naive.advance(now));
  }
}

}  // namespace
}  // namespace millrace
