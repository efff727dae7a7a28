#include "gateway/lane_queue.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Queue = LaneQueue<std::string>;

constexpr size_t kMany = 100;

/// Takes all works, each of which ends at once.
std::vector<std::string> take_all(Queue& queue) {
  std::vector<std::string> works;
  while (auto taken = queue.pop()) {
    works.push_back(std::move(taken->work));
    queue.ended(taken->client);
  }
  return works;
}

TEST(LaneQueue, GivesEachClientAndEachOfItsNamespacesATurn) {
  Queue queue;
  for (const char* work : {"a1", "a2", "a3"}) queue.push({"a", "shop"}, work, kMany);
  queue.push({"a", "bank"}, "a4", kMany);
  for (const char* work : {"b1", "b2"}) queue.push({"b", "shop"}, work, kMany);
  EXPECT_EQ(queue.size(), 6U);
  EXPECT_THAT(take_all(queue), ElementsAre("a1", "b1", "a4", "b2", "a2", "a3"));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(LaneQueue, RefusesTheWorkOfTheClientThatFillsIt) {
  Queue queue;
  for (const char* work : {"a1", "a2", "a3"}) EXPECT_FALSE(queue.push({"a", ""}, work, 3));
  EXPECT_EQ(queue.push({"a", ""}, "a4", 3), "a4");
  EXPECT_EQ(queue.push({"b", ""}, "b1", 3), "a3") << "the newest work of the longest queue";
  EXPECT_EQ(queue.push({"b", ""}, "b2", 3), "b2") << "b has its share";
  EXPECT_EQ(queue.push({"c", ""}, "c1", 3), "a2");
  EXPECT_EQ(queue.push({"a", ""}, "a5", 3), "a5") << "all clients have one work";
  EXPECT_EQ(queue.push({"d", ""}, "d1", 3), "d1") << "no client has more than one work";
  EXPECT_THAT(take_all(queue), ElementsAre("a1", "b1", "c1"));
}

TEST(LaneQueue, RefusesTheWorkOfTheNamespaceThatFillsTheShareOfItsClient) {
  Queue queue;
  for (const char* work : {"a1", "a2", "a3"}) queue.push({"a", "shop"}, work, 3);
  EXPECT_EQ(queue.push({"a", "bank"}, "a4", 3), "a3");
  EXPECT_EQ(queue.push({"a", "bank"}, "a5", 3), "a5");
  EXPECT_THAT(take_all(queue), ElementsAre("a1", "a4", "a2"));
}

TEST(LaneQueue, HasNoPlaceAtABoundOfZero) {
  Queue queue;
  EXPECT_EQ(queue.push({"a", ""}, "a1", 0), "a1");
  EXPECT_THAT(take_all(queue), IsEmpty());
}

TEST(LaneQueue, RunsNoMoreWorksOfAClientThanItMay) {
  Queue queue(1);
  for (const char* work : {"a1", "a2"}) queue.push({"a", ""}, work, kMany);
  queue.push({"b", ""}, "b1", kMany);
  EXPECT_EQ(queue.pop()->work, "a1");
  EXPECT_EQ(queue.pop()->work, "b1");
  EXPECT_FALSE(queue.pop()) << "each client runs one work";
  queue.ended("b");
  EXPECT_FALSE(queue.pop()) << "b has no other work";
  queue.ended("a");
  EXPECT_EQ(queue.pop()->work, "a2");
}

TEST(LaneQueue, ForgetsItsWaitingWorks) {
  Queue queue(1);
  queue.push({"a", ""}, "a1", kMany);
  queue.push({"a", ""}, "a2", kMany);
  EXPECT_EQ(queue.pop()->work, "a1");
  queue.clear();
  EXPECT_EQ(queue.size(), 0U);
  queue.push({"a", ""}, "a3", kMany);
  EXPECT_FALSE(queue.pop()) << "a1 still runs";
  queue.ended("a");
  EXPECT_EQ(queue.pop()->work, "a3");
}

}  // namespace
}  // namespace millrace
