#include "orchestrator/store/rows/group_rows.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class GroupRows : public StoreTest {
 protected:
  GroupedEvent event(uint64_t number, uint16_t entry = 0) const {
    return {.queue = {.workflow = WorkflowNumber(4), .group = {7}, .entry = entry},
            .number = number,
            .record = {.position = {3, 70 + number},
                       .expires = kNow,
                       .event = R"({"specversion":"1.0","id":"1","source":"s","type":"t"})"}};
  }
};

TEST_F(GroupRows, RefuseANumberOfAnEventThatLeadsToNoValidKey) {
  Writer key;
  key.u8(3);
  key.u64(1);
  const std::string row = key.take();
  for (const std::string& value : {std::string(), std::string(600, 'x')}) {
    tx->put(Table::kGroups, row, value);
    const auto read = read_grouped(*tx, 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, kDamagedRow);
  }
}

TEST_F(GroupRows, StoreEventsByNumber) {
  write_grouped(*tx, event(9, 300));
  const auto read = read_grouped(*tx, 9).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->queue.workflow, WorkflowNumber(4));
  EXPECT_EQ(read->queue.entry, 300);
  EXPECT_EQ(read->number, 9U);
  EXPECT_EQ(read->record.position, (EventPosition{3, 79}));
  EXPECT_EQ(read->record.expires, kNow);
  EXPECT_EQ(event_of(*read).value().type, "t");
  EXPECT_EQ(last_grouped(*tx).value(), 9U);
  erase_grouped(*tx, read->queue, 9);
  EXPECT_FALSE(read_grouped(*tx, 9).value());
  EXPECT_EQ(last_grouped(*tx).value(), 0U);
  expect_whole(encode(event(9).record), decode_grouped);
  expect_known_versions(encode(event(9).record), 2, decode_grouped);
  std::string older = encode(event(9).record);
  older.front() = 1;
  older.pop_back();
  EXPECT_EQ(decode_grouped(older).value().position, (EventPosition{0, 79}));
}

TEST_F(GroupRows, ReturnTheOldestEventFirst) {
  for (const uint64_t number : {5, 3, 8}) write_grouped(*tx, event(number));
  EXPECT_EQ(read_first_grouped(*tx, event(0).queue).value()->row.number, 3U);
  EXPECT_FALSE(read_first_grouped(*tx, event(0, 1).queue).value());
  size_t events = 0;
  EXPECT_TRUE(each_grouped(*tx, [&](const GroupedEvent&) { ++events; }));
  EXPECT_EQ(events, 3U);
}

TEST_F(GroupRows, SkipAnEventThatDoesNotDecode) {
  GroupedEvent bad = event(3);
  bad.record.event = "{}";
  write_grouped(*tx, bad);
  write_grouped(*tx, event(5));
  EXPECT_EQ(read_first_grouped(*tx, bad.queue).error().code, kDamagedRow);
  size_t damages = 0;
  const auto found = read_first_grouped(*tx, bad.queue, [&](const Error&) { ++damages; });
  EXPECT_EQ(found.value()->row.number, 5U);
  EXPECT_EQ(damages, 1U);
}

TEST_F(GroupRows, EraseCountsWhenNoEventWaits) {
  const Fingerprint group{7};
  write_counts(*tx, WorkflowNumber(4), group, {2, 0});
  EXPECT_EQ(read_counts(*tx, WorkflowNumber(4), group).value(), (std::vector<uint32_t>{2, 0}));
  for (const uint64_t number : {3, 5}) write_grouped(*tx, event(number));
  EXPECT_EQ(count_grouped(*tx, WorkflowNumber(4), group, 2, nullptr).value(),
            (std::vector<uint32_t>{2, 0}));
  size_t groups = 0;
  const auto see = [&](const Fingerprint& one, const std::vector<uint32_t>&) -> Result<bool> {
    EXPECT_EQ(one, group);
    ++groups;
    return true;
  };
  EXPECT_TRUE(each_group(*tx, WorkflowNumber(4), std::nullopt, see));
  EXPECT_TRUE(each_group(*tx, WorkflowNumber(4), group, see));
  EXPECT_EQ(groups, 1U) << "no group comes after this group";
  write_counts(*tx, WorkflowNumber(4), group, {0, 0});
  EXPECT_FALSE(read_counts(*tx, WorkflowNumber(4), group).value());
  expect_whole(encode_counts({2, 300}), decode_counts);
  expect_known_versions(encode_counts({2, 300}), 1, decode_counts);
}

TEST_F(GroupRows, CloseGroupsOfAWorkflowByErasingTheirEventsUpToANumber) {
  for (const uint64_t number : {3, 5, 8}) write_grouped(*tx, event(number));
  write_counts(*tx, WorkflowNumber(4), {7}, {3});
  std::string at;
  PurgeBudget budget;
  std::string seen;
  const auto see = [&](const GroupedEvent& one, const Event&) -> Result<bool> {
    seen += std::to_string(one.number);
    return true;
  };
  EXPECT_TRUE(close_groups(*tx, WorkflowNumber(4), 5, at, budget, see, nullptr).value());
  EXPECT_EQ(seen, "35");
  EXPECT_FALSE(read_grouped(*tx, 5).value());
  EXPECT_TRUE(read_grouped(*tx, 8).value());
  EXPECT_FALSE(read_counts(*tx, WorkflowNumber(4), {7}).value());
}

TEST_F(GroupRows, HaveFixedFirstBytesInKeys) {
  EXPECT_EQ(static_cast<int>(GroupRow::kCounts), 1);
  EXPECT_EQ(static_cast<int>(GroupRow::kEvent), 2);
  EXPECT_EQ(static_cast<int>(GroupRow::kNumber), 3);
}

TEST_F(GroupRows, KeepTheEventsThatAreNotClosed) {
  const auto workflow = WorkflowNumber(4);
  for (const uint64_t number : {3, 5, 8}) write_grouped(*tx, event(number));
  GroupedEvent undecodable = event(6);
  undecodable.record.event = "{}";
  write_grouped(*tx, undecodable);
  GroupedEvent of_another = event(7);
  of_another.queue.workflow = WorkflowNumber(5);
  write_grouped(*tx, of_another);
  write_counts(*tx, workflow, {7}, {4});
  std::string at;
  std::string seen;
  size_t damages = 0;
  const auto close = [&](PurgeBudget budget, uint64_t kept) {
    const auto see = [&](const GroupedEvent& one, const Event&) -> Result<bool> {
      seen += std::to_string(one.number);
      return one.number != kept;
    };
    return close_groups(*tx, workflow, 100, at, budget, see, [&](const Error&) { ++damages; })
        .value();
  };
  EXPECT_FALSE(close({.rows = 1}, 3)) << "the budget is spent with the first event";
  EXPECT_EQ(seen, "3");
  EXPECT_TRUE(read_grouped(*tx, 3).value());
  EXPECT_TRUE(read_counts(*tx, workflow, {7}).value()) << "no event was erased";
  EXPECT_TRUE(close({}, 8)) << "the rest";
  EXPECT_EQ(seen, "358");
  EXPECT_EQ(damages, 1U);
  EXPECT_FALSE(read_counts(*tx, workflow, {7}).value());
  for (const auto& [number, is_kept] : std::vector<std::pair<uint64_t, bool>>{
           {3, true}, {5, false}, {6, true}, {7, true}, {8, true}}) {
    EXPECT_EQ(read_grouped(*tx, number).value().has_value(), is_kept) << number;
  }
}

}  // namespace
}  // namespace millrace
