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

/// One instance that waits in its second state, with history rows 1 and 2, and one that has ended,
/// with row 3.
class CheckHistoryTest : public CheckTest {
 protected:
  CheckHistoryTest() {
    define(kTwoWaits);
    define("id: ends\nstates: [{id: a, type: noop}]");
    lives = start("waits");
    now += std::chrono::seconds(1);
    publish({.id = "1", .source = "/s", .type = "go"});
    ended = start("ends");
  }
  Change row(uint64_t number, const std::function<void(HistoryRow&)>& change) {
    return [=, this](Transaction&) { edit_history(number, change); };
  }
  Change head(const std::function<void(Instance&)>& change) {
    return [=, this](Transaction&) { edit_head(lives, change); };
  }
  std::string at(const InstanceId& id) const {
    return fmt::format("{}/default/{} head: ", id == lives ? "live" : "ended", to_string(id));
  }

  InstanceId lives;
  InstanceId ended;
};

TEST_F(CheckHistoryTest, OfASoundStoreHasNoFinding) {
  EXPECT_EQ(rows_of(Table::kHistory), 3U);
  expect_sound();
}

TEST_F(CheckHistoryTest, TellsAReadThatFailsAndNothingThatMayFollowFromIt) {
  EXPECT_GT(expect_each_read_to_count(), 30U);
}

TEST_F(CheckHistoryTest, FollowsTheChainToItsFirstRow) {
  const auto erase = [](uint64_t number) {
    return [=](Transaction& in) { in.erase(Table::kHistory, rows::key_of(number)); };
  };
  expect_only("history.missing " + at(lives) + "history row 2 is not there", erase(2));
  expect_only("history.missing history/2: history row 1 is not there", erase(1));
  expect_only("history.missing " + at(ended) + "history row 3 is not there", erase(3));
  expect_only("row.record history/1", [](Transaction& in) {
    in.put(Table::kHistory, rows::key_of(uint64_t{1}), "rubbish");
  });
  expect_only("history.owner history/1: it is in the chain of instance " + to_string(lives) +
                  " and names " + to_string(ended) + " in default",
              row(1, [&](HistoryRow& one) { one.instance = ended; }));
  expect_among("history.owner history/1",
               row(1, [](HistoryRow& one) { one.space = NamespaceNumber(9); }));
  for (const uint64_t previous : {1, 2, 3}) {
    expect_only(fmt::format("history.order history/1: the row before it is {}", previous),
                row(1, [=](HistoryRow& one) { one.previous = previous; }));
  }
}

TEST_F(CheckHistoryTest, CountsTheRecordsOfTheChain) {
  const uint64_t records = read_living(*tx, space, lives).value()->history_count;
  expect_only(fmt::format("history.count {}the head counts {} records, and {} are there", at(lives),
                          records + 1, records),
              head([](Instance& one) { ++one.history_count; }));
  expect_among("history.count " + at(lives) + "the instance has no history",
               head([](Instance& one) { one.last_history = 0; }));
  expect_among("row.value history/1: the row has no record",
               row(1, [](HistoryRow& one) { one.records.clear(); }));
}

TEST_F(CheckHistoryTest, HoldsRecordsAgainstTheirOrder) {
  expect_among("history.order history/1: the first record is not `started`",
               row(1, [](HistoryRow& one) { one.records.front().kind = HistoryKind::kLog; }));
  expect_among(
      "history.order history/1: a record is later than the one behind it",
      row(1, [&](HistoryRow& one) { one.records.back().time = now + std::chrono::seconds(1); }));
  expect_among("row.time history/2: its last record is at", row(2, [&](HistoryRow& one) {
                 one.records.back().time = now + std::chrono::seconds(1);
               }));
  expect_among("instance.status " + at(lives) + "it started at", row(1, [](HistoryRow& one) {
                 one.records.front().time -= std::chrono::seconds(1);
               }));
}

TEST_F(CheckHistoryTest, HoldsTheEndAgainstTheHead) {
  expect_among("history.order history/2: it ends with `ended`, and the instance lives",
               row(2, [](HistoryRow& one) { one.records.back().kind = HistoryKind::kEnded; }));
  expect_among("history.order history/3: it does not end with `ended`, and the instance has ended",
               row(3, [](HistoryRow& one) { one.records.back().kind = HistoryKind::kLog; }));
  expect_among("instance.status " + at(ended) + "it ended at", row(3, [](HistoryRow& one) {
                 one.records.back().time -= std::chrono::milliseconds(1);
               }));
  expect_only("it is complete, and its history says that it ended as \"failed\"",
              row(3, [](HistoryRow& one) {
                one.records.back().detail = Json{{"status", "failed"}};
              }));
}

TEST_F(CheckHistoryTest, HoldsTheStoryAgainstTheInstance) {
  expect_only("row.value " + at(lives) + "it is in run 2, and its history tells of 1",
              head([](Instance& one) { one.run = 2; }));
  expect_among(
      "instance.state history/2: a record names state \"other\", and its revision has no "
      "such state",
      row(2, [](HistoryRow& one) { one.records.back().state = "other"; }));
  expect_among("it is in state \"first\", and its history ends in state \"second\"",
               head([](Instance& one) { one.state = 0; }));
  expect_among("it is in state \"second\", where it does not start, and made no transition",
               head([](Instance& one) { one.transitions = 0; }));
  expect_only(
      "its data is not what it entered its state with, by its history",
      [&](Transaction& in) { in.put(Table::kLive, part(lives, Part::kData), R"({"other":1})"); });
}

TEST_F(CheckHistoryTest, HoldsSealsAgainstTheOrderOfTheRows) {
  const auto seal_row = [](uint64_t number) {
    return [=](Transaction& in) {
      const std::string key = rows::key_of(number);
      rows::put(in, Table::kHistory, key, std::string(*in.get(Table::kHistory, key)), true);
    };
  };
  expect_among("instance.seal history/2: the row is sealed, and the head of its instance is not",
               seal_row(2));
  expect_among("instance.seal history/1: the row is sealed, and a later one is not", seal_row(1));
}

TEST_F(CheckHistoryTest, FindsRowsThatAreInNoChain) {
  const auto add = [&](const InstanceId& owner, NamespaceNumber of) {
    return [=, this](Transaction& in) {
      HistoryRow orphan{.space = of, .instance = owner};
      orphan.records.push_back({.time = now, .kind = HistoryKind::kStarted});
      write_history(in, 4, orphan);
      write_counter(in, Counter::kHistory, 4);
    };
  };
  expect_only(
      "history.orphan history/4: it is not in the chain of its instance " + to_string(lives),
      add(lives, space));
  expect_only("history.orphan history/4: its instance " + to_string(numbered_id(99)) +
                  " in default does not exist",
              add(numbered_id(99), space));
  EXPECT_THAT(found_after([&](Transaction& in) {
                add(numbered_id(99), space)(in);
                write_purge(in, {Purge::Kind::kHistory, 4, {}});
              }),
              IsEmpty())
      << "a purge erases it";
  expect_only("row.key history/0x616263",
              [](Transaction& in) { in.put(Table::kHistory, "abc", "x"); });
  expect_among("counter.behind history/9",
               [](Transaction& in) { in.put(Table::kHistory, rows::key_of(uint64_t{9}), "x"); });
}

}  // namespace
}  // namespace millrace
