#include "orchestrator/store/rows/history_rows.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).

int pinned(HistoryKind kind) {
  switch (kind) {
    case HistoryKind::kStarted:
      return 0;
    case HistoryKind::kEntered:
      return 1;
    case HistoryKind::kWoken:
      return 2;
    case HistoryKind::kElapsed:
      return 3;
    case HistoryKind::kPublished:
      return 4;
    case HistoryKind::kLog:
      return 5;
    case HistoryKind::kRaised:
      return 6;
    case HistoryKind::kCaught:
      return 7;
    case HistoryKind::kFixed:
      return 8;
    case HistoryKind::kCancelled:
      return 9;
    case HistoryKind::kEnded:
      return 10;
    case HistoryKind::kCalled:
      return 11;
    case HistoryKind::kReturned:
      return 12;
    case HistoryKind::kRetrying:
      return 13;
    case HistoryKind::kTimedOut:
      return 14;
    case HistoryKind::kSkipped:
      return 15;
    case HistoryKind::kRun:
      return 16;
    case HistoryKind::kOutput:
      return 17;
    case HistoryKind::kPaused:
      return 18;
    case HistoryKind::kResumed:
      return 19;
    case HistoryKind::kRevived:
      return 20;
    case HistoryKind::kContinued:
      return 21;
    case HistoryKind::kNoted:
      return 22;
    case HistoryKind::kCompensating:
      return 23;
    case HistoryKind::kUndoing:
      return 24;
    case HistoryKind::kUndone:
      return 25;
    case HistoryKind::kCompensationStopped:
      return 26;
    case HistoryKind::kQueued:
      return 27;
    case HistoryKind::kAdmitted:
      return 28;
    case HistoryKind::kThrottled:
      return 29;
    case HistoryKind::kReleased:
      return 30;
  }
  return -1;
}

TEST(HistoryRows, StoreEnumeratorsAsFixedNumbers) {
  expect_pinned<HistoryKind>("history", pinned, [](HistoryKind kind) {
    const auto read = decode_history(encode(HistoryRow{.records = {{.kind = kind}}}));
    return read && read->records.at(0).kind == kind;
  });
  // The data of the three records: none, a text, and the data of the input.
  HistoryRow row{.records = {{}, {}, {}}, .with_input = {2}};
  row.records[1].data = LazyJson::of_text("7");
  const std::string bytes = encode(row);
  // Version, namespace, instance, previous row, count. Then each record: time, kind, state, detail.
  const size_t head = 1 + 1 + 16 + 1 + 1;
  EXPECT_EQ(bytes.at(head + 4), 0);
  EXPECT_EQ(bytes.at(head + 5 + 4), 1);
  EXPECT_EQ(bytes.at(head + 5 + 5 + 2 + 4), 2);
}

TEST(HistoryRows, EncodeAndDecodeHistoryRecordsWithoutChange) {
  HistoryRow row{.ns = NamespaceNumber(2), .instance = id(1), .previous = 300};
  row.records = {{.time = kNow,
                  .kind = HistoryKind::kEntered,
                  .state = "pay",
                  .detail = Json{{"n", 1}},
                  .data = LazyJson(Json("x")),
                  .event = {2, 300}}};
  const HistoryRow read = decode_history(encode(row)).value();
  EXPECT_EQ(read.ns, row.ns);
  EXPECT_EQ(read.instance, row.instance);
  EXPECT_EQ(read.previous, 300U);
  ASSERT_EQ(read.records.size(), 1U);
  EXPECT_EQ(read.records[0].time, kNow);
  EXPECT_EQ(read.records[0].state, "pay");
  EXPECT_EQ(read.records[0].detail.text(), R"({"n":1})");
  EXPECT_EQ(read.records[0].data, row.records[0].data);
  expect_whole(encode(row), decode_history);
  EXPECT_EQ(read.records[0].event, (EventPosition{2, 300}));
  expect_known_versions(encode(row), 2, decode_history);
  std::string older = encode(row);
  older.front() = 1;
  older.resize(older.size() - 3);
  EXPECT_EQ(decode_history(older).value().records[0].event, EventPosition{});
}

class HistoryRowsTest : public StoreTest {
 protected:
  void write(uint64_t number, uint64_t previous, uint8_t of = 1) {
    HistoryRow row{.ns = NamespaceNumber(1), .instance = id(of), .previous = previous};
    row.records = {{.kind = HistoryKind::kLog, .state = std::to_string(number)}};
    write_history(*tx, number, row);
  }
  Result<std::vector<HistoryRecord>> read(uint64_t last) {
    return read_history(*tx, {.id = id(1), .ns = NamespaceNumber(1), .last_history = last});
  }
};

