#include "orchestrator/store/rows/index_build.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/support/index.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NamespaceNumber kNs{1};

class IndexBuildTest : public StoreTest {
 protected:
  /// Writes an instance with a history row of its own.
  void add(uint8_t last, InstanceStatus status) {
    Instance instance{.id = id(last), .ns = kNs, .revision = {WorkflowNumber(1), 1}};
    instance.status = status;
    instance.phase = has_ended(status) ? Phase::kEnded : Phase::kWaiting;
    if (has_ended(status)) instance.ended_at = kNow;
    instance.input = Json{{"n", last}};
    instance.data = Json{{"data", last}};
    instance.history_count = 1;
    instance.last_history = last;
    write_history(*tx, last,
                  {.ns = kNs,
                   .instance = instance.id,
                   .records = {{.time = kNow, .kind = HistoryKind::kStarted}}});
    write_instance(*tx, instance, {.input = true, .data = true});
  }
  /// Makes the head one of format 5, which has no sizes.
  void make_old(uint8_t last, Table table) {
    const std::string key = part_key(rows::instance_prefix(kNs, id(last)), Part::kHead);
    std::string head(*tx->get(table, key));
    Instance instance = decode_head(head).value();
    const size_t added = 6 + 1 + 1 + 2;  // sizes, size of the history, trimmed records, position
    const std::string whole = encode_head([&] {
      instance.part_bytes = {};
      instance.history_bytes = 0;
      instance.listen_from.event = {};
      return instance;
    }());
    head = whole.substr(0, whole.size() - added);
    head.front() = 6;
    ASSERT_TRUE(decode_head(head)) << "the head of version 6 decodes";
    tx->put(table, key, head);
  }
  /// Makes all steps, with a commit and a new process after each; returns their number.
  size_t build(size_t most_rows) {
    size_t steps = 0;
    for (; is_index_incomplete(*tx); ++steps) {
      EXPECT_TRUE(build_index_step(*tx, most_rows,
                                   [&](const Error& error) { damage.push_back(error.message); }));
      commit();
      tx.reset();
      environment.reset();
      environment = Environment::open(folder.path()).value();
      tx.emplace(*environment);
    }
    return steps;
  }
  /// Writes rows of several counted tables, of a namespace that exists.
  void add_counted_rows() {
    write_namespace(*tx, "shop", {.number = kNs, .created_at = kNow});
    write_workflow(*tx, kNs, "orders", {.number = WorkflowNumber(1), .latest = 2});
    for (const uint32_t revision : {1, 2}) {
      write_definition(*tx, {WorkflowNumber(1), revision},
                       {.created_at = kNow, .text = "id: orders"});
    }
    for (const char* const key : {"a", "b"}) {
      write_variable(*tx, {{.scope = VariableScope::kNamespace, .ns = kNs}, key}, {.bytes = "1"});
    }
    write_delayed(*tx, 1, {.ns = kNs, .instance = id(1), .at = kNow, .event = "{}"});
    write_delayed(*tx, 2, {.ns = NamespaceNumber(9), .instance = id(1), .at = kNow, .event = "{}"});
  }
  uint64_t size_of_counted() {
    const uint64_t sum = counted_size(*tx, kNs);
    EXPECT_GT(sum, 0U);
    return sum;
  }
  std::vector<uint8_t> with(InstanceStatus status) {
    std::vector<uint8_t> found;
    EXPECT_TRUE(each_by_status(*tx, kNs, WorkflowNumber(1), status, {}, [&](const InstanceId& one) {
      found.push_back(one.bytes.back());
      return true;
    }));
    return found;
  }

  std::vector<std::string> damage;
};

int pinned(IndexBuild::Stage stage) {
  switch (stage) {
    case IndexBuild::Stage::kErase:
      return 0;
    case IndexBuild::Stage::kLive:
      return 1;
    case IndexBuild::Stage::kEnded:
      return 2;
    case IndexBuild::Stage::kCounted:
      return 3;
  }
  return -1;
}

