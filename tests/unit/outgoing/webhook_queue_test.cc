#include "orchestrator/outgoing/webhook_queue.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NamespaceNumber kShop{1};
constexpr NamespaceNumber kStock{2};
constexpr NamespaceNumber kMail{3};

TimePoint at(int64_t millis) { return from_millis(millis); }

/// The numbers of all deliveries that may be sent at that time.
std::vector<uint64_t> take_all(WebhookQueue& queue, TimePoint now) {
  std::vector<uint64_t> taken;
  while (const auto next = queue.take(now)) taken.push_back(next->number);
  return taken;
}

TEST(WebhookQueue, TakesTheDeliveriesOfANamespaceInTheOrderOfTheirTimes) {
  WebhookQueue queue(8);
  queue.put({kShop, at(20), 1});
  queue.put({kShop, at(10), 2});
  queue.put({kShop, at(30), 3});
  EXPECT_EQ(queue.next_due(), at(10));
  EXPECT_THAT(take_all(queue, at(9)), IsEmpty());
  EXPECT_THAT(take_all(queue, at(20)), ElementsAre(2, 1));
  EXPECT_EQ(queue.next_due(), at(30));
  EXPECT_TRUE(queue.is_in_flight(1));
  EXPECT_FALSE(queue.is_in_flight(3));
}

TEST(WebhookQueue, GivesTurnsToNamespacesWhateverTheTimesOfTheirDeliveries) {
  WebhookQueue queue(100);
  for (uint64_t i = 0; i < 3; ++i) queue.put({kShop, at(1), 10 + i});
  queue.put({kStock, at(5), 20});
  queue.put({kMail, at(5), 30});
  EXPECT_THAT(take_all(queue, at(5)), ElementsAre(10, 20, 30, 11, 12));
}

TEST(WebhookQueue, LetsANamespaceHaveAsManyInFlightAsTheWindowHasRoomFor) {
  WebhookQueue queue(8);
  for (uint64_t i = 0; i < 10; ++i) queue.put({kShop, at(1), 10 + i});
  EXPECT_THAT(take_all(queue, at(1)), ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(queue.next_due(), std::nullopt) << "the others have to wait";
  EXPECT_TRUE(queue.has_due());
  for (uint64_t i = 0; i < 10; ++i) queue.put({kStock, at(2), 20 + i});
  EXPECT_EQ(queue.next_due(), at(2));
  EXPECT_THAT(take_all(queue, at(2)), ElementsAre(20, 21));
  queue.put({kMail, at(3), 30});
  EXPECT_THAT(take_all(queue, at(3)), ElementsAre(30)) << "although no delivery has ended";
  EXPECT_EQ(queue.end(10), kShop);
  EXPECT_EQ(queue.end(10), std::nullopt);
  EXPECT_EQ(queue.end(11), kShop);
  EXPECT_EQ(queue.end(12), kShop);
  EXPECT_THAT(take_all(queue, at(3)), ElementsAre(14, 22)) << "room for both again";
}

TEST(WebhookQueue, RemovesDeliveriesThatAreNotInFlight) {
  WebhookQueue queue(8);
  queue.put({kShop, at(1), 1});
  queue.put({kShop, at(2), 2});
  EXPECT_FALSE(queue.remove({kShop, at(1), 2}));
  EXPECT_FALSE(queue.remove({kStock, at(2), 2}));
  EXPECT_TRUE(queue.remove({kShop, at(2), 2}));
  EXPECT_THAT(take_all(queue, at(9)), ElementsAre(1));
  EXPECT_FALSE(queue.remove({kShop, at(1), 1})) << "it is in flight";
  queue.put({kStock, at(1), 3});
  queue.clear_due();
  EXPECT_FALSE(queue.has_due());
  EXPECT_EQ(queue.next_due(), std::nullopt);
  EXPECT_TRUE(queue.is_in_flight(1));
  EXPECT_EQ(queue.end(1), kShop);
  queue.put_in_flight(4, kShop);
  queue.put_in_flight(4, kShop);
  EXPECT_EQ(queue.end(4), kShop);
}

}  // namespace
}  // namespace millrace
