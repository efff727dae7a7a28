// FairShares: the order in which the lanes take turns.
#include "orchestrator/loop/fair_shares.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using Time = FairShares::Time;

WorkLane lane(uint32_t ns, uint32_t workflow) {
  return {NamespaceNumber(ns), WorkflowNumber(workflow)};
}

/// Lanes that always have work, whose units cost what `costs` says. Time passes only by work.
class FairSharesTest : public testing::Test {
 protected:
  struct Cost {
    Time time{};
    size_t bytes = 0;
  };

  void add(const WorkLane& one, Cost cost) {
    costs_[one] = cost;
    shares.add(one, now);
  }
  /// Runs units until `until`; a moment without a lane that may work passes as a millisecond.
  void run_until(Time until) {
    while (now < until) {
      const auto next = shares.next(now);
      if (!next) {
        now += milliseconds(1);
        continue;
      }
      const Cost& cost = costs_[*next];
      now += cost.time;
      used[*next] += cost.time;
      written[*next] += cost.bytes;
      ++units[*next];
      shares.charge(*next, cost.time, cost.bytes, now);
    }
  }

  /// How many units of others run before the first one of the lane, whose work comes now.
  size_t units_before(const WorkLane& one) {
    shares.add(one, now);
    for (size_t others = 0; others < 1'000; ++others) {
      const WorkLane next = shares.next(now).value_or(one);
      if (next == one) return others;
      const Cost& cost = costs_[next];
      now += cost.time;
      shares.charge(next, cost.time, cost.bytes, now);
    }
    return 1'000;
  }

  FairShares shares;
  Time now = std::chrono::hours(1);
  std::map<WorkLane, Time> used;
  std::map<WorkLane, size_t> written;
  std::map<WorkLane, size_t> units;

 private:
  std::map<WorkLane, Cost> costs_;
};

TEST_F(FairSharesTest, HasNoNextLaneWithoutWork) {
  EXPECT_EQ(shares.next(now), std::nullopt);
  shares.add(lane(1, 1), now);
  EXPECT_EQ(shares.next(now), lane(1, 1));
  shares.remove(lane(1, 1), now);
  EXPECT_EQ(shares.next(now), std::nullopt);
  shares.remove(lane(1, 1), now);
  shares.remove(lane(9, 9), now);
}

TEST_F(FairSharesTest, KeepsToALaneUntilItsQuantumIsUsed) {
  shares.add(lane(1, 1), now);
  shares.add(lane(2, 1), now);
  std::vector<uint32_t> order;
  for (int i = 0; i < 6; ++i) {
    const WorkLane next = shares.next(now).value_or(WorkLane());
    order.push_back(static_cast<uint32_t>(next.ns));
    shares.charge(next, std::chrono::microseconds(500), 0, now);
  }
  EXPECT_THAT(order, ElementsAre(1, 1, 2, 2, 1, 1));
}

