#include "orchestrator/store/rows/call_slot_rows.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr NamespaceNumber kBankSpace{3};

StartTask slot_task(const std::string& key, uint64_t number, int32_t priority = 0) {
  return {.ns = kBankSpace,
          .task = id(static_cast<uint8_t>(number)),
          .by = id(9),
          .runs = NamedService{"bank"},
          .input = Json(1),
          .slot = TaskSlot{.limit = 3, .key = key, .priority = priority, .number = number}};
}

const Span kHour = Span::parse("PT1H").value();

/// A task with a throttle, and no slot.
StartTask throttled_task(const std::string& key, uint64_t number, int32_t priority = 0) {
  StartTask task = slot_task(key, number);
  task.slot.reset();
  task.throttle = TaskThrottle{.key = key, .priority = priority, .number = number};
  task.throttle->rate.limit = 5;
  task.throttle->rate.period = kHour;
  return task;
}

TEST(CallSlotRecords, KeepTheirFields) {
  const std::string counts =
      encode(CallSlotCounts{.service = {.kind = SlotService::Kind::kGlobalService, .name = "bank"},
                            .key = "\"c-1\"",
                            .limit = 3,
                            .held = 2,
                            .queued = 300,
                            .paused = 1});
  const CallSlotCounts read = decode_call_slot_counts(counts).value();
  EXPECT_EQ(read.service.kind, SlotService::Kind::kGlobalService);
  EXPECT_EQ(read.service.name, "bank");
  EXPECT_EQ(read.key, "\"c-1\"");
  EXPECT_EQ(read.limit, 3U);
  EXPECT_EQ(read.held, 2U);
  EXPECT_EQ(read.queued, 300U);
  EXPECT_EQ(read.paused, 1U);
  expect_whole(counts, decode_call_slot_counts);
  expect_known_versions(counts, 1, decode_call_slot_counts);
  EXPECT_FALSE(decode_call_slot_counts(encode(CallSlotCounts{.key = "1"})))
      << "no task has the key";
  EXPECT_FALSE(decode_call_slot_counts(encode(CallSlotCounts{.limit = 0, .held = 1})));

  const std::string place = encode(CallPlaceRecord{.task = id(4), .since = kNow, .limit = 7});
  EXPECT_EQ(decode_call_place(place)->task, id(4));
  EXPECT_EQ(decode_call_place(place)->since, kNow);
  EXPECT_EQ(decode_call_place(place)->limit, 7U);
  expect_whole(place, decode_call_place);
  expect_known_versions(place, 2, decode_call_place);
  EXPECT_FALSE(decode_call_place(place)->period);
  EXPECT_EQ(place.front(), 1);

  const std::string throttled =
      encode(CallPlaceRecord{.task = id(4), .since = kNow, .limit = 7, .period = kHour});
  EXPECT_EQ(throttled.front(), 2);
  EXPECT_EQ(decode_call_place(throttled)->limit, 7U);
  EXPECT_EQ(decode_call_place(throttled)->period->text, "PT1H");
  EXPECT_FALSE(decode_call_place(throttled)->until);
  expect_whole(throttled, decode_call_place);
  const std::string ending = encode(CallPlaceRecord{
      .task = id(4), .since = kNow, .limit = 7, .period = kHour, .until = kNow + Duration(5)});
  EXPECT_EQ(decode_call_place(ending)->until, kNow + Duration(5));
  expect_whole(ending, decode_call_place);
}

