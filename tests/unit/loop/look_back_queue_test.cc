// LookBackQueue: how many searches for early events are under way, and which instances ask next.
#include "orchestrator/loop/look_back_queue.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// At most four searches are under way, and two of a namespace that is alone.
class LookBackQueueTest : public testing::Test {
 protected:
  bool ask(uint8_t instance, uint32_t ns = 1) {
    return queue_.ask({.ns = NamespaceNumber(ns),
                       .instance = numbered_id(instance),
                       .workflow = WorkflowNumber(ns)},
                      [this](const EarlyEvents&) { ++answered_; });
  }
  /// Answers one of the searches under way, which are in the order in which they began.
  void answer(size_t place = 0) {
    ASSERT_LT(place, asked_.size());
    const auto one = asked_.begin() + static_cast<ptrdiff_t>(place);
    const auto done = std::move(*one);
    asked_.erase(one);
    done(std::vector<EarlyEvent>());
  }
  std::vector<int> released() {
    std::vector<ContinueInput> continues;
    queue_.release(continues);
    std::vector<int> ids;
    for (const ContinueInput& one : continues) ids.push_back(one.instance.bytes.back());
    return ids;
  }

  std::vector<std::function<void(EarlyEvents)>> asked_;  ///< the searches under way
  size_t answered_ = 0;
  LookBackQueue queue_{[this](const LookBack&, std::function<void(EarlyEvents)> done) {
                         asked_.push_back(std::move(done));
                       },
                       4};
};

TEST_F(LookBackQueueTest, BoundsTheSearchesThatAreUnderWay) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  EXPECT_FALSE(ask(3));
  EXPECT_EQ(asked_.size(), 2U);
  EXPECT_THAT(released(), IsEmpty()) << "no search has been answered";
  answer();
  EXPECT_EQ(answered_, 1U);
  EXPECT_THAT(released(), ElementsAre(3));
  EXPECT_THAT(released(), IsEmpty());
  EXPECT_TRUE(ask(3));
  EXPECT_FALSE(ask(4));
}

TEST_F(LookBackQueueTest, HasRoomForANamespaceBesideOneWithManySearches) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  for (const uint8_t instance : {3, 4, 5}) EXPECT_FALSE(ask(instance));
  EXPECT_TRUE(ask(6, 2)) << "the other namespace has taken half";
  EXPECT_FALSE(ask(7, 2)) << "a third of all is one";
  EXPECT_TRUE(ask(8, 3)) << "each namespace has room for one";
  EXPECT_TRUE(ask(9, 4));
  EXPECT_THAT(released(), IsEmpty()) << "no search has been answered";
}

TEST_F(LookBackQueueTest, ReleasesInstancesOfEachNamespace) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  for (const uint8_t instance : {3, 4, 5}) EXPECT_FALSE(ask(instance));
  EXPECT_TRUE(ask(6, 2));
  EXPECT_FALSE(ask(7, 2));
  for (int i = 0; i < 3; ++i) answer();
  EXPECT_THAT(released(), ElementsAre(3, 4, 5, 7));
}

TEST_F(LookBackQueueTest, ReleasesInstancesOfANamespaceWhileAnotherOneIsFull) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  EXPECT_FALSE(ask(3));
  EXPECT_TRUE(ask(6, 2));
  EXPECT_FALSE(ask(7, 2));
  answer(2);
  EXPECT_THAT(released(), ElementsAre(7)) << "both searches of the other namespace are under way";
}

TEST_F(LookBackQueueTest, PutsAnInstanceBehindThoseThatWait) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  EXPECT_FALSE(ask(3));
  answer();
  EXPECT_FALSE(ask(4)) << "there is room, but another one waits for it";
  EXPECT_THAT(released(), ElementsAre(3, 4));
}

TEST_F(LookBackQueueTest, DoesNotWaitForAReleasedInstanceThatNeverAsks) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  EXPECT_FALSE(ask(3));
  EXPECT_FALSE(ask(4));
  answer();
  answer();
  EXPECT_THAT(released(), ElementsAre(3, 4));
  EXPECT_TRUE(ask(5));
  EXPECT_TRUE(ask(6));
  EXPECT_FALSE(ask(7));
  answer();
  EXPECT_THAT(released(), IsEmpty()) << "two that were released may still ask";
  answer();
  EXPECT_THAT(released(), ElementsAre(7));
}

TEST_F(LookBackQueueTest, ForgetsTheInstancesThatWait) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  EXPECT_FALSE(ask(3));
  queue_.clear();
  answer();
  answer();
  EXPECT_THAT(released(), IsEmpty());
  EXPECT_TRUE(ask(3));
}

}  // namespace
}  // namespace millrace
