// The store check compares the compensation that an instance makes with its row, its call and its
// history.
#include <string>

#include "base/codec.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

class CheckCompensationsTest : public CheckTest {
 protected:
  /// Starts an instance that makes the newest of two compensations, that of state 1.
  CheckCompensationsTest() {
    define(R"(
id: undone
compensate: true
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: pay, type: noop, compensate: {function: f, input: jq(.from)}, transition: send}
- {id: send, type: noop, compensate: {function: f, input: 2}, transition: stop}
- {id: stop, type: error, error: a.b, message: stops}
)");
    id = start("undone");
    const Instance head = read_head(*tx, Table::kLive, ns, id).value().value();
    EXPECT_TRUE(head.compensating);
    EXPECT_EQ(head.compensations, 2U);
    EXPECT_EQ(head.calls.size(), 1U);
  }

  std::string row_of(Part which, uint32_t number) const {
    Writer key;
    key.raw(part(id, which));
    key.u32(number);
    return key.take();
  }
  Change note(uint32_t number, const std::function<void(Compensation&)>& change) {
    return [=, this](Transaction& in) {
      edit<Compensation>(in, Table::kEnded, row_of(Part::kCompensation, number),
                         decode_compensation, encode_compensation, change);
    };
  }

  InstanceId id;
};

TEST_F(CheckCompensationsTest, FindsNothingWhileOneIsMade) { expect_sound(); }

TEST_F(CheckCompensationsTest, ComparesTheCallWithTheRow) {
  expect_among(fmt::format("the input of the task is not that of call 0 of {}", to_string(id)),
               note(1, [](Compensation& one) { one.input = Json(3); }));
  expect_only(
      "makes the compensation of state 1 (counted from 0), but its newest compensation "
      "undoes state 0",
      note(1, [](Compensation& one) { one.state = 0; }));
}

TEST_F(CheckCompensationsTest, PassesOverThoseThatAPurgeErases) {
  const auto leave = [](const std::string& prefix) {
    return [=](Transaction& in) {
      for (const uint32_t number : {2, 5}) {
        Writer key;
        key.raw(prefix);
        key.u32(number);
        in.put(Table::kEnded, key.view(), encode_compensation({.input = Json(1)}));
      }
    };
  };
  const auto purge = [this](const InstanceId& of) {
    return [=, this](Transaction& in) {
      write_counter(in, Counter::kHistory, 9);
      write_purge(in, {.kind = Purge::Kind::kCompensations,
                       .number = 9,
                       .record = {.dropped = DroppedCompensations{.ns = ns, .instance = of}}});
    };
  };
  const InstanceId deleted = numbered_id(77);
  const Change dropped = leave(part(id, Part::kCompensation));
  const Change orphaned = leave(part(deleted, Part::kCompensation));
  expect_among("the head has 2 compensations, but 6 rows of compensations exist", dropped);
  expect_among("the compensation belongs to no instance", orphaned);
  EXPECT_THAT(found_after([&](Transaction& in) {
                dropped(in);
                purge(id)(in);
              }),
              testing::IsEmpty());
  EXPECT_THAT(found_after([&](Transaction& in) {
                orphaned(in);
                purge(deleted)(in);
              }),
              testing::IsEmpty());
  expect_only(fmt::format("the minor number is {}, but the store has purges of compensations",
                          kMinorOfDroppedCompensations - 1),
              [&](Transaction& in) {
                purge(id)(in);
                in.put(Table::kMeta, "minor", rows::key_of(kMinorOfDroppedCompensations - 1));
              });
}

