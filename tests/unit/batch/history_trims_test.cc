// History trims: the oldest rows of a long history leave its chain when the instance is written.
#include "orchestrator/batch/history_trims.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class HistoryTrimsTest : public BatchPartTest {
 protected:
  HistoryTrimsTest() { instance.ns = ns; }

  void limit(const char* limits) {
    set_settings({{"retention", {{"history", Json::parse(limits)}}}});
  }
  /// Appends a row with `records` records, of about `bytes` bytes, to the history.
  void append(size_t records, size_t bytes = 0) {
    HistoryRow row{.ns = ns, .instance = instance.id, .previous = instance.last_history};
    row.records.resize(records);
    for (HistoryRecord& record : row.records) record.time = now;
    if (bytes > 0) row.records[0].data = LazyJson::of_text("\"" + std::string(bytes, 'a') + "\"");
    instance.history_bytes += write_history(*tx, ++instance.last_history, row);
    instance.history_count += records;
  }
  void append_rows(size_t count, size_t records, size_t bytes = 0) {
    for (size_t i = 0; i < count; ++i) append(records, bytes);
  }
  void trim() {
    batches.begin();
    const Status done = trims.trim(instance);
    ASSERT_TRUE(done) << done.error().message;
  }
  bool trim_stored() {
    batches.begin();
    PurgeBudget budget;
    const auto done = trims.trim_stored(instance, budget);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(false);
  }
  /// Expects that the head has the records and the bytes of the rows in its chain.
  void expect_fits() {
    uint64_t records = 0;
    uint64_t bytes = 0;
    for (uint64_t number = instance.last_history; number != 0;) {
      const auto link = read_history_link(*tx, number).value();
      ASSERT_TRUE(link);
      records += link->records;
      bytes += link->bytes;
      number = link->previous;
    }
    EXPECT_EQ(instance.history_count - instance.history_trimmed, records);
    EXPECT_EQ(instance.history_bytes, bytes);
  }

  Instance instance{.id = numbered_id(7)};
  HistoryTrims trims{batch};
};

TEST_F(HistoryTrimsTest, LeaveAHistoryWithoutALimitAsItIs) {
  append_rows(300, 2);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  EXPECT_THAT(batch.trimmed_rows, IsEmpty());
}

TEST_F(HistoryTrimsTest, StartWhenTheHistoryHasMoreThanTwiceAsManyRecords) {
  limit(R"({"records": 100})");
  append_rows(100, 2);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  append(2);
  trim();
  EXPECT_EQ(instance.history_trimmed, 102U) << "the newest 100 records stay";
  EXPECT_EQ(batch.outcome.counts.retention[ns].trimmed, 102U);
  EXPECT_THAT(batch.trimmed_rows, ElementsAre(std::pair(ns, 51)));
  expect_fits();
  trim();
  EXPECT_THAT(batch.trimmed_rows, SizeIs(1));
}

TEST_F(HistoryTrimsTest, KeepAsMuchAsTheLimitsOfTheWorkflowSay) {
  const WorkflowNumber waits = define(kWaits).number;
  set_settings(Json::parse(R"({"retention": {
      "history": {"records": 100}, "workflows": {"waits": {"history": {"records": 200}}}}})"));
  append_rows(300, 1);
  instance.revision = {waits, 1};
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  append_rows(150, 1);
  trim();
  EXPECT_EQ(instance.history_trimmed, 250U);
  instance.revision = {};
  trim();
  EXPECT_EQ(instance.history_trimmed, 250U) << "200 records are not more than twice 100";
  append(1);
  trim();
  EXPECT_EQ(instance.history_trimmed, 351U) << "another workflow has the limits of the namespace";
  expect_fits();
}

TEST_F(HistoryTrimsTest, KeepWholeRows) {
  limit(R"({"records": 100})");
  append_rows(5, 30);
  append(70);
  trim();
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 100U);
  append(150);
  trim();
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 150U);
  append(99);
  trim();
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 249U)
      << "the newest two rows are needed for 100 records, and no row is left behind them";
  EXPECT_EQ(batch.outcome.counts.retention[ns].trimmed, instance.history_trimmed)
      << "the records of each trim are counted once";
  expect_fits();
}

TEST_F(HistoryTrimsTest, OfAStoredInstanceAreMadeWithinItsOldestRow) {
  limit(R"({"records": 100})");
  append(500);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_trimmed, 400U);
  EXPECT_THAT(batch.trimmed_rows, IsEmpty()) << "no row is left behind";
  expect_fits();
  append(80);
  append(1'000);
  append(30);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 100U);
  EXPECT_THAT(batch.trimmed_rows, ElementsAre(std::pair(ns, 2)));
  expect_fits();
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 100U) << "it is short enough";
  EXPECT_THAT(batch.trimmed_rows, SizeIs(1));
}

TEST_F(HistoryTrimsTest, OfAStoredInstanceKeepARowThatIsNotTooLong) {
  limit(R"({"records": 100})");
  append_rows(5, 30);
  append(150);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 150U);
  EXPECT_THAT(batch.trimmed_rows, ElementsAre(std::pair(ns, 5)));
  expect_fits();
}

