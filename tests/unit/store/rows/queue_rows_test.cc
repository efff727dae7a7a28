#include "orchestrator/store/rows/queue_rows.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr WorkflowNumber kShip{3};

TEST(QueueRecords, KeepTheirFields) {
  const std::string counts = encode(SlotCounts{.key = "\"c-1\"", .held = 2, .queued = 300});
  const SlotCounts read = decode_slot_counts(counts).value();
  EXPECT_EQ(read.key, "\"c-1\"");
  EXPECT_EQ(read.held, 2U);
  EXPECT_EQ(read.queued, 300U);
  expect_whole(counts, decode_slot_counts);
  expect_known_versions(counts, 1, decode_slot_counts);
  EXPECT_FALSE(decode_slot_counts(encode(SlotCounts{.key = "a"}))) << "no instance has the key";
  const std::string place = encode(SlotPlace{.instance = id(4), .since = kNow});
  EXPECT_EQ(decode_slot_place(place)->instance, id(4));
  EXPECT_EQ(decode_slot_place(place)->since, kNow);
  expect_whole(place, decode_slot_place);
  expect_known_versions(place, 1, decode_slot_place);
}

TEST(QueueRecords, HaveKeysThatSayWhatTheyAre) {
  const SlotKey key = slot_key_of(kShip, "\"c-1\"");
  const auto counts = parse_queue_key(slot_counts_key(key));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->kind, QueueRow::kCounts);
  EXPECT_EQ(counts->key, key);
  for (const int32_t priority : {INT32_MIN, -1, 0, 7, INT32_MAX}) {
    const auto waiting = parse_queue_key(place_key(key, {.priority = priority, .number = 9}));
    ASSERT_TRUE(waiting) << priority;
    EXPECT_EQ(waiting->kind, QueueRow::kWaiting);
    EXPECT_EQ(waiting->priority, priority);
    EXPECT_EQ(waiting->number, 9U);
  }
  const auto holder = parse_queue_key(place_key(key, {.number = 5, .is_queued = false}));
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->kind, QueueRow::kHolder);
  const SlotKey throttle = throttle_key_of(kShip, "\"c-1\"");
  EXPECT_NE(throttle, key) << "an equal key of another limit";
  EXPECT_EQ(parse_queue_key(slot_counts_key(throttle))->kind, QueueRow::kThrottleCounts);
  EXPECT_EQ(parse_queue_key(slot_counts_key(throttle))->key, throttle);
  const auto throttled =
      parse_queue_key(place_key(throttle, waiting_slot({.priority = -7, .number = 3})));
  ASSERT_TRUE(throttled);
  EXPECT_EQ(throttled->kind, QueueRow::kThrottled);
  EXPECT_EQ(throttled->key, throttle);
  EXPECT_EQ(throttled->priority, -7);
  EXPECT_EQ(throttled->number, 3U);
  EXPECT_FALSE(parse_queue_key(""));
  EXPECT_FALSE(parse_queue_key(slot_counts_key(key) + "x"));
  EXPECT_FALSE(parse_queue_key(std::string(1, '\7') + slot_counts_key(key).substr(1)));
}

TEST(SlotsOfAHead, AreKept) {
  Instance head{.id = id(1)};
  EXPECT_LT(encode_head(head)[0], 11) << "a head without a slot keeps its version";
  for (const int32_t priority : {INT32_MIN, -1, 0, INT32_MAX}) {
    head.slot = Slot{.key = "\"c-1\"", .priority = priority, .number = 9, .is_queued = true};
    head.timers = {{TimerKind::kQueue, kNow}};
    const std::string bytes = encode_head(head);
    EXPECT_EQ(bytes[0], 11);
    const Instance read = decode_head(bytes).value();
    EXPECT_EQ(read.slot, head.slot);
    EXPECT_EQ(read.timers, head.timers);
    expect_whole(bytes, decode_head);
  }
  head.slot->key = std::string(kMostSlotKeyBytes + 1, 'x');
  EXPECT_FALSE(decode_head(encode_head(head))) << "the key is too long";
  head.slot = Slot{.number = 0};
  EXPECT_FALSE(decode_head(encode_head(head))) << "no row has the number 0";
  head.slot.reset();
  EXPECT_FALSE(decode_head(encode_head(head))) << "only an instance with a slot has such a timer";
}

