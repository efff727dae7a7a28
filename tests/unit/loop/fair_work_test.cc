// FairWork: the order of the items of one lane, and which lanes take part.
#include "orchestrator/loop/fair_work.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Added = FairWork::Added;
using Item = FairWork::Item;
using Kind = FairWork::Kind;

constexpr WorkLane kOne{NamespaceNumber(1), WorkflowNumber(1)};
constexpr WorkLane kOther{NamespaceNumber(2), WorkflowNumber(1)};

class FairWorkTest : public testing::Test {
 protected:
  FairWorkTest() { meter.begin_turn(); }

  static std::string shown(const WorkLane& lane, const Item& item) {
    constexpr const char* kKinds[] = {"unfinished", "continue", "evaluated", "task", "command"};
    return fmt::format("{}: {} {}", static_cast<uint32_t>(lane.ns),
                       kKinds[static_cast<size_t>(item.kind)], item.index);
  }
  /// Applies items; the first `unfinished` units of unfinished work do not end it.
  std::vector<std::string> run(FairWork& work, Added added, int unfinished = 0, double share = 1) {
    std::vector<std::string> applied;
    const auto ends = [&](const UnitCost&) { return meter.is_turn_spent(share); };
    const Status done =
        work.run(added, ends, [&](const WorkLane& lane, const Item& item) -> Result<bool> {
          applied.push_back(shown(lane, item));
          return item.kind != Kind::kUnfinished || unfinished-- <= 0;
        });
    EXPECT_TRUE(done);
    return applied;
  }

  VirtualClock clock;
  UnitMeter meter{clock};
  FairShares shares;
};

TEST_F(FairWorkTest, AppliesTheItemsOfALaneInTheOrderInWhichTheyCame) {
  FairWork work(shares, meter, 5);
  work.add(kOne, {.kind = Kind::kUnfinished, .since = 4});
  work.add(kOne, {.kind = Kind::kContinue, .index = 0, .since = 3});
  work.add(kOne, {.kind = Kind::kContinue, .index = 1, .since = 5});
  work.add(kOne, {.kind = Kind::kEvaluated, .index = 0, .since = 4});
  work.add(kOne, {.kind = Kind::kEvaluated, .index = 1, .since = 4});
  work.add(kOne, {.kind = Kind::kTask, .index = 0, .since = 5});
  EXPECT_THAT(run(work, Added::kAll),
              ElementsAre("1: continue 0", "1: unfinished 0", "1: evaluated 0", "1: evaluated 1",
                          "1: continue 1", "1: task 0"));
  EXPECT_TRUE(work.empty());
}

TEST_F(FairWorkTest, PutsUnfinishedWorkBehindTheOtherItemsOfItsLane) {
  FairWork work(shares, meter, 5);
  work.add(kOne, {.kind = Kind::kUnfinished, .since = 4});
  work.add(kOne, {.kind = Kind::kContinue, .index = 0, .since = 5});
  EXPECT_THAT(run(work, Added::kAll, 2), ElementsAre("1: unfinished 0", "1: continue 0",
                                                     "1: unfinished 0", "1: unfinished 0"));
}

TEST_F(FairWorkTest, LeavesTheItemsThatDoNotFitIntoTheTurn) {
  clock.let_looks_take(milliseconds(3));
  FairWork work(shares, meter, 1);
  for (size_t i = 0; i < 4; ++i) work.add(kOne, {.kind = Kind::kContinue, .index = i, .since = 1});
  EXPECT_THAT(run(work, Added::kSome, 0, 0.1), ElementsAre("1: continue 0")) << "at least one";
  EXPECT_THAT(run(work, Added::kAll), ElementsAre("1: continue 1"));
  EXPECT_TRUE(work.has(kOne));
  EXPECT_FALSE(work.has(kOther));
  std::vector<size_t> left;
  work.each_left([&](const Item& item) { left.push_back(item.index); });
  EXPECT_THAT(left, ElementsAre(2U, 3U));
}

TEST_F(FairWorkTest, ChargesALaneAlsoForWhatTheEndOfTheBatchWillWriteForIt) {
  meter.add_change();
  clock.advance(Duration(1));
  meter.end_turn();  // a fifth of a millisecond for each change
  meter.begin_turn();
  FairWork work(shares, meter, 1);
  for (size_t i = 0; i < 3; ++i) work.add(kOne, {.kind = Kind::kContinue, .index = i, .since = 1});
  work.add(kOther, {.kind = Kind::kContinue, .since = 1});
  std::vector<std::string> applied;
  const auto never = [](const UnitCost&) { return false; };
  ASSERT_TRUE(
      work.run(Added::kAll, never, [&](const WorkLane& lane, const Item& item) -> Result<bool> {
        applied.push_back(shown(lane, item));
        for (int i = 0; lane == kOne && i < 5; ++i) meter.add_change();
        return true;
      }));
  EXPECT_THAT(applied,
              ElementsAre("1: continue 0", "2: continue 0", "1: continue 1", "1: continue 2"));
}

TEST_F(FairWorkTest, LetsALaneOweWhatItOwesUntilItsItemsAreAdded) {
  shares.add(kOne, meter.now());
  shares.charge(kOne, milliseconds(3), 0, meter.now());
  FairWork work(shares, meter, 1);
  work.add(kOther, {.kind = Kind::kContinue, .since = 1});
  EXPECT_THAT(run(work, Added::kSome), ElementsAre("2: continue 0"));
  clock.advance(Duration(5));  // other work of the turn
  meter.end();
  work.add(kOne, {.kind = Kind::kEvaluated, .since = 1});
  work.add(kOther, {.kind = Kind::kEvaluated, .since = 1});
  EXPECT_THAT(run(work, Added::kAll, 0, 2), ElementsAre("2: evaluated 0", "1: evaluated 0"));
}

TEST_F(FairWorkTest, AppliesOnlyItemsOfNamespacesThatHaveUsedLittleIfItShould) {
  shares.add(kOne, meter.now());
  ASSERT_EQ(shares.next(meter.now()), kOne);
  shares.charge(kOne, milliseconds(10), 0, meter.now());
  shares.remove(kOne, meter.now());
  FairWork work(shares, meter, 1);
  work.add(kOne, {.kind = Kind::kContinue, .since = 1});
  for (size_t i = 0; i < 2; ++i) {
    work.add(kOther, {.kind = Kind::kContinue, .index = i, .since = 1});
  }
  std::vector<std::string> applied;
  const auto never = [](const UnitCost&) { return false; };
  const auto apply = [&](const WorkLane& lane, const Item& item) -> Result<bool> {
    applied.push_back(shown(lane, item));
    return true;
  };
  ASSERT_TRUE(work.run(Added::kAll, never, apply, FairWork::Lanes::kSparse));
  EXPECT_THAT(applied, ElementsAre("2: continue 0", "2: continue 1"));
  EXPECT_TRUE(work.has(kOne));
  ASSERT_TRUE(work.run(Added::kAll, never, apply));
  EXPECT_TRUE(work.empty());
}

TEST_F(FairWorkTest, ForgetsTheWorkOfALaneThatHasNoItem) {
  shares.add(kOne, meter.now());
  FairWork work(shares, meter, 1);
  work.add(kOther, {.kind = Kind::kContinue, .since = 1});
  EXPECT_THAT(run(work, Added::kAll), ElementsAre("2: continue 0"));
  EXPECT_EQ(shares.next(meter.now()), std::nullopt);
  EXPECT_THAT(run(work, Added::kAll), IsEmpty());
}

}  // namespace
}  // namespace millrace
