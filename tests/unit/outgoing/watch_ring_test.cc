// WatchRing: the changes of one thread, taken by another.
#include "orchestrator/outgoing/watch_ring.h"

#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A change all of whose fields follow from the number.
WatchedChange numbered_change(uint32_t number) {
  WatchedChange change;
  for (size_t i = 0; i < change.instance.bytes.size(); ++i) {
    change.instance.bytes[i] = static_cast<uint8_t>(number >> (i % 4 * 8));
  }
  change.ns = NamespaceNumber(number);
  change.workflow = WorkflowNumber(~number);
  change.state = number;
  change.status = static_cast<InstanceStatus>(number % 8);
  change.is_deleted = number % 3 == 0;
  return change;
}

TEST(WatchRing, ReturnsEachChangeOnce) {
  WatchRing ring;
  EXPECT_FALSE(ring.is_watched());
  ring.watch(true);
  EXPECT_TRUE(ring.is_watched());
  EXPECT_THAT(ring.take().changes, IsEmpty());
  ring.put(numbered_change(1));
  ring.put(numbered_change(UINT32_MAX));
  const WatchRing::Taken taken = ring.take();
  EXPECT_THAT(taken.changes, ElementsAre(numbered_change(1), numbered_change(UINT32_MAX)));
  EXPECT_EQ(taken.lost, 0U);
  EXPECT_THAT(ring.take().changes, IsEmpty());
}

TEST(WatchRing, CountsTheChangesThatWereOverwritten) {
  WatchRing ring;
  for (uint32_t i = 0; i < WatchRing::kPlaces + 3; ++i) ring.put(numbered_change(i));
  const WatchRing::Taken taken = ring.take();
  EXPECT_EQ(taken.lost, 3U);
  ASSERT_THAT(taken.changes, SizeIs(WatchRing::kPlaces));
  EXPECT_EQ(taken.changes.front(), numbered_change(3));
  EXPECT_EQ(taken.changes.back(), numbered_change(WatchRing::kPlaces + 2));
  for (uint32_t i = 0; i < WatchRing::kPlaces + 2; ++i) ring.put(numbered_change(i));
  EXPECT_EQ(ring.take().lost, 2U);
  EXPECT_EQ(ring.lost(), 5U) << "since the start";
}

TEST(WatchRing, LosesAndMixesNothingUnseenWhileAnotherThreadPuts) {
  constexpr uint32_t kChanges = 200'000;
  WatchRing ring;
  std::thread engine([&] {
    for (uint32_t i = 0; i < kChanges; ++i) ring.put(numbered_change(i));
  });
  uint64_t seen = 0;
  uint64_t lost = 0;
  bool is_in_order = true;
  bool is_whole = true;
  int64_t last = -1;
  const auto take = [&] {
    const WatchRing::Taken taken = ring.take();
    for (const WatchedChange& change : taken.changes) {
      is_whole = is_whole && change == numbered_change(change.state);
      is_in_order = is_in_order && int64_t{change.state} > last;
      last = change.state;
    }
    seen += taken.changes.size();
    lost += taken.lost;
  };
  while (seen + lost < kChanges) take();
  engine.join();
  EXPECT_TRUE(is_whole);
  EXPECT_TRUE(is_in_order);
  EXPECT_EQ(seen + lost, kChanges);
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace millrace
