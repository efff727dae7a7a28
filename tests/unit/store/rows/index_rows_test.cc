#include "orchestrator/store/rows/index_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class IndexRowsTest : public StoreTest {
 protected:
  static IndexedInstance one(uint8_t last, InstanceStatus status, uint32_t state = 0,
                             uint64_t row_bytes = 100, uint64_t history_bytes = 40) {
    return {.id = id(last),
            .place = {.ns = kShop, .revision = {kOrders, 2}, .state = state, .status = status},
            .row_bytes = row_bytes,
            .history_bytes = history_bytes};
  }

  void write() {
    ASSERT_TRUE(changes.write(*tx, [&](const Error& error) { damage.push_back(error.message); }));
  }

  std::vector<uint8_t> with(InstanceStatus status, std::optional<InstanceId> behind = {}) {
    std::vector<uint8_t> found;
    EXPECT_TRUE(each_by_status(*tx, kShop, kOrders, status, behind, [&](const InstanceId& one) {
      found.push_back(one.bytes.back());
      return true;
    }));
    return found;
  }
  /// The counts, as `revision:state:status=count`.
  std::vector<std::string> counts(std::optional<WorkflowNumber> workflow = {}, size_t most = 100) {
    std::vector<std::string> found;
    EXPECT_TRUE(each_count(*tx, kShop, workflow, [&](const CountPlace& place, uint64_t count) {
      found.push_back(fmt::format("{}:{}:{}={}", place.revision.number, place.state,
                                  to_string(place.status), count));
      return found.size() < most;
    }));
    return found;
  }

  IndexChanges changes;
  std::vector<std::string> damage;
};

TEST_F(IndexRowsTest, HaveTheCountsOfANamespaceAndOfAWorkflow) {
  using enum InstanceStatus;
  IndexedInstance other = one(3, kFailed);
  other.place.revision.workflow = WorkflowNumber(9);
  changes.add(*tx, one(1, kWaiting, 2));
  changes.add(*tx, one(2, kWaiting, 2));
  changes.add(*tx, other);
  write();
  EXPECT_THAT(counts(), ElementsAre("2:2:waiting=2", "2:0:failed=1"));
  EXPECT_THAT(counts(kOrders), ElementsAre("2:2:waiting=2"));
  EXPECT_THAT(counts(WorkflowNumber(9)), ElementsAre("2:0:failed=1"));
  EXPECT_THAT(counts(WorkflowNumber(4)), IsEmpty());
  EXPECT_THAT(counts({}, 1), ElementsAre("2:2:waiting=2"));
}

TEST_F(IndexRowsTest, HaveEachInstanceUnderItsStatusInTheOrderOfTheIds) {
  for (const uint8_t last : {5, 1, 9}) changes.add(*tx, one(last, InstanceStatus::kWaiting));
  changes.add(*tx, one(4, InstanceStatus::kFailed));
  write();
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1, 5, 9));
  EXPECT_THAT(with(InstanceStatus::kWaiting, id(1)), ElementsAre(5, 9));
  EXPECT_THAT(with(InstanceStatus::kFailed), ElementsAre(4));
  EXPECT_THAT(with(InstanceStatus::kComplete), IsEmpty());
  EXPECT_TRUE(is_indexed(*tx, one(4, InstanceStatus::kFailed)));
  EXPECT_FALSE(is_indexed(*tx, one(4, InstanceStatus::kWaiting)));
}

