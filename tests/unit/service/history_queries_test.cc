// The query for a page of the history of an instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/page.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

class HistoryQueriesTest : public QueryTest {
 protected:
  HistoryQueriesTest() : waits(apply(kWaits)) {}

  static Ask history(HistoryFilter filter = {}) {
    return [=](Queries& queries, const View& view) {
      return queries.history(view, "default", numbered_id(1), filter);
    };
  }

  /// Stores an instance with a history of rows with so many records, in this order. The detail of
  /// each record is its number; its data is `bytes` bytes long.
  void store_history(const std::vector<size_t>& rows, size_t bytes = 1) {
    Instance instance = waiting_instance(waits, 1);
    size_t number = 0;
    for (const size_t records : rows) {
      HistoryRow row{.ns = ns, .instance = instance.id, .previous = instance.last_history};
      for (size_t i = 0; i < records; ++i) {
        row.records.push_back({.time = now,
                               .kind = HistoryKind::kLog,
                               .detail = Json{{"n", ++number}},
                               .data = Json(std::string(bytes, 'x'))});
      }
      write_history(*tx, ++instance.last_history, row);
    }
    instance.history_count = number;
    store(instance);
  }

  /// The numbers of the records of all pages: "1 2 | 3".
  std::string all_pages(HistoryFilter filter) {
    std::string text;
    Json next = "";
    while (next.is_string()) {
      filter.cursor = next.get<std::string>();
      const Json page = answer(history(filter));
      if (page.is_null()) return text;
      if (!text.empty()) text += "| ";
      for (const Json& record : page["items"]) {
        EXPECT_EQ(record["detail"]["n"], record["number"]);
        text += record["number"].dump() + " ";
      }
      next = page["next"];
    }
    return text;
  }

  /// The line of the instance in the archive; null: there is none.
  Json archived(uint64_t last_history) {
    return answer([=](Queries& queries, const View& view) -> Result<Json> {
      const auto line = TRY(queries.archive_line(
          view, "default", {.id = numbered_id(1), .last_history = last_history}));
      if (!line) return Json();
      return parse_json(*line);
    });
  }

  const WorkflowNumber waits;
};

TEST_F(HistoryQueriesTest, ShowEachRecordOfTheHistory) {
  Instance instance = waiting_instance(waits, 1);
  instance.last_history = 2;
  instance.history_count = 3;
  write_history(
      *tx, 1,
      {.ns = ns,
       .instance = instance.id,
       .records = {{.time = now, .kind = HistoryKind::kStarted, .detail = Json{{"by", "call"}}},
                   {.time = now, .kind = HistoryKind::kEntered, .state = "wait"}},
       .with_input = {1}});
  write_history(*tx, 2,
                {.ns = ns,
                 .instance = instance.id,
                 .previous = 1,
                 .records = {{.time = now + seconds(1),
                              .kind = HistoryKind::kPaused,
                              .data = Json{{"paid", true}}}}});
  store(instance);
  Json whole = Json::parse(R"({"items": [
    {"number": 1, "time": "2023-11-14T22:13:20.000Z", "kind": "started", "detail": {"by": "call"}},
    {"number": 2, "time": "2023-11-14T22:13:20.000Z", "kind": "entered", "state": "wait",
     "data": {"number": 1}},
    {"number": 3, "time": "2023-11-14T22:13:21.000Z", "kind": "paused", "data": {"paid": true}}],
    "next": null})");
  EXPECT_EQ(answer(history()), whole);
  for (Json& record : whole["items"]) record.erase("data");
  EXPECT_EQ(answer(history({.data = false})), whole);
}

