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

/// At most two searches are under way.
class LookBackQueueTest : public testing::Test {
 protected:
  bool ask(uint8_t instance, uint32_t ns = 1) {
    return queue_.ask({.ns = NamespaceNumber(ns),
                       .instance = numbered_id(instance),
                       .workflow = WorkflowNumber(ns)},
                      [this](const EarlyEvents&) { ++answered_; });
  }
  /// Answers the search that began first of those under way.
  void answer() {
    ASSERT_FALSE(asked_.empty());
    const auto done = std::move(asked_.front());
    asked_.erase(asked_.begin());
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
                       2};
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

TEST_F(LookBackQueueTest, ReleasesInstancesOfEachNamespace) {
  EXPECT_TRUE(ask(1));
  EXPECT_TRUE(ask(2));
  for (const uint8_t instance : {3, 4, 5}) EXPECT_FALSE(ask(instance));
  EXPECT_FALSE(ask(6, 2));
  answer();
  answer();
  EXPECT_THAT(released(), ElementsAre(3, 4, 5, 6));
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