TEST_F(HistoryRowsTest, AreReadAlongTheChainOfTheRowsOfAnInstance) {
  write(1, 0);
  write(2, 0, 2);
  write(5, 1);
  const auto records = read(5).value();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].state, "1");
  EXPECT_EQ(records[1].state, "5");
}

TEST_F(HistoryRowsTest, AreReadUntilTheOldestRecordThatIsKept) {
  for (const uint64_t number : {1, 2, 3}) write(number, number - 1);
  for (const uint64_t count : {1, 2, 3}) {
    const Instance instance{.id = id(1),
                            .ns = NamespaceNumber(1),
                            .history_count = 3,
                            .history_trimmed = 3 - count,
                            .last_history = 3};
    EXPECT_EQ(read_history(*tx, instance).value().size(), count);
  }
}

TEST_F(HistoryRowsTest, AreReportedAsDamagedIfARowLeadsToAnotherInstanceOrToItself) {
  write(1, 0, 2);
  write(2, 1);
  EXPECT_EQ(read(2).error().code, kDamagedRow);
  write(3, 3);
  EXPECT_EQ(read(3).error().code, kDamagedRow);
}

TEST_F(HistoryRowsTest, HaveALinkWithThePreviousRowAndTheNumberOfRecords) {
  HistoryRow row{.ns = NamespaceNumber(1), .instance = id(1), .previous = 300};
  row.records.resize(3);
  for (const bool sealed : {false, true}) {
    row.sealed = sealed;
    const size_t bytes = write_history(*tx, 301, row);
    const auto link = read_history_link(*tx, 301).value();
    ASSERT_TRUE(link);
    EXPECT_EQ(link->instance, id(1));
    EXPECT_EQ(link->previous, 300U);
    EXPECT_EQ(link->records, 3U);
    EXPECT_EQ(link->bytes, bytes);
  }
  EXPECT_FALSE(read_history_link(*tx, 9).value());
  tx->put(Table::kHistory, rows::key_of(uint64_t{9}), "rubbish");
  EXPECT_EQ(read_history_link(*tx, 9).error().code, kDamagedRow);
}

TEST_F(HistoryRowsTest, BecomeTheFirstOfTheirChainWithoutOtherChanges) {
  HistoryRow row{.ns = NamespaceNumber(1), .instance = id(1), .previous = 300, .with_input = {1}};
  row.records.resize(2);
  row.records[0].data = LazyJson::of_text("7");
  for (const bool sealed : {false, true}) {
    row.sealed = sealed;
    const size_t before = write_history(*tx, 301, row);
    EXPECT_EQ(begin_history_at(*tx, 301).value(), before - 1) << "300 has two bytes, 0 has one";
    const auto value = tx->get(Table::kHistory, rows::key_of(uint64_t{301}));
    EXPECT_EQ(Seal::is_sealed(*value), sealed);
    const HistoryRow cut =
        rows::decode(*tx, Table::kHistory, rows::key_of(uint64_t{301}), *value, decode_history)
            .value();
    EXPECT_EQ(cut.previous, 0U);
    EXPECT_EQ(cut.records.at(0).data, row.records[0].data);
    EXPECT_EQ(cut.with_input, row.with_input);
  }
  EXPECT_EQ(begin_history_at(*tx, 9).error().code, kDamagedRow);
}

TEST_F(HistoryRowsTest, BecomeTheFirstOfTheirChainWithoutTheirOldestRecords) {
  HistoryRow row{
      .ns = NamespaceNumber(1), .instance = id(1), .previous = 300, .with_input = {0, 3}};
  row.records.resize(5);
  row.records[2].data = LazyJson::of_text("7");
  for (const bool sealed : {false, true}) {
    row.sealed = sealed;
    write_history(*tx, 301, row);
    const HistoryRow stored = read_history_row(*tx, 301).value();
    EXPECT_EQ(stored.sealed, sealed);
    const uint64_t bytes = begin_history_within(*tx, 301, stored, 2);
    EXPECT_EQ(read_history_link(*tx, 301).value()->bytes, bytes);
    const HistoryRow cut = read_history_row(*tx, 301).value();
    EXPECT_EQ(cut.previous, 0U);
    ASSERT_EQ(cut.records.size(), 3U);
    EXPECT_EQ(cut.records[0].data, row.records[2].data);
    EXPECT_EQ(cut.with_input, std::vector<size_t>{1});
    EXPECT_EQ(cut.sealed, sealed);
  }
  EXPECT_EQ(read_history_row(*tx, 9).error().code, kDamagedRow);
}