TEST(ThrottledStartsOfAHead, AreKept) {
  Instance head{.id = id(1)};
  for (const int32_t priority : {INT32_MIN, -1, 0, INT32_MAX}) {
    head.throttled = Throttled{.key = "\"c-1\"", .priority = priority, .number = 9};
    head.timers = {{TimerKind::kThrottle, kNow}};
    const std::string bytes = encode_head(head);
    EXPECT_EQ(bytes[0], 12);
    const Instance read = decode_head(bytes).value();
    EXPECT_EQ(read.throttled, head.throttled);
    EXPECT_FALSE(read.slot);
    EXPECT_EQ(read.timers, head.timers);
    expect_whole(bytes, decode_head);
  }
  head.slot = Slot{.key = "1", .priority = 3, .number = 4, .is_queued = true};
  head.throttled->number = 0;
  const Instance both = decode_head(encode_head(head)).value();
  EXPECT_EQ(both.slot, head.slot);
  EXPECT_EQ(both.throttled, head.throttled);
  head.throttled->key = std::string(kMostSlotKeyBytes + 1, 'x');
  EXPECT_FALSE(decode_head(encode_head(head))) << "the key is too long";
  head.throttled.reset();
  EXPECT_FALSE(decode_head(encode_head(head))) << "only a throttled start has such a timer";
}

class QueueRowsTest : public StoreTest {
 protected:
  void wait(const SlotKey& key, int32_t priority, uint64_t number) {
    write_slot_place(*tx, key, {.priority = priority, .number = number, .is_queued = true},
                     {.instance = id(static_cast<uint8_t>(number)), .since = kNow});
  }
  std::vector<uint64_t> numbers(QueueRow kind, const SlotKey& key) {
    std::vector<uint64_t> all;
    EXPECT_TRUE(each_slot_place(*tx, kind, key, [&](const SlotPlace& place) {
      all.push_back(place.number);
      return true;
    }));
    return all;
  }

  const SlotKey one_ = slot_key_of(kShip, "1");
  const SlotKey other_ = slot_key_of(kShip, "2");
};

TEST_F(QueueRowsTest, AreInTheOrderOfPriorityAndNumber) {
  wait(one_, 0, 1);
  wait(one_, 5, 2);
  wait(one_, -5, 3);
  wait(one_, 5, 4);
  wait(other_, 9, 5);
  EXPECT_THAT(numbers(QueueRow::kWaiting, one_), ElementsAre(2, 4, 1, 3));
  EXPECT_EQ(read_first_place(*tx, QueueRow::kWaiting, one_).value()->instance, id(2));
  EXPECT_EQ(read_first_place(*tx, QueueRow::kHolder, one_).value(), std::nullopt);
  erase_slot_place(*tx, one_, {.priority = 5, .number = 2, .is_queued = true});
  EXPECT_THAT(numbers(QueueRow::kWaiting, one_), ElementsAre(4, 1, 3));
}

TEST_F(QueueRowsTest, HaveTheHoldersOfAKeyBehindANumber) {
  for (const uint64_t number : {2, 5, 300}) {
    write_slot_place(*tx, one_, {.number = number, .is_queued = false},
                     {.instance = id(static_cast<uint8_t>(number % 256)), .since = kNow});
  }
  wait(one_, 0, 3);
  wait(other_, 0, 4);
  const auto behind = [&](uint64_t after, size_t most) {
    std::vector<uint64_t> seen;
    EXPECT_TRUE(each_slot_holder(*tx, one_, after, [&](const SlotPlace& holder) {
      seen.push_back(holder.number);
      return seen.size() < most;
    }));
    return seen;
  };
  EXPECT_THAT(behind(0, 9), ElementsAre(2, 5, 300));
  EXPECT_THAT(behind(0, 1), ElementsAre(2));
  EXPECT_THAT(behind(2, 9), ElementsAre(5, 300));
  EXPECT_THAT(behind(3, 9), ElementsAre(5, 300)) << "the holder of the number has left";
  EXPECT_THAT(behind(300, 9), ElementsAre());
}