TEST_F(IndexRowsTest, HaveTheInstancesOfAWorkflowAndStatusInARange) {
  using enum InstanceStatus;
  for (const uint8_t last : {5, 1, 9}) changes.add(*tx, one(last, kWaiting));
  changes.add(*tx, one(7, kFailed));
  write();
  const auto some = [&](InstanceStatus status, const IdRange& range, Direction direction,
                        size_t most = 10) {
    std::vector<int> found;
    const auto ids = some_by_status(*tx, kShop, kOrders, status, range, direction, most);
    for (const InstanceId& instance : ids.value()) found.push_back(instance.bytes.back());
    return found;
  };
  EXPECT_THAT(some(kWaiting, {}, Direction::kForward), ElementsAre(1, 5, 9));
  EXPECT_THAT(some(kWaiting, {}, Direction::kBackward), ElementsAre(9, 5, 1));
  EXPECT_THAT(some(kWaiting, {}, Direction::kForward, 2), ElementsAre(1, 5));
  EXPECT_THAT(some(kWaiting, {}, Direction::kBackward, 2), ElementsAre(9, 5));
  EXPECT_THAT(some(kWaiting, {}, Direction::kForward, 0), IsEmpty());
  const IdRange middle{.first = id(2), .last = id(8)};
  EXPECT_THAT(some(kWaiting, middle, Direction::kForward), ElementsAre(5));
  EXPECT_THAT(some(kWaiting, middle, Direction::kBackward), ElementsAre(5));
  const IdRange both{.first = id(1), .last = id(5)};
  EXPECT_THAT(some(kWaiting, both, Direction::kForward), ElementsAre(1, 5));
  EXPECT_THAT(some(kWaiting, both, Direction::kBackward), ElementsAre(5, 1));
  EXPECT_THAT(some(kWaiting, {.first = id(9), .last = id(1)}, Direction::kForward), IsEmpty());
  EXPECT_THAT(some(kFailed, {}, Direction::kBackward), ElementsAre(7));
  EXPECT_THAT(some(kComplete, {}, Direction::kBackward), IsEmpty());
}

TEST_F(IndexRowsTest, HaveTheFirstInstanceBehindThoseOfAWorkflowAndStatus) {
  using enum InstanceStatus;
  IndexedInstance other = one(3, kFailed);
  other.place.revision.workflow = WorkflowNumber(9);
  IndexedInstance elsewhere = other;
  elsewhere.place.ns = NamespaceNumber(4);
  changes.add(*tx, one(5, kComplete));
  changes.add(*tx, one(2, kComplete));
  changes.add(*tx, one(1, kTimedOut));
  changes.add(*tx, other);
  changes.add(*tx, elsewhere);
  write();
  const auto first = [&](WorkflowNumber workflow, std::optional<InstanceStatus> behind) {
    const auto found = first_by_status(*tx, kShop, workflow, behind).value();
    if (!found) return std::string("none");
    return fmt::format("{} {} {}", static_cast<uint32_t>(found->place.revision.workflow),
                       to_string(found->place.status), found->id.bytes.back());
  };
  EXPECT_EQ(first(WorkflowNumber(0), std::nullopt), "7 complete 2");
  EXPECT_EQ(first(kOrders, std::nullopt), "7 complete 2");
  EXPECT_EQ(first(kOrders, kComplete), "7 timedout 1");
  EXPECT_EQ(first(kOrders, kTimedOut), "9 failed 3");
  EXPECT_EQ(first(WorkflowNumber(8), std::nullopt), "9 failed 3");
  EXPECT_EQ(first(WorkflowNumber(9), kFailed), "none");
}

TEST_F(IndexRowsTest, CountInstancesByRevisionStateAndStatus) {
  changes.add(*tx, one(1, InstanceStatus::kWaiting, 0));
  changes.add(*tx, one(2, InstanceStatus::kWaiting, 0));
  changes.add(*tx, one(3, InstanceStatus::kWaiting, 1));
  write();
  EXPECT_THAT(counts(), ElementsAre("2:0:waiting=2", "2:1:waiting=1"));
  changes.change(*tx, one(3, InstanceStatus::kWaiting, 1), one(3, InstanceStatus::kComplete, 1));
  changes.remove(*tx, one(1, InstanceStatus::kWaiting, 0));
  write();
  EXPECT_THAT(counts(), ElementsAre("2:0:waiting=1", "2:1:complete=1"))
      << "a count of 0 has no row";
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(2));
}