TEST_F(CheckCompensationsTest, ChecksTheNumberAndTheInstanceOfAPurge) {
  const PurgeRecord record{.dropped = DroppedCompensations{.ns = ns, .instance = id}};
  const auto found_with = [this](const PurgeRecord& changed, uint64_t number = 9,
                                 Purge::Kind kind = Purge::Kind::kCompensations) {
    return found_after([&](Transaction& in) {
      write_counter(in, Counter::kHistory, 9);
      write_purge(in, {.kind = kind, .number = number, .record = changed});
    });
  };
  const auto only = [](const char* found) {
    return testing::ElementsAre(testing::HasSubstr(found));
  };
  EXPECT_THAT(found_with(record), testing::IsEmpty());
  EXPECT_THAT(found_with(record, 1),
              only("history row 1 exists, but a purge of compensations has a number of its own"));
  EXPECT_THAT(found_with(record, 10), only("counter.behind meta/purge/"));
  PurgeRecord changed = record;
  changed.dropped->ns = NamespaceNumber(9);
  EXPECT_THAT(found_with(changed), only("counter.behind meta/purge/"));
  changed.dropped->ns = NamespaceNumber(0);
  EXPECT_THAT(found_with(changed), only("the row names no namespace"));
  changed = record;
  changed.ns = "default";
  EXPECT_THAT(found_with(changed),
              only("the row has a value in a field that a purge of this kind does not have"));
  EXPECT_THAT(found_with(record, 9, Purge::Kind::kHistory),
              only("the record is that of another kind of purge"));
}

TEST_F(CheckCompensationsTest, ComparesARowWithWhatItsStateNotes) {
  expect_only("the compensation undoes a call, but state \"pay\" notes one for each of its visits",
              note(0, [](Compensation& one) { one.of_call = true; }));
  expect_only("the compensation undoes state 2 (counted from 0), which has no `compensate`",
              note(0, [](Compensation& one) { one.state = 2; }));
}

TEST_F(CheckCompensationsTest, FindsOneThatIsMadeWithoutACall) {
  expect_among("instance.stuck live/default/", [this](Transaction& in) {
    in.erase(Table::kLive, row_of(Part::kCall, 0));
    edit_head(id, [](Instance& head) {
      head.calls.clear();
      head.timers.clear();
    });
  });
}

TEST_F(CheckCompensationsTest, FindsACallWithoutItsRow) {
  const Change without_newest = [this](Transaction& in) {
    in.erase(Table::kEnded, row_of(Part::kCompensation, 1));
  };
  expect_among("the head has 2 compensations, but 1 rows of compensations exist", without_newest);
  const Change without_number = [=, this](Transaction& in) {
    without_newest(in);
    edit_head(id, [](Instance& head) { head.compensations = 1; });
  };
  expect_among("makes compensation 1, but by its history it makes compensation 2", without_number);
  expect_among("but its newest compensation undoes state 0", without_number);
}

TEST_F(CheckCompensationsTest, ComparesTheNumberWithTheHistory) {
  expect_only("makes compensation 2, but by its history it makes compensation 1",
              [this](Transaction& in) {
                edit_history(read_live(in, ns, id).value()->last_history, [](HistoryRow& row) {
                  for (HistoryRecord& record : row.records) {
                    if (record.kind != HistoryKind::kUndoing) continue;
                    record.detail = Json{{"function", "f"}, {"number", 1}};
                  }
                });
              });
}

TEST_F(CheckCompensationsTest, ReportsADamagedRow) {
  for (const char* const bytes : {"", "\1", "?"}) {
    EXPECT_THAT(found_after([&](Transaction& in) {
                  in.put(Table::kEnded, row_of(Part::kCompensation, 0), bytes);
                }),
                testing::Contains(testing::HasSubstr(
                    fmt::format("row.record ended/default/{} compensation 0", to_string(id)))));
  }
  EXPECT_THAT(
      found_after(note(0, [](Compensation& one) { one.input = LazyJson::of_text("{oops}"); })),
      testing::Contains(
          testing::HasSubstr(fmt::format("ended/default/{} compensation 0", to_string(id)))));
}

TEST_F(CheckCompensationsTest, FindsARowInTheOtherTableOrOfNoInstance) {
  const auto move_to = [this](Table table, const InstanceId& of) -> Change {
    return [=, this](Transaction& in) {
      const std::string value(*in.get(Table::kEnded, row_of(Part::kCompensation, 1)));
      Writer key;
      key.raw(part(of, Part::kCompensation));
      key.u32(1);
      in.erase(Table::kEnded, row_of(Part::kCompensation, 1));
      in.put(table, key.view(), value);
    };
  };
  expect_among("the rows of compensations are in `ended`", move_to(Table::kLive, id));
  expect_among("the compensation belongs to no instance", move_to(Table::kEnded, numbered_id(99)));
}

TEST_F(CheckCompensationsTest, ReportsAFailedReadAlone) {
  EXPECT_GT(expect_each_failed_read_alone(), 0U);
}

}  // namespace
}  // namespace millrace
