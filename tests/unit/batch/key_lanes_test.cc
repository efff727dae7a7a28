#include "orchestrator/batch/key_lanes.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using TextLanes = KeyLanes<std::string>;

const WorkLane kOrders{NamespaceNumber(1), WorkflowNumber(7)};
const WorkLane kPayments{NamespaceNumber(1), WorkflowNumber(8)};

Status reviews_nothing(TextLanes::Lane& lane) {
  lane.begin_portion();
  return {};
}

/// The keys at which a lane looks until it is empty, or until it has looked at 10; a key of `again`
/// is wanted again once.
std::vector<std::string> looked_at(TextLanes& lanes, const WorkLane& owner,
                                   std::set<std::string> again = {}) {
  std::vector<std::string> keys;
  while (lanes.contains(owner) && keys.size() < 10) {
    const Status went_on = lanes.go_on(owner, reviews_nothing, [&](const std::string& key) {
      keys.push_back(key);
      return Result<bool>(again.erase(key) > 0);
    });
    EXPECT_TRUE(went_on);
  }
  return keys;
}

TEST(KeyLanes, HaveEachKeyOnceAndInTurn) {
  TextLanes lanes;
  EXPECT_TRUE(lanes.empty());
  for (const char* const key : {"a", "b", "a", "c"}) lanes.of(kOrders).add(key);
  EXPECT_THAT(looked_at(lanes, kOrders, {"a", "c"}), ElementsAre("a", "b", "c", "a", "c"));
  EXPECT_TRUE(lanes.empty());
}

TEST(KeyLanes, NameTheLanesThatAreNew) {
  TextLanes lanes;
  lanes.of(kOrders).add("a");
  std::set<WorkLane> fresh;
  lanes.of(kOrders, fresh).add("b");
  EXPECT_THAT(fresh, IsEmpty());
  lanes.of(kPayments, fresh).add("c");
  EXPECT_THAT(fresh, ElementsAre(kPayments));
  EXPECT_THAT(lanes.owners(), ElementsAre(kOrders, kPayments));
  EXPECT_THAT(looked_at(lanes, kOrders), ElementsAre("a", "b"));
  EXPECT_THAT(lanes.owners(), ElementsAre(kPayments));
}

TEST(KeyLanes, ReadAReviewInPortions) {
  TextLanes lanes;
  lanes.of(kOrders).review();
  std::vector<std::string> all;
  for (size_t i = 0; i < kReviewedKeysAtOnce + 2; ++i) all.push_back(std::to_string(1000 + i));
  std::vector<std::optional<std::string>> portions;
  std::vector<std::string> keys;
  const auto review = [&](TextLanes::Lane& lane) {
    portions.push_back(lane.reviewed_until());
    lane.begin_portion();
    for (const std::string& key : all) {
      if (lane.reviewed_until() && key <= *lane.reviewed_until()) continue;
      // Something waits for the second key and for the last one.
      if (!lane.note(key, key == all[1] || key == all.back())) break;
    }
    return Status();
  };
  for (int steps = 0; lanes.contains(kOrders) && steps < 10; ++steps) {
    EXPECT_TRUE(lanes.go_on(kOrders, review, [&](const std::string& key) {
      keys.push_back(key);
      return Result<bool>(false);
    }));
  }
  EXPECT_THAT(keys, ElementsAre(all[1], all.back()));
  EXPECT_THAT(portions, ElementsAre(std::nullopt, all[kReviewedKeysAtOnce - 1]));
  EXPECT_TRUE(lanes.empty());
}

TEST(KeyLanes, KeepTheLaneIfAKeyCannotBeLookedAt) {
  TextLanes lanes;
  lanes.of(kOrders).add("a");
  const Status failed = lanes.go_on(kOrders, reviews_nothing, [](const std::string&) {
    return Result<bool>(fail("store.full", "the disk is full"));
  });
  EXPECT_EQ(failed.error().code, "store.full");
  EXPECT_THAT(looked_at(lanes, kOrders), ElementsAre("a"));
}

}  // namespace
}  // namespace millrace