TEST_F(IndexBuildTest, ComputesTheIndexOfAnOlderFormatInStepsThatAKillMayInterrupt) {
  for (const uint8_t last : {1, 2, 3}) add(last, InstanceStatus::kWaiting);
  for (const uint8_t last : {4, 5}) add(last, InstanceStatus::kComplete);
  Usage whole{.live = 3, .ended = 2};
  for (const auto& [table, last] : {std::pair{Table::kLive, 1},
                                    {Table::kLive, 2},
                                    {Table::kLive, 3},
                                    {Table::kEnded, 4},
                                    {Table::kEnded, 5}}) {
    const Instance head =
        read_head(*tx, table, kNs, id(static_cast<uint8_t>(last))).value().value();
    whole.row_bytes += indexed(head).row_bytes;
    whole.history_bytes += tx->get(Table::kHistory, rows::key_of(last))->size();
    make_old(static_cast<uint8_t>(last), table);
  }
  request_index_build(*tx);
  commit();
  EXPECT_GE(build(1), 5U) << "a step has at least one instance";
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1, 2, 3));
  EXPECT_THAT(with(InstanceStatus::kComplete), ElementsAre(4, 5));
  const Usage built = read_usage(*tx, kNs).value();
  EXPECT_EQ(built.live, whole.live);
  EXPECT_EQ(built.ended, whole.ended);
  EXPECT_EQ(built.history_bytes, whole.history_bytes);
  Usage summed{.live = 3, .ended = 2, .history_bytes = whole.history_bytes};
  for (const uint8_t last : {1, 2, 3, 4, 5}) {
    const Instance head = read_head_anywhere(*tx, kNs, id(last)).value().value();
    summed.row_bytes += indexed(head).row_bytes;
    EXPECT_GT(head.part_bytes[static_cast<size_t>(Part::kInput)], 0U) << "the head has the sizes";
    EXPECT_GT(head.history_bytes, 0U);
  }
  EXPECT_EQ(built, summed);
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(IndexBuildTest, ReplacesAnIndexThatIsWrong) {
  add(1, InstanceStatus::kWaiting);
  IndexChanges changes;
  changes.add(*tx, {.id = id(9), .place = {.ns = kNs, .revision = {WorkflowNumber(1), 1}}});
  ASSERT_TRUE(changes.write(*tx, [](const Error&) {}));
  request_index_build(*tx);
  commit();
  build(100);
  EXPECT_THAT(with(InstanceStatus::kPending), IsEmpty());
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1));
  EXPECT_EQ(read_usage(*tx, kNs)->live, 1U);
}

TEST_F(IndexBuildTest, LeavesOutADamagedHead) {
  add(1, InstanceStatus::kWaiting);
  add(2, InstanceStatus::kWaiting);
  tx->put(Table::kLive, part_key(rows::instance_prefix(kNs, id(1)), Part::kHead), "rubbish");
  request_index_build(*tx);
  commit();
  build(100);
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(2));
  EXPECT_EQ(damage.size(), 1U);
}

TEST_F(IndexBuildTest, BeginsAgainIfTheRowOfItsProgressIsDamaged) {
  add(1, InstanceStatus::kWaiting);
  tx->put(Table::kMeta, "index", "rubbish");
  commit();
  build(100);
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1));
}

TEST_F(IndexBuildTest, BeginsAgainIfItsNextRowDoesNotExist) {
  add(1, InstanceStatus::kWaiting);
  const IndexBuild behind_all{.stage = IndexBuild::Stage::kEnded, .from = std::string(21, '\xff')};
  EXPECT_FALSE(begins_at_row(*tx, behind_all));
  tx->put(Table::kMeta, "index", encode(behind_all));
  commit();
  build(100);
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1));
}

TEST_F(IndexBuildTest, AddsTheSizesOfTheCountedRowsInStepsThatAKillMayInterrupt) {
  add_counted_rows();
  add(1, InstanceStatus::kWaiting);
  request_index_build(*tx);
  commit();
  EXPECT_GE(build(1), 8U) << "a step has one row";
  const Usage whole = read_usage(*tx, kNs).value();
  EXPECT_EQ(whole.live, 1U);
  EXPECT_EQ(whole.counted_bytes, size_of_counted());
  EXPECT_THAT(damage, IsEmpty());
  request_index_build(*tx);
  commit();
  build(100);
  EXPECT_EQ(read_usage(*tx, kNs), whole) << "it does not depend on the number of steps";
}