TEST(CallSlotRecords, HaveKeysThatSayWhatTheyAre) {
  const CallSlotKey key = call_slot_key_of(slot_task("\"c-1\"", 5));
  const auto counts = parse_call_row_key(call_counts_key(key));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->kind, QueueRow::kCallCounts);
  EXPECT_EQ(counts->key, key);
  for (const int32_t priority : {INT32_MIN, -1, 0, 7, INT32_MAX}) {
    const CallPlace place{.kind = QueueRow::kCallWaiting, .priority = priority, .number = 9};
    const auto waiting = parse_call_row_key(call_place_key(key, place));
    ASSERT_TRUE(waiting) << priority;
    EXPECT_EQ(waiting->kind, QueueRow::kCallWaiting);
    EXPECT_EQ(waiting->place, place);
  }
  for (const QueueRow kind : {QueueRow::kCallHolder, QueueRow::kCallPaused}) {
    const auto place = parse_call_row_key(call_place_key(key, {.kind = kind, .number = 5}));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->place, (CallPlace{.kind = kind, .number = 5}));
  }
  const CallSlotKey throttle = call_throttle_key_of(throttled_task("\"c-1\"", 5));
  EXPECT_EQ(throttle.key, key.key);
  EXPECT_NE(throttle, key);
  EXPECT_EQ(parse_call_row_key(call_counts_key(throttle))->kind, QueueRow::kCallThrottleCounts);
  EXPECT_EQ(parse_call_row_key(call_counts_key(throttle))->key, throttle);
  const CallPlace throttled{.kind = QueueRow::kCallThrottled, .priority = -7, .number = 9};
  EXPECT_EQ(parse_call_row_key(call_place_key(throttle, throttled))->place, throttled);
  EXPECT_EQ(parse_call_row_key(call_place_key(throttle, throttled))->key, throttle);
  const CallPlace paused{.kind = QueueRow::kCallThrottlePaused, .number = 9};
  EXPECT_EQ(parse_call_row_key(call_place_key(throttle, paused))->place, paused);
  EXPECT_FALSE(parse_call_row_key(std::string(1, '\xd') + call_counts_key(key).substr(1)));
  EXPECT_FALSE(parse_call_row_key(""));
  EXPECT_FALSE(parse_call_row_key(call_counts_key(key) + "x"));
  EXPECT_FALSE(parse_call_row_key(std::string(1, '\x8') + call_counts_key(key).substr(1)));
  EXPECT_FALSE(is_call_row(slot_counts_key(slot_key_of(WorkflowNumber(1), ""))));
  EXPECT_FALSE(parse_queue_key(call_counts_key(key)));
}

TEST(CallSlotKeys, DifferByTheServiceAndTheKey) {
  using Kind = SlotService::Kind;
  const auto key = [](Kind kind, const char* name, const char* of) {
    return call_slot_key_of(kBankSpace, {.kind = kind, .name = name}, of);
  };
  const CallSlotKey one = key(Kind::kService, "bank", "1");
  EXPECT_EQ(one, key(Kind::kService, "bank", "1"));
  EXPECT_NE(one, key(Kind::kGlobalService, "bank", "1"));
  EXPECT_NE(one, key(Kind::kContainer, "bank", "1"));
  EXPECT_NE(one, key(Kind::kService, "bank1", ""));
  EXPECT_NE(one, key(Kind::kService, "bank", "2"));
  StartTask task = slot_task("1", 5);
  EXPECT_EQ(call_slot_key_of(task), one);
  task.runs = Container{.image = "bank"};
  EXPECT_EQ(call_slot_key_of(task), key(Kind::kContainer, "bank", "1"));
}

TEST(SlotsOfATask, AreKept) {
  StartTask task = slot_task("\"c-1\"", 300, INT32_MIN);
  EXPECT_EQ(encode(task).front(), 5);
  const StartTask read = decode_task(encode(task)).value();
  ASSERT_TRUE(read.slot);
  EXPECT_EQ(read.slot->limit, 3U);
  EXPECT_EQ(read.slot->key, "\"c-1\"");
  EXPECT_EQ(read.slot->priority, INT32_MIN);
  EXPECT_EQ(read.slot->number, 300U);
  EXPECT_EQ(read.progress, "");
  expect_whole(encode(task), decode_task);
  expect_known_versions(encode(task), 7, decode_task);
  task.progress = "50";
  EXPECT_EQ(decode_task(encode(task))->progress, "50");
  EXPECT_EQ(decode_task(encode(task))->slot->number, 300U);
  expect_whole(encode(task), decode_task);
  task.slot->number = 0;
  EXPECT_FALSE(decode_task(encode(task)));
}

