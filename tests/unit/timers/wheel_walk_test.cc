// The walk through the timers of a wheel: complete up to its time, also while the wheel changes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/timers/wheel.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr int64_t kNoon = 1'717'000'000'123;
constexpr int64_t kDay = int64_t{24} * 3600 * 1000;

void advance(Wheel& wheel, int64_t now, size_t most = Wheel::kAll) {
  std::vector<Due> fired;
  wheel.advance(from_millis(now), fired, most);
}

/// The keys of the timers that `steps` steps of the walk pass.
std::vector<TimerKey> walked(const Wheel& wheel, Wheel::Walk& walk, size_t steps) {
  std::vector<Due> seen;
  EXPECT_LE(wheel.walk(walk, steps, seen), steps);
  std::vector<TimerKey> keys;
  for (const Due& timer : seen) keys.push_back(timer.key);
  return keys;
}

TEST(WheelWalk, EndsAtOnceInAWheelWithoutTimers) {
  Wheel wheel;
  Wheel::Walk walk;
  EXPECT_THAT(walked(wheel, walk, 10), IsEmpty());
  EXPECT_TRUE(walk.has_ended());
}

TEST(WheelWalk, ShowsEveryLevelSoonestFirst) {
  // The distances are at different levels of the wheel; timers of one level are in different lists.
  const int64_t distances[] = {1,       20,         400,       900,        70'000,
                               500'000, 20'000'000, 40 * kDay, 9000 * kDay};
  Wheel wheel;
  advance(wheel, kNoon);
  std::vector<TimerKey> expected;
  for (const int64_t distance : distances) {
    wheel.arm(from_millis(kNoon + distance), static_cast<TimerKey>(distance));
    expected.push_back(static_cast<TimerKey>(distance));
  }
  wheel.arm(from_millis(kNoon - 5), 0);
  expected.insert(expected.begin(), 0);

  for (const size_t steps : {size_t{1}, size_t{3}, size_t{100}}) {
    SCOPED_TRACE(steps);
    Wheel::Walk walk;
    std::vector<TimerKey> found;
    while (!walk.has_ended()) {
      ASSERT_LE(found.size(), expected.size());
      for (const TimerKey key : walked(wheel, walk, steps)) found.push_back(key);
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(WheelWalk, HasSeenAllTimersUpToTheListThatItHasNotFinished) {
  Wheel wheel;
  advance(wheel, kNoon);
  wheel.arm(from_millis(kNoon + 2), 1);
  for (TimerKey key = 10; key < 14; ++key) wheel.arm(from_millis(kNoon + kDay), key);
  Wheel::Walk walk;
  EXPECT_LE(walk.seen_until(), from_millis(kNoon));
  EXPECT_THAT(walked(wheel, walk, 1), ElementsAre(1U));
  const TimePoint list = walk.seen_until();
  EXPECT_GT(list, from_millis(kNoon + 2));
  EXPECT_LE(list, from_millis(kNoon + kDay));
  EXPECT_THAT(walked(wheel, walk, 3), testing::SizeIs(3));
  EXPECT_EQ(walk.seen_until(), list);
  EXPECT_FALSE(walk.has_ended());
  EXPECT_THAT(walked(wheel, walk, 100), testing::SizeIs(1));
  EXPECT_TRUE(walk.has_ended());
}

TEST(WheelWalk, ShowsAListWhoseTimersAreMovedToLowerLevels) {
  Wheel wheel;
  advance(wheel, kNoon);
  // All are in one list, whose first digit the time reaches long before the timers are due.
  const int64_t start = (kNoon / 65'536 + 2) * 65'536;
  constexpr TimerKey kTimers = 40;
  for (TimerKey key = 0; key < kTimers; ++key) {
    wheel.arm(from_millis(start + 30'000 + static_cast<int64_t>(key)), key);
  }
  Wheel::Walk walk;
  std::set<TimerKey> found;
  const auto add = [&](size_t steps) {
    for (const TimerKey key : walked(wheel, walk, steps)) found.insert(key);
  };
  add(5);
  advance(wheel, start, 2);  // moves some of the timers
  add(5);
  advance(wheel, start, 2);
  add(kTimers * 8);
  EXPECT_TRUE(walk.has_ended());
  EXPECT_EQ(found.size(), kTimers);
}

TEST(WheelWalk, ShowsATimerThatIsArmedAgainInTheListThatIsShown) {
  Wheel wheel;
  advance(wheel, kNoon);
  const TimePoint late = from_millis(kNoon + kDay);
  const Wheel::Handle first = wheel.arm(late, 1);
  for (TimerKey key = 2; key < 6; ++key) wheel.arm(late, key);
  Wheel::Walk walk;
  EXPECT_THAT(walked(wheel, walk, 2), ElementsAre(5U, 4U));
  wheel.cancel(first);
  wheel.arm(late, 1);
  EXPECT_THAT(walked(wheel, walk, 100), UnorderedElementsAre(3U, 2U, 1U));
  EXPECT_TRUE(walk.has_ended());
}

TEST(WheelWalk, ContinuesWhenTheTimerThatIsNextIsCancelled) {
  Wheel wheel;
  advance(wheel, kNoon);
  const TimePoint late = from_millis(kNoon + kDay);
  std::map<TimerKey, Wheel::Handle> armed;
  for (TimerKey key = 1; key < 6; ++key) armed[key] = wheel.arm(late, key);
  Wheel::Walk walk;
  EXPECT_THAT(walked(wheel, walk, 2), ElementsAre(5U, 4U));
  wheel.cancel(armed[3]);
  const std::vector<TimerKey> rest = walked(wheel, walk, 100);
  EXPECT_THAT(rest, testing::IsSupersetOf({TimerKey{2}, TimerKey{1}}));
  EXPECT_THAT(rest, testing::Not(testing::Contains(TimerKey{3})));
  EXPECT_TRUE(walk.has_ended());
}

TEST(WheelWalk, EndsInAWheelThatWasMadeAgain) {
  Wheel wheel;
  advance(wheel, kNoon);
  wheel.arm(from_millis(kNoon + 10), 1);
  wheel.arm(from_millis(kNoon + 10), 2);
  Wheel::Walk walk;
  EXPECT_THAT(walked(wheel, walk, 1), ElementsAre(2U));
  wheel = Wheel();
  EXPECT_THAT(walked(wheel, walk, 10), IsEmpty());
  EXPECT_TRUE(walk.has_ended());
}

/// Timers by key: the deadline, and whether it is armed since the walk began.
struct KnownTimer {
  int64_t deadline = 0;
  Wheel::Handle handle;
  bool is_old = false;
};

TEST(WheelWalk, ShowsEachTimerThatStaysArmedWhileOthersChange) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Wheel wheel;
    int64_t now = kNoon;
    advance(wheel, now);
    std::map<TimerKey, KnownTimer> known;
    TimerKey last_key = 0;
    const auto arm = [&](TimerKey key, int64_t deadline, bool is_old) {
      known[key] = {deadline, wheel.arm(from_millis(deadline), key), is_old};
    };
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 40; ++i) {
        arm(++last_key, now + static_cast<int64_t>(random() >> (34 + random() % 30)), false);
      }
      for (auto& [key, timer] : known) timer.is_old = true;
      Wheel::Walk walk;
      std::set<TimerKey> found;
      while (!walk.has_ended()) {
        std::vector<Due> seen;
        wheel.walk(walk, 1 + random() % 30, seen);
        for (const Due& timer : seen) found.insert(timer.key);
        for (const auto& [key, timer] : known) {
          const bool must_be_found =
              timer.is_old && (walk.has_ended() || from_millis(timer.deadline) < walk.seen_until());
          ASSERT_TRUE(!must_be_found || found.contains(key)) << "timer " << key;
        }
        // Some timers are armed again for the same time, some are cancelled, some are new.
        for (int i = 0; i < 3 && !known.empty(); ++i) {
          const auto one =
              std::next(known.begin(), static_cast<ptrdiff_t>(random() % known.size()));
          wheel.cancel(one->second.handle);
          if (random() % 3 == 0) {
            known.erase(one);
          } else {
            const KnownTimer timer = one->second;
            arm(one->first, timer.deadline, timer.is_old && timer.deadline > now);
          }
        }
        arm(++last_key, now + static_cast<int64_t>(random() >> (34 + random() % 30)), false);
        if (random() % 3 == 0) now += static_cast<int64_t>(random() >> (44 + random() % 20));
        std::vector<Due> due;
        wheel.advance(from_millis(now), due, 1 + random() % 6);
        for (const Due& timer : due) known.erase(timer.key);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