TEST_F(IndexRowsTest, AreSummedUpWithTheChangesThatAreNotWrittenYet) {
  using enum InstanceStatus;
  const std::vector all = {kComplete, kFailed};
  const auto sum = [&] { return changes.count(*tx, kShop, kOrders, all).value(); };
  IndexedInstance elsewhere = one(9, kFailed);
  elsewhere.place.revision.workflow = WorkflowNumber(8);
  changes.add(*tx, one(1, kComplete, 0, 100, 10));
  changes.add(*tx, one(2, kFailed, 1, 50, 5));
  changes.add(*tx, one(3, kWaiting, 0, 20, 2));
  changes.add(*tx, elsewhere);
  EXPECT_EQ(sum(), 2U);
  EXPECT_EQ(changes.bytes(*tx, kShop).value(), 187U + 140U);
  write();
  EXPECT_EQ(sum(), 2U);
  EXPECT_EQ(changes.bytes(*tx, kShop).value(), 187U + 140U);
  changes.remove(*tx, one(2, kFailed, 1, 50, 5));
  EXPECT_EQ(sum(), 1U);
  EXPECT_EQ(changes.bytes(*tx, kShop).value(), 132U + 140U);
  EXPECT_EQ(changes.count(*tx, NamespaceNumber(4), kOrders, all).value(), 0U);
  tx->put(Table::kCounts, count_key(one(1, kComplete).place), "rubbish");
  EXPECT_TRUE(is_damaged_row(changes.count(*tx, kShop, kOrders, all).error()));
}