TEST_F(FairSharesTest, GivesNamespacesTheSameTimeForUnitsOfEveryLength) {
  add(lane(1, 1), {milliseconds(2)});
  add(lane(2, 1), {std::chrono::microseconds(20)});
  add(lane(3, 1), {std::chrono::microseconds(300)});
  run_until(now + milliseconds(3'000));
  for (const auto& [one, time] : used) {
    EXPECT_NEAR(static_cast<double>(time.count()), 1e9, 5e6) << static_cast<uint32_t>(one.ns);
  }
}

TEST_F(FairSharesTest, GivesANamespaceWithManyWorkflowsNoMoreThanOneWithASingleOne) {
  for (uint32_t workflow = 1; workflow <= 50; ++workflow) {
    add(lane(1, workflow), {milliseconds(1)});
  }
  add(lane(2, 1), {milliseconds(1)});
  run_until(now + milliseconds(1'000));
  EXPECT_NEAR(static_cast<double>(used[lane(2, 1)].count()), 5e8, 3e6);
  EXPECT_NEAR(static_cast<double>(used[lane(1, 1)].count()), 1e7, 2e6);
  EXPECT_NEAR(static_cast<double>(used[lane(1, 50)].count()), 1e7, 2e6);
}

TEST_F(FairSharesTest, LetsNoLaneWaitForARoundIfItHasUsedLittle) {
  for (uint32_t ns = 1; ns <= 200; ++ns) {
    for (uint32_t workflow = 1; workflow <= 5; ++workflow) {
      add(lane(ns, workflow), {milliseconds(2)});
    }
  }
  run_until(now + milliseconds(10'000));
  EXPECT_EQ(units_before(lane(201, 1)), 0U) << "it waits for the unit under way at most";
}

TEST_F(FairSharesTest, LetsNoWorkflowOfANamespaceWaitForItsOthersIfItHasUsedLittle) {
  for (uint32_t workflow = 1; workflow <= 100; ++workflow) {
    add(lane(1, workflow), {milliseconds(1)});
  }
  add(lane(2, 1), {milliseconds(1)});
  run_until(now + milliseconds(1'000));
  EXPECT_LE(units_before(lane(1, 101)), 1U)
      << "the namespace waits for its turn, and the workflow has the first unit of this turn";
}

TEST_F(FairSharesTest, GivesALaneThatHasUsedLittleOneQuantumBeforeTheOthers) {
  add(lane(1, 1), {milliseconds(1)});
  add(lane(2, 1), {milliseconds(1)});
  run_until(now + milliseconds(100));
  add(lane(3, 1), {std::chrono::microseconds(250)});
  const size_t before = units[lane(1, 1)] + units[lane(2, 1)];
  run_until(now + milliseconds(1));
  EXPECT_EQ(units[lane(3, 1)], 4U);
  EXPECT_EQ(units[lane(1, 1)] + units[lane(2, 1)], before);
  run_until(now + milliseconds(30));
  EXPECT_NEAR(static_cast<double>(units[lane(3, 1)]), 44, 4) << "then it has its share";
}

TEST_F(FairSharesTest, HoldsUpNoLaneByOthersThatComeAgainAfterEachOfTheirUnits) {
  for (const uint32_t others : {1U, 10U, 40U}) {
    for (const int64_t unit : {50, 500, 2'000}) {
      FairShares turns;
      Time busy{0};
      for (uint32_t ns = 1; ns <= others + 1; ++ns) turns.add(lane(ns, 1), now);
      for (const Time end = now + milliseconds(2'000); now < end;) {
        const WorkLane next = turns.next(now).value_or(WorkLane());
        const bool is_busy = next == lane(1, 1);
        const Time cost = is_busy ? Time(milliseconds(1)) : Time(std::chrono::microseconds(unit));
        now += cost;
        turns.charge(next, cost, 0, now);
        if (is_busy) {
          busy += cost;
        } else {
          turns.remove(next, now);
          turns.add(next, now);
        }
      }
      const double shares_of_busy = static_cast<double>(busy.count()) / 2e9 * (others + 1);
      EXPECT_GT(shares_of_busy, 0.8) << others << " others with units of " << unit << " us";
    }
  }
}

TEST_F(FairSharesTest, PutsALaneThatComesTooOftenBehindTheOthers) {
  for (uint32_t ns = 1; ns <= 10; ++ns) add(lane(ns, 1), {milliseconds(1)});
  run_until(now + milliseconds(200));
  constexpr auto kUnit = std::chrono::microseconds(600);
  std::vector<size_t> before;
  for (int i = 0; i < 8; ++i) {
    before.push_back(units_before(lane(11, 1)));
    now += kUnit;
    shares.charge(lane(11, 1), kUnit, 0, now);
    shares.remove(lane(11, 1), now);
    run_until(now + milliseconds(5));
  }
  EXPECT_EQ(before.front(), 0U);
  EXPECT_THAT(before, testing::Contains(testing::Gt(1U)));
  run_until(now + milliseconds(1'000));
  EXPECT_EQ(units_before(lane(11, 1)), 0U);
}

TEST_F(FairSharesTest, RemembersWhatALaneOwesWhileItHasNoWork) {
  shares.add(lane(1, 1), now);
  shares.add(lane(2, 1), now);
  ASSERT_EQ(shares.next(now), lane(1, 1));
  now += milliseconds(20);
  shares.charge(lane(1, 1), milliseconds(20), 0, now);
  shares.remove(lane(1, 1), now);
  shares.add(lane(1, 1), now);
  for (int i = 0; i < 18; ++i) {
    ASSERT_EQ(shares.next(now), lane(2, 1)) << i;
    shares.charge(lane(2, 1), milliseconds(1), 0, now);
  }
}

TEST_F(FairSharesTest, ForgivesWhatALaneOwesAfterAsMuchTimeWithoutWork) {
  shares.add(lane(1, 1), now);
  now += milliseconds(20);
  shares.charge(lane(1, 1), milliseconds(20), 0, now);
  shares.remove(lane(1, 1), now);
  now += milliseconds(20);
  shares.add(lane(2, 1), now);
  shares.add(lane(1, 1), now);
  ASSERT_EQ(shares.next(now), lane(2, 1));
  shares.charge(lane(2, 1), milliseconds(1), 0, now);
  EXPECT_EQ(shares.next(now), lane(1, 1));
}

TEST_F(FairSharesTest, KeepsWhatASuspendedLaneOwes) {
  shares.add(lane(1, 1), now);
  shares.charge(lane(1, 1), milliseconds(20), 0, now);
  shares.suspend(lane(1, 1), now);
  EXPECT_EQ(shares.next(now), std::nullopt);
  shares.add(lane(2, 1), now);
  now += milliseconds(20);
  shares.add(lane(1, 1), now);
  for (int i = 0; i < 18; ++i) {
    ASSERT_EQ(shares.next(now), lane(2, 1)) << i;
    shares.charge(lane(2, 1), milliseconds(1), 0, now);
  }
  shares.suspend(lane(9, 9), now);
}

TEST_F(FairSharesTest, LetsLanesThatWriteMuchWaitForTheRate) {
  shares.set_rate(size_t{10} << 20);
  add(lane(1, 1), {milliseconds(1), size_t{1} << 20});
  const Time began = now;
  run_until(now + milliseconds(1'000));
  EXPECT_NEAR(static_cast<double>(written[lane(1, 1)]), 11.0 * (1 << 20), 1.1 * (1 << 20));
  EXPECT_LE(shares.next_at(), began + milliseconds(1'300));
}

TEST_F(FairSharesTest, SharesTheRateByBytes) {
  shares.set_rate(size_t{20} << 20);
  add(lane(1, 1), {milliseconds(1), size_t{1} << 20});
  add(lane(2, 1), {milliseconds(1), size_t{64} << 10});
  run_until(now + milliseconds(4'000));
  const double ratio =
      static_cast<double>(written[lane(1, 1)]) / static_cast<double>(written[lane(2, 1)]);
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 2.5);
}

TEST_F(FairSharesTest, LetsALaneThatWritesLittleGoOnWhileTheRateIsExceeded) {
  shares.set_rate(size_t{10} << 20);
  add(lane(1, 1), {milliseconds(1), size_t{4} << 20});
  add(lane(2, 1), {milliseconds(1), 1'000});
  run_until(now + milliseconds(1'000));
  EXPECT_GT(units[lane(2, 1)], 900U);
  EXPECT_GE(units[lane(1, 1)], 2U);
}

TEST_F(FairSharesTest, GivesLanesThatWriteMuchTheirRateHoweverMuchTheOthersWriteTogether) {
  shares.set_rate(size_t{10} << 20);
  add(lane(1, 1), {milliseconds(1), size_t{64} << 10});
  for (uint32_t ns = 2; ns <= 5; ++ns) add(lane(ns, 1), {std::chrono::microseconds(100), 10'000});
  run_until(now + milliseconds(2'000));
  EXPECT_GT(written[lane(2, 1)] + written[lane(3, 1)], size_t{30} << 20);
  EXPECT_GT(written[lane(1, 1)], size_t{17} << 20);
  EXPECT_LT(written[lane(1, 1)], size_t{23} << 20);
}

TEST_F(FairSharesTest, CountsALaneThatWritesMuchInSomeUnitsOnly) {
  shares.set_rate(size_t{10} << 20);
  shares.add(lane(1, 1), now);
  const Time end = now + milliseconds(1'000);
  size_t all = 0;
  for (size_t unit = 0; now < end; now += milliseconds(1)) {
    if (!shares.next(now)) continue;
    const size_t bytes = ++unit % 4 == 1 ? size_t{512} << 10 : 0;
    all += bytes;
    shares.charge(lane(1, 1), milliseconds(1), bytes, now);
  }
  EXPECT_LT(all, size_t{13} << 20);
  EXPECT_GT(all, size_t{9} << 20);
}

TEST_F(FairSharesTest, SeesThatALaneOfANamespaceNoLongerWaitsForTheRate) {
  shares.set_rate(size_t{10} << 20);
  shares.add(lane(1, 1), now);
  for (int i = 0; i < 4; ++i) shares.charge(lane(1, 1), milliseconds(1), size_t{1} << 20, now);
  EXPECT_EQ(shares.next(now), std::nullopt);
  EXPECT_EQ(shares.next(now), std::nullopt);
  shares.add(lane(1, 2), now);
  EXPECT_EQ(shares.next(now), lane(1, 2)) << "another workflow of the namespace";
  shares.remove(lane(1, 2), now);
  EXPECT_EQ(shares.next(now), std::nullopt);
  EXPECT_EQ(shares.next(shares.next_at()), lane(1, 1));
}

TEST_F(FairSharesTest, LetsHeavyLanesWriteLittleWhileTheirRateIsLower) {
  constexpr size_t kUnit = size_t{256} << 10;
  shares.add(lane(1, 1), now);
  for (int i = 0; i < 2; ++i) shares.charge(lane(1, 1), milliseconds(1), kUnit, now);
  EXPECT_EQ(shares.next(now), lane(1, 1)) << "without a rate, bytes cost nothing";
  shares.set_heavy_rate(kUnit);
  for (int i = 0; i < 2; ++i) shares.charge(lane(1, 1), milliseconds(1), kUnit, now);
  EXPECT_EQ(shares.next(now), std::nullopt);
  EXPECT_EQ(shares.next_at(), now + milliseconds(1'000)) << "one unit a second";
  shares.add(lane(1, 2), now);
  EXPECT_EQ(shares.next(now), lane(1, 2)) << "a lane that writes little";
  shares.remove(lane(1, 2), now);

  for (int i = 0; i < 100; ++i) shares.charge(lane(1, 1), milliseconds(1), kUnit, now);
  shares.set_heavy_rate(0);
  now += milliseconds(10'000);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(shares.next(now), lane(1, 1)) << "what was written before is paid after 10 s";
    shares.charge(lane(1, 1), milliseconds(1), kUnit, now);
  }
}

TEST_F(FairSharesTest, LetsOneUnitGoOnAfterTheLongestWait) {
  shares.set_rate(size_t{10} << 20);
  shares.add(lane(1, 1), now);
  for (const size_t bytes : {size_t{1} << 30, size_t{64} << 10}) {
    ASSERT_EQ(shares.next(now), lane(1, 1));
    shares.charge(lane(1, 1), milliseconds(1), bytes, now);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(shares.next(now), std::nullopt);
    EXPECT_EQ(shares.next_at(), now + milliseconds(1'000));
    now = shares.next_at();
    ASSERT_EQ(shares.next(now), lane(1, 1));
    shares.charge(lane(1, 1), milliseconds(1), size_t{64} << 10, now);
  }
}

}  // namespace
}  // namespace millrace