TEST_F(IndexBuildTest, AddsOnlyTheSizesOfTheCountedRowsToAnIndexThatLacksThem) {
  add(1, InstanceStatus::kWaiting);
  request_index_build(*tx);
  commit();
  build(100);
  const Usage before = read_usage(*tx, kNs).value();
  EXPECT_EQ(before.counted_bytes, 0U);
  add_counted_rows();
  for (int i = 0; i < 2; ++i) {  // the second time, the index has the sizes already
    request_count_of_rows(*tx);
    commit();
    build(1);
    Usage expected = before;
    expected.counted_bytes = size_of_counted();
    EXPECT_EQ(read_usage(*tx, kNs), expected);
  }
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1));
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(IndexBuildTest, StaysAsRequestedIfTheSizesOfTheCountedRowsAreRequestedToo) {
  request_index_build(*tx);
  request_count_of_rows(*tx);
  EXPECT_EQ(decode_index_build(*tx->get(Table::kMeta, "index"))->stage, IndexBuild::Stage::kErase);
}

TEST_F(IndexBuildTest, BeginsAgainIfARowOfUsageIsDamagedBeforeTheCountedRowsAreAdded) {
  add(1, InstanceStatus::kWaiting);
  add_counted_rows();
  request_index_build(*tx);
  commit();
  build(100);
  const Usage whole = read_usage(*tx, kNs).value();
  tx->put(Table::kUsage, rows::ns_prefix(kNs), "rubbish");
  request_count_of_rows(*tx);
  commit();
  build(100);
  EXPECT_EQ(read_usage(*tx, kNs), whole);
  EXPECT_EQ(damage.size(), 1U);
}

TEST_F(IndexBuildTest, BeginsAgainIfTheNextCountedRowDoesNotExist) {
  add(1, InstanceStatus::kWaiting);
  add_counted_rows();
  for (const std::string& from : {std::string("v\xff", 2), std::string("l"), std::string("v"),
                                  std::string("?key"), std::string("d") + std::string(600, 'k')}) {
    const IndexBuild wrong{.stage = IndexBuild::Stage::kCounted, .from = from};
    EXPECT_FALSE(begins_at_row(*tx, wrong)) << from;
    tx->put(Table::kMeta, "index", encode(wrong));
    commit();
    build(100);
    EXPECT_EQ(read_usage(*tx, kNs)->live, 1U);
    EXPECT_EQ(read_usage(*tx, kNs)->counted_bytes, size_of_counted());
  }
}

TEST_F(IndexBuildTest, HasARecordOfItsProgress) {
  for (const auto stage : {IndexBuild::Stage::kErase, IndexBuild::Stage::kLive,
                           IndexBuild::Stage::kEnded, IndexBuild::Stage::kCounted}) {
    const auto read = decode_index_build(encode({.stage = stage, .from = "key", .instances = 300}));
    ASSERT_TRUE(read);
    EXPECT_EQ(static_cast<int>(read->stage), pinned(stage));
    EXPECT_EQ(read->from, "key");
    EXPECT_EQ(read->instances, 300U);
  }
  expect_whole(encode(IndexBuild{}), decode_index_build);
}

TEST_F(IndexBuildTest, ErasesAWrongIndexInSteps) {
  add(1, InstanceStatus::kWaiting);
  IndexChanges changes;
  for (const uint8_t last : {7, 8, 9}) {
    changes.add(*tx, {.id = id(last), .place = {.ns = kNs, .revision = {WorkflowNumber(1), 1}}});
  }
  ASSERT_TRUE(changes.write(*tx, [](const Error&) {}));
  request_index_build(*tx);
  commit();
  EXPECT_GT(build(2), 3U);
  EXPECT_THAT(with(InstanceStatus::kPending), IsEmpty());
  EXPECT_THAT(with(InstanceStatus::kWaiting), ElementsAre(1));
  EXPECT_EQ(read_usage(*tx, kNs)->live, 1U);
}

}  // namespace
}  // namespace millrace
