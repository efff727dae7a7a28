// TurnQueue: whose evaluation comes next.
#include "expressions/workers/turn_queue.h"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// All items in the order of their turns; the queue is empty afterwards.
std::vector<int> all_of(TurnQueue<int>& queue) {
  std::vector<int> items;
  while (!queue.empty()) {
    items.push_back(queue.front());
    EXPECT_EQ(queue.pop(), items.back());
  }
  EXPECT_EQ(queue.size(), 0U);
  return items;
}

TEST(TurnQueue, GivesEachNamespaceAndEachOfItsWorkflowsATurn) {
  TurnQueue<int> queue;
  for (const int item : {110, 111, 112, 113}) queue.push(1, 11, item);
  queue.push(1, 12, 120);
  for (const int item : {210, 211}) queue.push(2, 21, item);
  EXPECT_EQ(queue.size(), 7U);
  EXPECT_THAT(all_of(queue), ElementsAre(110, 210, 120, 211, 111, 112, 113));
  queue.push(2, 21, 212);
  EXPECT_THAT(all_of(queue), ElementsAre(212));
}

TEST(TurnQueue, PassesOverANamespaceThatMayNotTakeAnItemAndKeepsItsTurn) {
  TurnQueue<int> queue;
  for (const int item : {110, 111}) queue.push(1, 11, item);
  for (const int item : {210, 211}) queue.push(2, 21, item);
  queue.push(3, 31, 310);
  const auto not_first = [](uint64_t space) { return space != 1; };
  EXPECT_EQ(queue.pop_of(not_first), 210);
  EXPECT_EQ(queue.pop_of(not_first), 310);
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(queue.pop_of([](uint64_t space) { return space > 2; }), std::nullopt);
  EXPECT_THAT(all_of(queue), ElementsAre(110, 211, 111));
  EXPECT_EQ(queue.pop_of(not_first), std::nullopt);
}

TEST(TurnQueue, BeginsWithTheItemsThatComeBeforeAllOthers) {
  TurnQueue<int> queue;
  queue.push(1, 11, 1);
  queue.push_front(3);
  queue.push_front(2);
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_THAT(all_of(queue), ElementsAre(2, 3, 1));
}

TEST(TurnQueue, GivesOutTheItemsOfAKind) {
  TurnQueue<int> queue;
  for (const int item : {1, 2, 3, 4}) queue.push(1, 11, item);
  queue.push(2, 21, 6);
  queue.push_front(8);
  const auto is_even = [](int item) { return item % 2 == 0; };
  EXPECT_THAT(queue.take_if(is_even), ElementsAre(8, 2, 4, 6));
  EXPECT_EQ(queue.size(), 2U);
  queue.push(2, 21, 7);
  EXPECT_THAT(all_of(queue), ElementsAre(1, 7, 3));
  EXPECT_THAT(queue.take_if(is_even), IsEmpty());
}

}  // namespace
}  // namespace millrace
