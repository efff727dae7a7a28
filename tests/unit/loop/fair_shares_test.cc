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