TEST_F(QueueRowsTest, LoseTheirCountsWithTheLastInstance) {
  EXPECT_TRUE(read_slot_counts(*tx, one_)->empty());
  write_slot_counts(*tx, one_, {.key = "1", .held = 1});
  write_slot_counts(*tx, other_, {.key = "2", .held = 1, .queued = 2});
  EXPECT_EQ(read_slot_counts(*tx, other_)->queued, 2U);
  EXPECT_THAT(workflows_with_slots(*tx).value(), ElementsAre(kShip));
  size_t seen = 0;
  std::optional<SlotKey> behind;
  EXPECT_TRUE(each_slot_counts(*tx, kShip, {}, [&](const SlotKey& key, const SlotCounts&) {
    behind = key;
    return ++seen < 1;
  }));
  EXPECT_TRUE(each_slot_counts(*tx, kShip, behind, [&](const SlotKey& key, const SlotCounts&) {
    EXPECT_NE(key, *behind);
    return ++seen < 9;
  }));
  EXPECT_EQ(seen, 2U);
  write_slot_counts(*tx, one_, {.key = "1"});
  write_slot_counts(*tx, other_, {.key = "2"});
  EXPECT_THAT(workflows_with_slots(*tx).value(), ElementsAre());
}

TEST_F(QueueRowsTest, HaveTheKeysOfTheThrottleAfterThoseOfTheSlots) {
  const SlotKey keys[] = {one_, other_, throttle_key_of(kShip, "1"), throttle_key_of(kShip, "2")};
  for (const SlotKey& key : keys) write_slot_counts(*tx, key, {.key = "k", .queued = 1});
  std::vector<SlotKey> seen;
  std::optional<SlotKey> behind;
  for (size_t page = 0; page < std::size(keys); ++page) {
    EXPECT_TRUE(each_slot_counts(*tx, kShip, behind, [&](const SlotKey& key, const SlotCounts&) {
      seen.push_back(key);
      return false;
    }));
    ASSERT_EQ(seen.size(), page + 1);
    behind = seen.back();
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(keys));
  EXPECT_FALSE(seen[1].is_throttle);
  EXPECT_TRUE(seen[2].is_throttle);
  write_slot_counts(*tx, one_, {});
  write_slot_counts(*tx, other_, {});
  EXPECT_THAT(workflows_with_slots(*tx).value(), ElementsAre(kShip));
}

TEST_F(QueueRowsTest, AreThoseOfTheThrottleApart) {
  const SlotKey throttle = throttle_key_of(kShip, "1");
  const Slot place = waiting_slot({.priority = 1, .number = 2});
  write_slot_place(*tx, throttle, place, {.instance = id(2), .since = kNow});
  wait(one_, 0, 1);
  EXPECT_TRUE(has_slot_place(*tx, throttle, place));
  EXPECT_FALSE(has_slot_place(*tx, one_, place));
  EXPECT_THAT(numbers(QueueRow::kThrottled, throttle), ElementsAre(2));
  EXPECT_THAT(numbers(QueueRow::kWaiting, one_), ElementsAre(1));
  PurgeBudget budget;
  EXPECT_TRUE(purge_queues(*tx, kShip, budget).value());
  EXPECT_THAT(numbers(QueueRow::kThrottled, throttle), ElementsAre());
}

TEST_F(QueueRowsTest, ArePurgedWithTheirWorkflow) {
  write_slot_counts(*tx, one_, {.key = "1", .held = 1, .queued = 3});
  for (uint64_t number = 1; number < 4; ++number) wait(one_, 0, number);
  const SlotKey stays = slot_key_of(WorkflowNumber(4), "1");
  wait(stays, 0, 9);
  PurgeBudget small{.rows = 2};
  EXPECT_FALSE(purge_queues(*tx, kShip, small).value());
  PurgeBudget large;
  EXPECT_TRUE(purge_queues(*tx, kShip, large).value());
  EXPECT_THAT(numbers(QueueRow::kWaiting, one_), ElementsAre());
  EXPECT_THAT(numbers(QueueRow::kWaiting, stays), ElementsAre(9));
}

}  // namespace
}  // namespace millrace