TEST_F(IndexRowsTest, AddUpTheSizesOfTheInstancesOfANamespace) {
  changes.add(*tx, one(1, InstanceStatus::kWaiting, 0, 100, 10));
  changes.add(*tx, one(2, InstanceStatus::kFailed, 0, 50, 5));
  write();
  EXPECT_EQ(read_usage(*tx, kShop),
            (Usage{.live = 1, .ended = 1, .row_bytes = 150, .history_bytes = 15}));
  changes.change(*tx, one(1, InstanceStatus::kWaiting, 0, 100, 10),
                 one(1, InstanceStatus::kComplete, 0, 30, 20));
  write();
  EXPECT_EQ(read_usage(*tx, kShop),
            (Usage{.live = 0, .ended = 2, .row_bytes = 80, .history_bytes = 25}));
  changes.remove(*tx, one(1, InstanceStatus::kComplete, 0, 30, 20));
  changes.remove(*tx, one(2, InstanceStatus::kFailed, 0, 50, 5));
  write();
  EXPECT_EQ(read_usage(*tx, kShop), Usage{});
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(IndexRowsTest, AddUpTheSizesOfTheCountedRowsOfANamespace) {
  changes.add_bytes(kShop, 70);
  changes.add_bytes(kShop, -20);
  EXPECT_EQ(changes.all_bytes(*tx, kShop).value(), 50U);
  EXPECT_EQ(changes.bytes(*tx, kShop).value(), 0U) << "these are no bytes of instances";
  write();
  EXPECT_EQ(read_usage(*tx, kShop), Usage{.counted_bytes = 50});
  changes.add(*tx, one(1, InstanceStatus::kWaiting, 0, 100, 10));
  changes.add_bytes(kShop, 5);
  EXPECT_EQ(changes.all_bytes(*tx, kShop).value(), 165U);
  EXPECT_EQ(changes.bytes(*tx, kShop).value(), 110U);
  write();
  EXPECT_EQ(read_usage(*tx, kShop)->all_bytes(), 165U);
  changes.remove(*tx, one(1, InstanceStatus::kWaiting, 0, 100, 10));
  write();
  EXPECT_EQ(read_usage(*tx, kShop), Usage{.counted_bytes = 55});
  changes.add_bytes(kShop, -55);
  write();
  EXPECT_FALSE(tx->get(Table::kUsage, rows::ns_prefix(kShop)));
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(IndexRowsTest, AreNotChangedByCountedRowsOfTheSameSize) {
  changes.add_bytes(kShop, 0);
  changes.add_bytes(NamespaceNumber(4), 9);
  changes.add_bytes(NamespaceNumber(4), -9);
  write();
  EXPECT_TRUE(tx->write_set().empty());
}

TEST_F(IndexRowsTest, AreComputedAgainAfterANegativeSizeOfCountedRows) {
  changes.add_bytes(kShop, 10);
  write();
  changes.add_bytes(kShop, -11);
  write();
  EXPECT_THAT(damage, ElementsAre(HasSubstr("usage")));
  EXPECT_TRUE(is_index_incomplete(*tx));
}

TEST_F(IndexRowsTest, HaveNoCountedRowsInTheRecordsOfEarlierReleases) {
  const Usage usage{.live = 1, .ended = 2, .row_bytes = 3, .history_bytes = 4};
  std::string bytes = encode(usage);
  bytes.front() = 1;
  bytes.pop_back();
  EXPECT_EQ(decode_usage(bytes), usage);
  expect_whole(encode(Usage{.live = 1, .counted_bytes = 300}), decode_usage);
  expect_known_versions(encode(usage), 2, decode_usage);
}

TEST_F(IndexRowsTest, HaveTheBoundsOfTheStartsUntilTheLastInstanceIsDeleted) {
  EXPECT_FALSE(read_start_bounds(*tx, kShop).value()) << "there is no row";
  IndexedInstance late = one(1, InstanceStatus::kWaiting);
  late.starts.include(late.id, time_of(late.id) + std::chrono::hours(2));
  IndexedInstance early = one(2, InstanceStatus::kWaiting);
  early.starts.include(early.id, time_of(early.id) - std::chrono::seconds(3));
  changes.add(*tx, late);
  write();
  changes.add(*tx, early);
  write();
  StartBounds both = late.starts;
  both.include(early.starts);
  EXPECT_EQ(read_start_bounds(*tx, kShop).value(), both);
  EXPECT_EQ(decode_usage(encode(read_usage(*tx, kShop).value())), read_usage(*tx, kShop));
  changes.remove(*tx, late);
  write();
  EXPECT_EQ(read_start_bounds(*tx, kShop).value(), both) << "the bounds stay wider";
  changes.remove(*tx, early);
  write();
  EXPECT_FALSE(read_start_bounds(*tx, kShop).value());
}

TEST_F(IndexRowsTest, HaveNoBoundsOfTheStartsWhileTheIndexIsDamagedOrIncomplete) {
  changes.add(*tx, one(1, InstanceStatus::kWaiting));
  write();
  EXPECT_TRUE(read_start_bounds(*tx, kShop).value());
  const std::string key = rows::ns_prefix(kShop);
  Usage negative = read_usage(*tx, kShop).value();
  negative.starts.late_by = Duration(-1);
  for (const std::string& bytes : {std::string("rubbish"), encode(negative)}) {
    tx->put(Table::kUsage, key, bytes);
    EXPECT_FALSE(read_start_bounds(*tx, kShop).value());
  }
  tx->put(Table::kUsage, key, encode(Usage{.live = 1}));
  EXPECT_TRUE(read_start_bounds(*tx, kShop).value());
  request_index_build(*tx);
  EXPECT_FALSE(read_start_bounds(*tx, kShop).value());
}

TEST_F(IndexRowsTest, AreNotWrittenAfterTheChangesWereCleared) {
  changes.add(*tx, one(1, InstanceStatus::kWaiting));
  tx->drop();
  changes.clear();
  write();
  EXPECT_TRUE(tx->write_set().empty());
}

TEST_F(IndexRowsTest, AreComputedAgainAfterADamagedOrNegativeCount) {
  const std::string key = count_key(one(1, InstanceStatus::kWaiting).place);
  tx->put(Table::kCounts, key, "rubbish");
  changes.add(*tx, one(1, InstanceStatus::kWaiting));
  write();
  EXPECT_THAT(damage, ElementsAre(HasSubstr("counts")));
  EXPECT_THAT(counts(), ElementsAre("2:0:waiting=1"));
  EXPECT_TRUE(is_index_incomplete(*tx));
  tx->erase(Table::kCounts, key);
  damage.clear();
  changes.remove(*tx, one(1, InstanceStatus::kWaiting));
  write();
  EXPECT_THAT(damage, ElementsAre(HasSubstr("it counts fewer instances or bytes than have ended")));
  EXPECT_THAT(counts(), IsEmpty());
}

TEST_F(IndexRowsTest, AreDamagedWithKeysOrRecordsOfAnotherForm) {
  EXPECT_FALSE(decode_by_status_key("short"));
  EXPECT_FALSE(decode_count_key("short"));
  EXPECT_FALSE(decode_count("rubbish"));
  EXPECT_FALSE(decode_usage("rubbish"));
  const IndexedInstance whole = one(1, InstanceStatus::kTimedOut, 5);
  const auto key = decode_by_status_key(by_status_key(whole.place, whole.id));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->id, whole.id);
  EXPECT_EQ(key->place.status, InstanceStatus::kTimedOut);
  EXPECT_EQ(decode_count_key(count_key(whole.place)), whole.place);
}

}  // namespace
}  // namespace millrace