TEST(ThrottlesOfATask, AreKept) {
  StartTask task = throttled_task("\"c-1\"", 300, INT32_MIN);
  EXPECT_EQ(encode(task).front(), 6);
  const StartTask read = decode_task(encode(task)).value();
  EXPECT_FALSE(read.slot);
  ASSERT_TRUE(read.throttle);
  EXPECT_EQ(read.throttle->rate.limit, 5U);
  EXPECT_EQ(read.throttle->rate.period.text, "PT1H");
  EXPECT_FALSE(read.throttle->rate.key);
  EXPECT_FALSE(read.throttle->timeout);
  EXPECT_EQ(read.throttle->key, "\"c-1\"");
  EXPECT_EQ(read.throttle->priority, INT32_MIN);
  EXPECT_EQ(read.throttle->number, 300U);
  expect_whole(encode(task), decode_task);
  expect_known_versions(encode(task), 7, decode_task);
  task.slot = TaskSlot{.limit = 2, .key = "1", .number = 299};
  task.throttle->timeout = Span::parse("5m").value();
  task.progress = "50";
  const StartTask both = decode_task(encode(task)).value();
  EXPECT_EQ(both.slot->number, 299U);
  EXPECT_EQ(both.throttle->timeout->text, "5m");
  EXPECT_EQ(both.throttle->number, 300U);
  EXPECT_EQ(both.progress, "50");
  expect_whole(encode(task), decode_task);
  task.throttle->number = 0;
  EXPECT_FALSE(decode_task(encode(task)));
}

TEST(TimeoutsOfSlotsOfATask, AreKept) {
  StartTask task = slot_task("\"c-1\"", 300, -7);
  task.slot->timeout = Span::parse("PT2H").value();
  EXPECT_EQ(encode(task).front(), 7);
  const StartTask read = decode_task(encode(task)).value();
  ASSERT_TRUE(read.slot);
  ASSERT_TRUE(read.slot->timeout);
  EXPECT_EQ(read.slot->timeout->text, "PT2H");
  EXPECT_EQ(read.slot->key, "\"c-1\"");
  EXPECT_EQ(read.slot->priority, -7);
  EXPECT_EQ(read.slot->number, 300U);
  EXPECT_FALSE(read.throttle);
  EXPECT_EQ(read.progress, "");
  expect_whole(encode(task), decode_task);
  task.throttle = throttled_task("2", 301).throttle;
  task.progress = "50";
  const StartTask both = decode_task(encode(task)).value();
  EXPECT_EQ(both.slot->timeout->text, "PT2H");
  EXPECT_EQ(both.throttle->key, "2");
  EXPECT_EQ(both.throttle->number, 301U);
  EXPECT_EQ(both.progress, "50");
  expect_whole(encode(task), decode_task);
}

class CallSlotRowsTest : public StoreTest {
 protected:
  void place(const StartTask& task, QueueRow kind) {
    const CallPlace place{
        .kind = kind, .priority = task.slot->priority, .number = task.slot->number};
    write_call_place(*tx, call_slot_key_of(task), place,
                     {.task = task.task, .since = kNow, .limit = task.slot->limit});
  }
  std::vector<uint64_t> numbers(QueueRow kind, const CallSlotKey& key) {
    std::vector<uint64_t> found;
    EXPECT_TRUE(each_call_place(*tx, kind, key, [&](const PlacedCall& one) {
      found.push_back(one.place.number);
      return true;
    }));
    return found;
  }
};

TEST_F(CallSlotRowsTest, WaitByPriorityThenByNumber) {
  const StartTask first = slot_task("1", 4, 5);
  const CallSlotKey key = call_slot_key_of(first);
  place(slot_task("1", 1, -3), QueueRow::kCallWaiting);
  place(slot_task("1", 2), QueueRow::kCallWaiting);
  place(slot_task("1", 3), QueueRow::kCallWaiting);
  place(first, QueueRow::kCallWaiting);
  place(slot_task("2", 5, 9), QueueRow::kCallWaiting);
  place(slot_task("1", 6), QueueRow::kCallHolder);
  EXPECT_THAT(numbers(QueueRow::kCallWaiting, key), ElementsAre(4, 2, 3, 1));
  EXPECT_THAT(numbers(QueueRow::kCallHolder, key), ElementsAre(6));
  const auto next = read_first_call(*tx, QueueRow::kCallWaiting, key).value();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->record.task, first.task);
  EXPECT_EQ(next->place.priority, 5);
  EXPECT_FALSE(read_first_call(*tx, QueueRow::kCallPaused, key).value());
}