TEST_F(HistoryTrimsTest, OfAStoredInstanceCountTheBytesOfRecords) {
  limit(R"({"bytes": "64KiB"})");
  append(300, 200'000);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_trimmed, 0U) << "the newest 64 KiB begin in the oldest record";
  append_rows(20, 1, 10'000);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 7U);
  expect_fits();
}

TEST_F(HistoryTrimsTest, OfAStoredInstanceContinueInTheNextBatch) {
  limit(R"({"records": 1500})");
  append_rows(3'100, 1);
  EXPECT_FALSE(trim_stored());
  EXPECT_EQ(instance.history_trimmed, 0U);
  EXPECT_TRUE(trim_stored());
  EXPECT_EQ(instance.history_trimmed, 1'600U);
  expect_fits();
}

TEST_F(HistoryTrimsTest, NoteTheInstancesWhoseHistoryIsStillTooLong) {
  limit(R"({"records": 100})");
  append_rows(300, 1);
  trim();
  EXPECT_THAT(trims.take_left(ns).value(), IsEmpty());
  append(500);
  trim();
  EXPECT_THAT(trims.take_left(ns).value(), ElementsAre(instance.id));
  EXPECT_THAT(trims.take_left(ns).value(), IsEmpty());
  for (uint32_t i = 0; i < 1'001; ++i) {
    instance.id.bytes[0] = static_cast<uint8_t>(i >> 8);
    instance.id.bytes[1] = static_cast<uint8_t>(i);
    batch.trims_histories = false;
    trim();
  }
  EXPECT_EQ(trims.take_left(ns), std::nullopt) << "any instance may be too long";
  EXPECT_THAT(trims.take_left(ns).value(), IsEmpty());
}

TEST_F(HistoryTrimsTest, StartWhenTheHistoryHasMoreThanTwiceAsManyBytes) {
  limit(R"({"bytes": "64KiB"})");
  append_rows(12, 1, 10'000);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  append_rows(3, 1, 10'000);
  trim();
  EXPECT_EQ(instance.history_count - instance.history_trimmed, 7U);
  EXPECT_GE(instance.history_bytes, uint64_t{64} << 10);
  expect_fits();
}

TEST_F(HistoryTrimsTest, KeepTheNewestRowWhateverItsSize) {
  limit(R"({"records": 100, "bytes": "64KiB"})");
  append(500, 200'000);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  append(500, 200'000);
  trim();
  EXPECT_EQ(instance.history_trimmed, 500U);
  EXPECT_THAT(batch.trimmed_rows, ElementsAre(std::pair(ns, 1)));
  expect_fits();
}

TEST_F(HistoryTrimsTest, LookAtAThousandRowsInABatchAndContinueInTheNext) {
  limit(R"({"records": 1500})");
  append_rows(3'100, 1);
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  append_rows(10, 1);
  trim();
  EXPECT_EQ(instance.history_trimmed, 1'600U)
      << "the 1500 newest records from the begin of the walk stay, and all later ones";
  expect_fits();
}

TEST_F(HistoryTrimsTest, StartAgainAfterALostBatch) {
  limit(R"({"records": 1500})");
  append_rows(3'100, 1);
  trim();
  trims.clear();
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  trim();
  EXPECT_EQ(instance.history_trimmed, 1'600U);
}

TEST_F(HistoryTrimsTest, WaitWhileTooManyPurgesRun) {
  limit(R"({"records": 100})");
  append_rows(300, 1);
  batch.trims_histories = false;
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  batch.trims_histories = true;
  trim();
  EXPECT_EQ(instance.history_trimmed, 200U);
}

TEST_F(HistoryTrimsTest, LeaveADamagedHistoryAsItIs) {
  limit(R"({"records": 100})");
  append_rows(300, 1);
  tx->put(Table::kHistory, rows::key_of(uint64_t{290}), "rubbish");
  trim();
  tx->erase(Table::kHistory, rows::key_of(uint64_t{290}));
  trim();
  EXPECT_EQ(instance.history_trimmed, 0U);
  EXPECT_EQ(damages.count(), 2U);
}

TEST_F(HistoryTrimsTest, AreMadeWhenAnInstanceIsWritten) {
  limit(R"({"records": 100})");
  const WorkflowEntry loops = define(R"(
id: loops
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)");
  const InstanceId id = start(loops);
  commit_batch();
  const Event go{.id = "1", .source = "/s", .type = "go"};
  std::vector<uint64_t> trimmed;
  for (int i = 0; i < 150; ++i) {
    LoadedInstance* const loaded = instances.load(now, ns, id).value();
    ASSERT_NE(loaded, nullptr);
    ASSERT_TRUE(instances.step(now, *loaded, Matched{.event = &go, .entries = {0}}));
    commit_batch();
    for (const auto& [of, row] : std::exchange(batch.trimmed_rows, {})) trimmed.push_back(row);
  }
  EXPECT_THAT(trimmed, SizeIs(testing::Gt(0U)));
  const auto stored = read_instance(*tx, ns, id).value();
  EXPECT_GT(stored->history_trimmed, 0U);
  const auto records = read_history(*tx, *stored).value();
  EXPECT_EQ(records.size(), stored->history_count - stored->history_trimmed);
  EXPECT_GE(records.size(), 100U);
  instance = *stored;
  expect_fits();
  EXPECT_TRUE(is_trimmed_row(*tx, *stored, trimmed.back()).value());
}

}  // namespace
}  // namespace millrace