TEST_F(HistoryQueriesTest, ListRecordsInPagesOldestOrNewestFirst) {
  store_history({2, 0, 3, 1});
  EXPECT_EQ(all_pages({}), "1 2 3 4 5 6 ");
  EXPECT_EQ(all_pages({.limit = 6}), "1 2 3 4 5 6 ");
  EXPECT_EQ(all_pages({.limit = 4}), "1 2 3 4 | 5 6 ");
  EXPECT_EQ(all_pages({.limit = 1}), "1 | 2 | 3 | 4 | 5 | 6 ");
  EXPECT_EQ(all_pages({.newest_first = true}), "6 5 4 3 2 1 ");
  EXPECT_EQ(all_pages({.limit = 2, .newest_first = true}), "6 5 | 4 3 | 2 1 ");
  EXPECT_EQ(all_pages({.limit = 3, .newest_first = true}), "6 5 4 | 3 2 1 ");
}

TEST_F(HistoryQueriesTest, ListTheRecordsBetweenTwoNumbers) {
  store_history({2, 0, 3, 1});
  EXPECT_EQ(all_pages({.after = 2}), "3 4 5 6 ");
  EXPECT_EQ(all_pages({.before = 5}), "1 2 3 4 ");
  EXPECT_EQ(all_pages({.after = 1, .before = 6}), "2 3 4 5 ");
  EXPECT_EQ(all_pages({.limit = 2, .after = 1, .before = 6}), "2 3 | 4 5 ");
  EXPECT_EQ(all_pages({.limit = 2, .newest_first = true, .after = 1, .before = 6}), "5 4 | 3 2 ");
  EXPECT_EQ(all_pages({.newest_first = true, .after = 4}), "6 5 ");
  EXPECT_EQ(all_pages({.after = 3, .before = 4}), "");
  EXPECT_EQ(all_pages({.after = 99}), "");
}

TEST_F(HistoryQueriesTest, ListTheRecordsOfSomeKinds) {
  Instance instance = waiting_instance(waits, 1);
  HistoryRow row{.ns = ns, .instance = instance.id};
  for (const HistoryKind kind : {HistoryKind::kStarted, HistoryKind::kEntered, HistoryKind::kRaised,
                                 HistoryKind::kEntered}) {
    row.records.push_back({.time = now, .kind = kind});
  }
  write_history(*tx, 1, row);
  instance.last_history = 1;
  instance.history_count = 4;
  store(instance);
  const auto numbers = [&](const HistoryFilter& filter) {
    std::vector<int> found;
    const Json items = answer(history(filter))["items"];
    for (const Json& item : items) found.push_back(item["number"]);
    return found;
  };
  EXPECT_EQ(numbers({.kinds = {HistoryKind::kEntered}}), (std::vector{2, 4}));
  EXPECT_EQ(numbers({.kinds = {HistoryKind::kRaised, HistoryKind::kStarted}}), (std::vector{1, 3}));
  EXPECT_EQ(numbers({.newest_first = true, .kinds = {HistoryKind::kEntered}}), (std::vector{4, 2}));
  EXPECT_THAT(numbers({.kinds = {HistoryKind::kEnded}}), IsEmpty());
}