TEST_F(CallSlotRowsTest, HaveTheHoldersOfAKeyBehindANumber) {
  const CallSlotKey key = call_slot_key_of(slot_task("1", 2));
  for (const uint64_t number : {2, 5, 300}) place(slot_task("1", number), QueueRow::kCallHolder);
  place(slot_task("1", 3), QueueRow::kCallWaiting);
  place(slot_task("2", 4), QueueRow::kCallHolder);
  const auto behind = [&](uint64_t after, size_t most) {
    std::vector<uint64_t> seen;
    EXPECT_TRUE(each_call_holder(*tx, key, after, [&](const PlacedCall& holder) {
      seen.push_back(holder.place.number);
      return seen.size() < most;
    }));
    return seen;
  };
  EXPECT_THAT(behind(0, 9), ElementsAre(2, 5, 300));
  EXPECT_THAT(behind(0, 2), ElementsAre(2, 5));
  EXPECT_THAT(behind(3, 9), ElementsAre(5, 300));
  EXPECT_THAT(behind(300, 9), ElementsAre());
}

TEST_F(CallSlotRowsTest, FindThePlaceOfATask) {
  const StartTask task = slot_task("1", 4, 5);
  EXPECT_FALSE(find_call_place(*tx, task).value());
  for (const QueueRow kind :
       {QueueRow::kCallHolder, QueueRow::kCallWaiting, QueueRow::kCallPaused}) {
    place(task, kind);
    const CallPlace expected{.kind = kind, .priority = 5, .number = 4};
    EXPECT_EQ(find_call_place(*tx, task).value(), expected);
    erase_call_place(*tx, call_slot_key_of(task), expected);
  }
  EXPECT_FALSE(find_call_place(*tx, task).value());
}

TEST_F(CallSlotRowsTest, SayWhenTheWaitOfATaskEnds) {
  StartTask task = slot_task("1", 4, 5);
  const CallPlace waiting{.kind = QueueRow::kCallWaiting, .priority = 5, .number = 4};
  place(task, QueueRow::kCallWaiting);
  EXPECT_EQ(read_call_place(*tx, call_slot_key_of(task), waiting)->value().since, kNow);
  EXPECT_EQ(read_slot_wait_end(*tx, task, waiting).value(), std::nullopt) << "without a timeout";
  task.slot->timeout = kHour;
  EXPECT_EQ(read_slot_wait_end(*tx, task, waiting).value(), kNow + std::chrono::hours(1));
  place(task, QueueRow::kCallHolder);
  const CallPlace holding{.kind = QueueRow::kCallHolder, .priority = 5, .number = 4};
  EXPECT_EQ(read_slot_wait_end(*tx, task, holding).value(), std::nullopt);
  erase_call_place(*tx, call_slot_key_of(task), waiting);
  EXPECT_EQ(read_slot_wait_end(*tx, task, waiting).value(), std::nullopt) << "without its row";
}

TEST_F(CallSlotRowsTest, FindATaskThatWaitsForItsThrottle) {
  const StartTask task = throttled_task("1", 4, 5);
  const CallSlotKey key = call_throttle_key_of(task);
  EXPECT_FALSE(find_throttled_call(*tx, task).value());
  for (const QueueRow kind : {QueueRow::kCallThrottled, QueueRow::kCallThrottlePaused}) {
    const CallPlace expected{.kind = kind, .priority = 5, .number = 4};
    write_call_place(*tx, key, expected,
                     {.task = task.task, .since = kNow, .limit = 5, .period = kHour});
    const auto found = find_throttled_call(*tx, task).value();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->place, expected);
    EXPECT_EQ(found->record.task, task.task);
    EXPECT_EQ(rate_of(found->record).limit, 5U);
    EXPECT_EQ(rate_of(found->record).period, kHour);
    erase_call_place(*tx, key, expected);
  }
  EXPECT_FALSE(find_throttled_call(*tx, task).value());
}

