#include "orchestrator/store/rows/purge.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr const char* kTwoWaits = R"(
id: waits
states:
- {id: first, type: consumeEvent, event: {type: go}, transition: second}
- {id: second, type: consumeEvent, event: {type: go}}
)";

/// An instance that waits in its second state, with the history rows 1 and 2, and an ended
/// instance, with row 3.
class CheckHistoryTest : public CheckTest {
 protected:
  CheckHistoryTest() {
    define(kTwoWaits);
    define("id: ends\nstates: [{id: a, type: noop}]");
    live_id = start("waits");
    now += std::chrono::seconds(1);
    publish({.id = "1", .source = "/s", .type = "go"});
    ended_id = start("ends");
  }
  Change row(uint64_t number, const std::function<void(HistoryRow&)>& change) {
    return [=, this](Transaction&) { edit_history(number, change); };
  }
  Change head(const std::function<void(Instance&)>& change) {
    return [=, this](Transaction&) { edit_head(live_id, change); };
  }
  std::string at(const InstanceId& id) const {
    return fmt::format("{}/default/{} head: ", id == live_id ? "live" : "ended", to_string(id));
  }

  InstanceId live_id;
  InstanceId ended_id;
};

TEST_F(CheckHistoryTest, HasNoFindingInAnUndamagedStore) {
  EXPECT_EQ(rows_of(Table::kHistory), 3U);
  expect_sound();
}