TEST_F(HistoryQueriesTest, EndAPageAfterManyRecordsOfOtherKinds) {
  store_history({30'000});
  const Json page = answer(history({.kinds = {HistoryKind::kEnded}}));
  EXPECT_THAT(page["items"], IsEmpty());
  EXPECT_EQ(page["next"], "20165");
  EXPECT_EQ(answer(history({.cursor = "20165", .kinds = {HistoryKind::kEnded}}))["next"], nullptr);
}

TEST_F(HistoryQueriesTest, EndAPageThatHasManyBytes) {
  store_history({1, 2, 1}, Page::kMostBytes / 2 + 1);
  EXPECT_EQ(all_pages({}), "1 2 | 3 4 ");
  EXPECT_EQ(all_pages({.newest_first = true}), "4 3 | 2 1 ");
  EXPECT_EQ(all_pages({.data = false}), "1 2 3 4 ");
}

TEST_F(HistoryQueriesTest, KeepTheNumbersOfATrimmedHistory) {
  store_history({2, 2, 2});
  Instance instance = *read_instance(*tx, ns, numbered_id(1)).value();
  instance.history_trimmed = 2;
  store(instance);
  EXPECT_EQ(all_pages({.limit = 3}), "3 4 5 | 6 ");
  EXPECT_EQ(all_pages({.limit = 3, .cursor = "", .newest_first = true}), "6 5 4 | 3 ");
  EXPECT_EQ(answer(history({.cursor = "1"}))["items"].size(), 4U)
      << "the record of the cursor has been erased";
}

TEST_F(HistoryQueriesTest, RefuseACursorThatIsNotANumber) {
  store_history({1});
  for (const char* const wrong : {"x", "0", "-1"}) {
    EXPECT_EQ(outcome(history({.cursor = wrong})), "cursor.malformed") << wrong;
  }
  EXPECT_THAT(answer(history({.cursor = "9"}))["items"], IsEmpty());
}

TEST_F(HistoryQueriesTest, FailOnADamagedRowOfTheHistory) {
  Instance instance = waiting_instance(waits, 1);
  instance.last_history = 2;
  store(instance);
  EXPECT_THAT(answer(history())["items"], IsEmpty()) << "older rows may have been removed";
  damage(Table::kHistory, rows::key_of(uint64_t{2}));
  EXPECT_EQ(outcome(history()), kDamagedRow);
}

TEST_F(HistoryQueriesTest, ReadNoRowBeforeAPage) {
  store_history({2, 2, 2});
  damage(Table::kHistory, rows::key_of(uint64_t{1}));
  EXPECT_EQ(answer(history({.limit = 3, .newest_first = true}))["items"].size(), 3U);
  EXPECT_EQ(answer(history({.cursor = "4"}))["items"].size(), 2U);
  EXPECT_EQ(outcome(history({.newest_first = true})), kDamagedRow);
  EXPECT_EQ(outcome(history({.cursor = "1"})), kDamagedRow);
}

TEST_F(HistoryQueriesTest, FailWhenAReadFails) {
  store_history({2, 3});
  for (const HistoryFilter& filter :
       {HistoryFilter{}, HistoryFilter{.limit = 2, .cursor = "2", .newest_first = true},
        HistoryFilter{.after = 2, .before = 4}}) {
    expect_each_read_to_count(history(filter));
  }
}

TEST_F(HistoryQueriesTest, HasAllRecordsInALineOfTheArchive) {
  store_history({600, 700});
  const Json line = archived(2);
  EXPECT_EQ(line["namespace"], "default");
  ASSERT_EQ(line["history"].size(), 1300U);
  EXPECT_EQ(line["history"][1299]["number"], 1300);
  EXPECT_EQ(line["history"][1299]["data"], "x");
  EXPECT_TRUE(archived(1).is_null()) << "the instance has a newer history row";
}

TEST_F(HistoryQueriesTest, HasNoDataOfASealedInstanceInTheArchive) {
  write_secret(*tx, ns, "key", "4711-0815");
  Instance instance = ended(waiting_instance(waits, 1), InstanceStatus::kComplete);
  instance.sealed = Sealing::kMasked;
  instance.last_history = 1;
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = now,
                              .kind = HistoryKind::kLog,
                              .detail = Json{{"n", 1}},
                              .data = Json("not the secret")}},
                 .sealed = Sealing::kMasked});
  instance.history_count = 1;
  store(instance);
  EXPECT_EQ(answer(history())["items"][0]["data"], "not the secret");
  const Json line = archived(1);
  EXPECT_EQ(line["history"][0]["data"], "(sealed)");
  EXPECT_EQ(line["history"][0]["detail"]["n"], "(sealed)");
  for (const char* const member : {"input", "data", "output"}) {
    EXPECT_EQ(line[member], "(sealed)") << member;
  }
}

}  // namespace
}  // namespace millrace