TEST_F(CallSlotRowsTest, VisitTheCountsOfThrottlesAfterThoseOfSlots) {
  const SlotService bank{.name = "bank"};
  const CallSlotKey slots = call_slot_key_of(kBankSpace, bank, "1");
  const CallSlotKey throttle = call_throttle_key_of(kBankSpace, bank, "1");
  const CallSlotKey elsewhere = call_throttle_key_of(NamespaceNumber(7), bank, "1");
  write_call_counts(*tx, throttle, {.service = bank, .key = "1", .queued = 2});
  write_call_counts(*tx, slots, {.service = bank, .key = "1", .held = 1});
  write_call_counts(*tx, elsewhere, {.service = bank, .key = "1", .queued = 1});
  const auto keys = [&](const std::optional<CallSlotKey>& behind) {
    std::vector<CallSlotKey> seen;
    EXPECT_TRUE(each_call_counts(*tx, kBankSpace, behind, [&](const CallSlotKey& key, const auto&) {
      seen.push_back(key);
      return true;
    }));
    return seen;
  };
  EXPECT_EQ(keys({}), (std::vector{slots, throttle}));
  EXPECT_EQ(keys(slots), std::vector{throttle});
  EXPECT_EQ(keys(throttle), std::vector<CallSlotKey>());
  EXPECT_THAT(namespaces_with_call_slots(*tx).value(),
              ElementsAre(kBankSpace, kBankSpace, NamespaceNumber(7)));
  PurgeBudget budget;
  EXPECT_TRUE(purge_call_slots(*tx, kBankSpace, budget).value());
  EXPECT_THAT(namespaces_with_call_slots(*tx).value(), ElementsAre(NamespaceNumber(7)));
}

TEST_F(CallSlotRowsTest, CountTheTasksOfEachKey) {
  const SlotService bank{.name = "bank"};
  const CallSlotKey key = call_slot_key_of(kBankSpace, bank, "1");
  const CallSlotKey other = call_slot_key_of(NamespaceNumber(7), bank, "1");
  EXPECT_FALSE(read_call_counts(*tx, key).value());
  write_call_counts(*tx, key, {.service = bank, .key = "1", .held = 2});
  write_call_counts(*tx, other, {.service = bank, .key = "1", .queued = 1});
  EXPECT_EQ(read_call_counts(*tx, key).value()->held, 2U);
  EXPECT_THAT(namespaces_with_call_slots(*tx).value(), ElementsAre(kBankSpace, NamespaceNumber(7)));
  size_t seen = 0;
  const auto count = [&](const CallSlotKey&, const CallSlotCounts&) {
    ++seen;
    return true;
  };
  EXPECT_TRUE(each_call_counts(*tx, kBankSpace, std::nullopt, count));
  EXPECT_EQ(seen, 1U);
  EXPECT_TRUE(each_call_counts(*tx, kBankSpace, key, count));
  EXPECT_EQ(seen, 1U) << "the walk begins behind the key";
  write_call_counts(*tx, key, {.service = bank, .key = "1"});
  EXPECT_FALSE(read_call_counts(*tx, key).value());
}

TEST_F(CallSlotRowsTest, LeaveWithTheirNamespace) {
  const StartTask task = slot_task("1", 4);
  const CallSlotKey key = call_slot_key_of(task);
  write_call_counts(*tx, key, {.service = {.name = "bank"}, .key = "1", .held = 1, .paused = 1});
  place(task, QueueRow::kCallHolder);
  place(slot_task("1", 5), QueueRow::kCallPaused);
  PurgeBudget small{.rows = 2};
  EXPECT_FALSE(purge_call_slots(*tx, kBankSpace, small).value());
  PurgeBudget rest;
  EXPECT_TRUE(purge_call_slots(*tx, kBankSpace, rest).value());
  EXPECT_THAT(numbers(QueueRow::kCallHolder, key), testing::IsEmpty());
  EXPECT_THAT(numbers(QueueRow::kCallPaused, key), testing::IsEmpty());
  EXPECT_THAT(namespaces_with_call_slots(*tx).value(), testing::IsEmpty());
}

}  // namespace
}  // namespace millrace