TEST_F(CheckHistoryTest, ReportsAFailedReadAsTheOnlyFinding) {
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

TEST_F(CheckHistoryTest, FollowsTheChainOfHistoryRowsToTheFirstRow) {
  const auto erase = [](uint64_t number) {
    return [=](Transaction& in) { in.erase(Table::kHistory, rows::key_of(number)); };
  };
  expect_only("history.missing " + at(live_id) + "history row 2 does not exist", erase(2));
  expect_only("history.missing history/2: history row 1 does not exist", erase(1));
  expect_only("history.missing " + at(ended_id) + "history row 3 does not exist", erase(3));
  expect_only("row.record history/1", [](Transaction& in) {
    in.put(Table::kHistory, rows::key_of(uint64_t{1}), "rubbish");
  });
  expect_only("history.owner history/1: the row is in the chain of instance " + to_string(live_id) +
                  ", but names instance " + to_string(ended_id) + " in default",
              row(1, [&](HistoryRow& one) { one.instance = ended_id; }));
  expect_among("history.owner history/1",
               row(1, [](HistoryRow& one) { one.ns = NamespaceNumber(9); }));
  for (const uint64_t previous : {1, 2, 3}) {
    expect_only(fmt::format("history.order history/1: the row names row {} as its previous row, "
                            "expected a lower number",
                            previous),
                row(1, [=](HistoryRow& one) { one.previous = previous; }));
  }
}

TEST_F(CheckHistoryTest, ChecksTheNumberOfRecordsInTheChainOfHistoryRows) {
  const uint64_t records = read_live(*tx, ns, live_id).value()->history_count;
  expect_only(fmt::format("history.count {}the head counts {} records, but {} exist", at(live_id),
                          records + 1, records),
              head([](Instance& one) { ++one.history_count; }));
  expect_among("history.count " + at(live_id) + "the instance has no history",
               head([](Instance& one) { one.last_history = 0; }));
  expect_among("row.value history/1: the row has no record",
               row(1, [](HistoryRow& one) { one.records.clear(); }));
}

TEST_F(CheckHistoryTest, ChecksTheOrderOfRecords) {
  expect_among("history.order history/1: the first record is not `started`",
               row(1, [](HistoryRow& one) { one.records.front().kind = HistoryKind::kLog; }));
  expect_among(
      "history.order history/1: a record is later than the next record",
      row(1, [&](HistoryRow& one) { one.records.back().time = now + std::chrono::seconds(1); }));
  expect_among("row.time history/2: the last record of the row is at", row(2, [&](HistoryRow& one) {
                 one.records.back().time = now + std::chrono::seconds(1);
               }));
  expect_among(
      "instance.status " + at(live_id) + "the instance started at",
      row(1, [](HistoryRow& one) { one.records.front().time -= std::chrono::seconds(1); }));
}

TEST_F(CheckHistoryTest, ChecksTheLastRecordAgainstTheHead) {
  expect_among(
      "history.order history/2: the newest row ends with the record `ended`, but the instance is "
      "live",
      row(2, [](HistoryRow& one) { one.records.back().kind = HistoryKind::kEnded; }));
  expect_among(
      "history.order history/3: the newest row does not end with the record `ended`, but the "
      "instance has ended",
      row(3, [](HistoryRow& one) { one.records.back().kind = HistoryKind::kLog; }));
  expect_among(
      "instance.status " + at(ended_id) + "the instance ended at",
      row(3, [](HistoryRow& one) { one.records.back().time -= std::chrono::milliseconds(1); }));
  expect_only("the instance is complete, but its history says that it ended as \"failed\"",
              row(3, [](HistoryRow& one) {
                one.records.back().detail = Json{{"status", "failed"}};
              }));
}

TEST_F(CheckHistoryTest, ChecksTheRecordsAgainstTheInstance) {
  expect_only("row.value " + at(live_id) + "the instance is in run 2, but its history has 1 runs",
              head([](Instance& one) { one.run = 2; }));
  expect_among(
      "instance.state history/2: a record names state \"other\", but the revision of the instance "
      "has no such "
      "state",
      row(2, [](HistoryRow& one) { one.records.back().state = "other"; }));
  expect_among("the instance is in state \"first\", but its history ends in state \"second\"",
               head([](Instance& one) { one.state = 0; }));
  expect_among(
      "the instance is in state \"second\", which is not its first state, but made no transition",
      head([](Instance& one) { one.transitions = 0; }));
  expect_only(
      "the data of the instance is not the data with which, by its history, it entered its state",
      [&](Transaction& in) { in.put(Table::kLive, part(live_id, Part::kData), R"({"other":1})"); });
}

TEST_F(CheckHistoryTest, ChecksThatTheRowsAfterASealedRowAreSealedToo) {
  const auto seal_row = [](uint64_t number) {
    return [=](Transaction& in) {
      const std::string key = rows::key_of(number);
      rows::put(in, Table::kHistory, key, std::string(*in.get(Table::kHistory, key)), true);
    };
  };
  expect_among("instance.seal history/2: the row is sealed, but the head of its instance is not",
               seal_row(2));
  expect_among("instance.seal history/1: the row is sealed, but a later row is not", seal_row(1));
}

TEST_F(CheckHistoryTest, RequiresASealedNewestRowOfASealedInstance) {
  const uint64_t newest = read_live(*tx, ns, live_id).value()->last_history;
  const auto seal_head = [this](Transaction& in) {
    const std::string key = part(live_id, Part::kHead);
    rows::put(in, Table::kLive, key, std::string(*in.get(Table::kLive, key)), true);
  };
  expect_only(fmt::format("instance.seal history/{}: the row is not sealed, but the head of its "
                          "instance is",
                          newest),
              seal_head);
  EXPECT_THAT(found_after([&](Transaction& in) {
                edit_head(live_id, [](Instance& one) { one.phase = Phase::kEntering; });
                seal_head(in);
              }),
              testing::Not(testing::Contains(testing::HasSubstr("instance.seal"))))
      << "the instance may have read a sealed value, and its entry has no record yet";
}

TEST_F(CheckHistoryTest, EndsAtTheOldestKeptRowOfATrimmedHistory) {
  // Row 1 leaves the history of the live instance, whose chain begins at row 2 then.
  const auto trim = [&](Transaction& in) {
    const uint64_t records = read_history_link(in, 1).value()->records;
    const uint64_t bytes = read_history_link(in, 1).value()->bytes;
    const uint64_t before = read_history_link(in, 2).value()->bytes;
    const uint64_t after = begin_history_at(in, 2).value();
    edit_head(live_id, [&](Instance& one) {
      one.history_trimmed = records;
      one.history_bytes -= bytes + before - after;
    });
  };
  const auto trim_with_purge = [&](Transaction& in) {
    trim(in);
    write_purge(in, {Purge::Kind::kHistory, 1, {}});
  };
  EXPECT_THAT(found_after(trim_with_purge), IsEmpty());
  EXPECT_THAT(found_after([&](Transaction& in) {
                trim(in);
                in.erase(Table::kHistory, rows::key_of(uint64_t{1}));
              }),
              IsEmpty())
      << "the purge has ended";
  expect_only(
      "history.orphan history/1: the row is not in the chain of its instance " + to_string(live_id),
      trim);
  expect_only("history.count " + at(live_id) + "the head counts", [&](Transaction& in) {
    trim_with_purge(in);
    edit_head(live_id, [](Instance& one) { ++one.history_trimmed; });
  });
  expect_only("history row 2 belongs to this instance, but a purge erases it",
              [&](Transaction& in) {
                trim(in);
                in.erase(Table::kHistory, rows::key_of(uint64_t{1}));
                write_purge(in, {Purge::Kind::kHistory, 2, {}});
              });
}

TEST_F(CheckHistoryTest, FindsHistoryRowsThatBelongToNoChain) {
  const auto add = [&](const InstanceId& owner, NamespaceNumber of) {
    return [=, this](Transaction& in) {
      HistoryRow orphan{.ns = of, .instance = owner};
      orphan.records.push_back({.time = now, .kind = HistoryKind::kStarted});
      write_history(in, 4, orphan);
      write_counter(in, Counter::kHistory, 4);
    };
  };
  expect_only(
      "history.orphan history/4: the row is not in the chain of its instance " + to_string(live_id),
      add(live_id, ns));
  expect_only("history.orphan history/4: the instance " + to_string(numbered_id(99)) +
                  " of the row does not exist in default",
              add(numbered_id(99), ns));
  EXPECT_THAT(found_after([&](Transaction& in) {
                add(numbered_id(99), ns)(in);
                write_purge(in, {Purge::Kind::kHistory, 4, {}});
              }),
              IsEmpty())
      << "a purge will erase the row";
  expect_only("row.key history/0x616263",
              [](Transaction& in) { in.put(Table::kHistory, "abc", "x"); });
  expect_among("counter.behind history/9",
               [](Transaction& in) { in.put(Table::kHistory, rows::key_of(uint64_t{9}), "x"); });
}

}  // namespace
}  // namespace millrace
