// LongestUnits: a unit is part of the result for a minute after its end.
#include "orchestrator/loop/longest_units.h"

#include <chrono>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnyTime = 12h;

TEST(LongestUnits, AreNoneWithoutUnits) {
  const LongestUnits units;
  EXPECT_EQ(units.longest(kAnyTime).time, 0ns);
  EXPECT_EQ(units.of_kind(kAnyTime, UnitKind::kEvent), 0ns);
}

TEST(LongestUnits, KeepTheLongestUnitOfEachKind) {
  LongestUnits units;
  units.add(kAnyTime, {.time = 300us, .kind = UnitKind::kEvent});
  units.add(kAnyTime + 1s, {.time = 200us, .kind = UnitKind::kEvent});
  units.add(kAnyTime + 20s, {.time = 2ms, .kind = UnitKind::kPurge});
  const Duration now = kAnyTime + 30s;
  EXPECT_EQ(units.of_kind(now, UnitKind::kEvent), 300us);
  EXPECT_EQ(units.of_kind(now, UnitKind::kPurge), 2ms);
  EXPECT_EQ(units.of_kind(now, UnitKind::kTimer), 0ns);
  EXPECT_EQ(units.longest(now).time, 2ms);
  EXPECT_EQ(units.longest(now).kind, UnitKind::kPurge);
}

TEST(LongestUnits, ForgetAUnitBetweenOneMinuteAndFiveSecondsMoreAfterItsEnd) {
  LongestUnits units;
  units.add(kAnyTime + 4'999ms, {.time = 7ms, .kind = UnitKind::kCommand});
  units.add(kAnyTime + 40s, {.time = 1ms, .kind = UnitKind::kEvent});
  EXPECT_EQ(units.longest(kAnyTime + 64'999ms).time, 7ms) << "a minute after the end";
  EXPECT_EQ(units.longest(kAnyTime + 65s).time, 1ms);
  EXPECT_EQ(units.longest(kAnyTime + 10min).time, 0ns);
}

TEST(LongestUnits, UseTheirSlotsAgain) {
  LongestUnits units;
  units.add(kAnyTime, {.time = 7ms, .kind = UnitKind::kCommand});
  for (int i = 1; i <= 100; ++i) {
    units.add(kAnyTime + i * 5s, {.time = std::chrono::microseconds(i), .kind = UnitKind::kTimer});
  }
  const LongestUnit longest = units.longest(kAnyTime + 500s);
  EXPECT_EQ(longest.time, 100us);
  EXPECT_EQ(longest.kind, UnitKind::kTimer);
}

}  // namespace
}  // namespace millrace