TEST_F(HistoryRowsTest, SayWhichOfTheirRecordsMayGo) {
  HistoryRow row{.ns = NamespaceNumber(1), .instance = id(1), .with_input = {3}};
  row.records.resize(5);
  row.records[1].data = LazyJson::of_text("\"" + std::string(1'000, 'a') + "\"");
  EXPECT_EQ(droppable_records(row, 2, std::nullopt), 3U);
  EXPECT_EQ(droppable_records(row, 5, std::nullopt), 0U);
  EXPECT_EQ(droppable_records(row, 100, std::nullopt), 0U);
  EXPECT_EQ(droppable_records(row, 0, std::nullopt), 4U) << "one record stays";
  EXPECT_EQ(droppable_records(row, std::nullopt, 500), 1U) << "the second record is large";
  EXPECT_EQ(droppable_records(row, std::nullopt, 1), 4U);
  EXPECT_EQ(droppable_records(row, 3, 500), 2U) << "the limit that is reached first";

  EXPECT_TRUE(has_data_from(row, 1));
  EXPECT_TRUE(has_data_from(row, 3)) << "the data of a record is the input";
  EXPECT_FALSE(has_data_from(row, 4));
  row.with_input.clear();
  EXPECT_FALSE(has_data_from(row, 2));
}

TEST_F(HistoryRowsTest, AreTrimmedRowsIfTheyAreOlderThanAllKeptRows) {
  write(2, 0);
  write(3, 2);
  write(5, 3);
  write(7, 5);
  Instance head{.id = id(1), .history_count = 4, .last_history = 7};
  const auto is_trimmed = [&](uint64_t number) {
    return is_trimmed_row(*tx, head, number).value();
  };
  EXPECT_FALSE(is_trimmed(2)) << "the history is not trimmed";
  head.history_trimmed = 2;
  EXPECT_FALSE(is_trimmed(3)) << "the chain still leads to the row";
  ASSERT_TRUE(begin_history_at(*tx, 5));
  EXPECT_TRUE(is_trimmed(2));
  EXPECT_TRUE(is_trimmed(3));
  EXPECT_FALSE(is_trimmed(5));
  EXPECT_FALSE(is_trimmed(6));
  EXPECT_FALSE(is_trimmed(7));
  tx->erase(Table::kHistory, rows::key_of(uint64_t{5}));
  EXPECT_FALSE(is_trimmed(3)) << "not all kept rows can be read";
}

TEST_F(HistoryRowsTest, HavePlacesWithTheNumbersOfTheirFirstRecords) {
  const auto write_records = [&](uint64_t number, uint64_t previous, size_t records) {
    HistoryRow row{.ns = NamespaceNumber(1), .instance = id(1), .previous = previous};
    row.records.resize(records);
    write_history(*tx, number, row);
  };
  write_records(3, 0, 4);
  write_records(5, 3, 1);
  write_records(9, 5, 2);
  using Place = std::array<uint64_t, 3>;  // row, number of its first record, number of records
  const auto places = [&](const Instance& instance, size_t most) {
    std::vector<Place> found;
    EXPECT_TRUE(each_history_place(*tx, instance, [&](const HistoryPlace& place) -> Result<bool> {
      found.push_back({place.row, place.first, place.records});
      return found.size() < most;
    }));
    return found;
  };
  Instance instance{.id = id(1), .ns = NamespaceNumber(1), .history_count = 7, .last_history = 9};
  const std::vector<Place> all{{9, 6, 2}, {5, 5, 1}, {3, 1, 4}};
  EXPECT_EQ(places(instance, 10), all);
  EXPECT_EQ(places(instance, 2), (std::vector<Place>{{9, 6, 2}, {5, 5, 1}}));
  instance.history_trimmed = 5;
  EXPECT_EQ(places(instance, 10), (std::vector<Place>{{9, 6, 2}}))
      << "older rows belong to nothing";
  instance.history_trimmed = 4;
  EXPECT_EQ(places(instance, 10), (std::vector<Place>{{9, 6, 2}, {5, 5, 1}}));
  instance.history_trimmed = 0;
  instance.history_count = 2;
  EXPECT_EQ(places(instance, 10), (std::vector<Place>{{9, 1, 2}, {5, 1, 1}, {3, 1, 4}}))
      << "the number of records in a damaged head is too small";
}

}  // namespace
}  // namespace millrace
