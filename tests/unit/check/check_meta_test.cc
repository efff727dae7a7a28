#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr const char* kEnds = "id: ends\nstates: [{id: a, type: noop}]";

class CheckMetaTest : public CheckTest {
 protected:
  static std::string counter(Counter which) {
    return std::string("counter/") + static_cast<char>(which);
  }
  static Change put(std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kMeta, key, value); };
  }
  static Change purge(Purge::Kind kind, uint64_t number, PurgeRecord record = {}) {
    return [=](Transaction& in) { write_purge(in, {kind, number, record}); };
  }
  void finish_one() {
    define(kEnds);
    start("ends");
  }
};

TEST_F(CheckMetaTest, HoldsEachKeyAgainstItsForm) {
  finish_one();
  expect_among("row.record meta/format: 3 bytes, and a number has 8", put("format", "abc"));
  expect_only("store.format meta/format: the format is 0",
              put("format", rows::key_of(uint64_t{0})));
  expect_only("row.record meta/time: 1 bytes, and a number has 8", put("time", "x"));
  expect_only("row.value meta/time: the time of the last commit is 253402300800000 ms, behind the",
              put("time", rows::key_of(uint64_t{253'402'300'800'000})));
  expect_among("row.record meta/cursor", put("cursor", "rubbish"));
  expect_only("row.record meta/seal: the row is not sealed", put("seal", "plain"));
  expect_only("row.record meta/store", put("store", "rubbish"));
  expect_only("meta.unknown meta/other: 5 bytes under an unknown key", put("other", "value"));
  expect_only("meta.unknown meta/counter/j", put("counter/j", rows::key_of(uint64_t{1})));
  expect_only("meta.unknown meta/counter/aa", put("counter/aa", rows::key_of(uint64_t{1})));
  expect_only("row.record meta/counter/d: 2 bytes", put(counter(Counter::kOutbox), "ab"));
}

TEST_F(CheckMetaTest, HoldsACounterAgainstWhatItCanComeTo) {
  finish_one();
  EXPECT_THAT(found_after(put(counter(Counter::kOutbox), rows::key_of(kMostNumber - 1))),
              IsEmpty());
  expect_only(
      "row.value meta/counter/d: the counter is at 72057594037927935, and no store can come "
      "beyond 72057594037927934",
      put(counter(Counter::kOutbox), rows::key_of(kMostNumber)));
  EXPECT_THAT(found_after(put(counter(Counter::kWorkflow), rows::key_of(uint64_t{UINT32_MAX} - 1))),
              IsEmpty());
  expect_only("and no store can come beyond 4294967294",
              put(counter(Counter::kWorkflow), rows::key_of(uint64_t{UINT32_MAX})));
  expect_only("counter.behind", put(counter(Counter::kHistory), rows::key_of(uint64_t{0})));
}

TEST_F(CheckMetaTest, MissesWhatAStoreOfThisFormatHas) {
  finish_one();
  const auto erase = [](const char* key) {
    return [key](Transaction& in) { in.erase(Table::kMeta, key); };
  };
  expect_only("meta.missing meta/format: the store has no format", erase("format"));
  expect_only("meta.missing meta/seal: the row by which the store's key is known", erase("seal"));
  expect_only("meta.missing meta/time: the time of the last commit is missing", erase("time"));
}

TEST_F(CheckMetaTest, MissesTheCursorOfAStoreThatHasTakenEvents) {
  finish_one();
  const auto takes = [](Counter which) {
    return [which](Transaction& in) {
      in.erase(Table::kMeta, "cursor");
      write_counter(in, which, 1);
    };
  };
  for (const Counter which : {Counter::kGrouped, Counter::kRecent}) {
    expect_only("meta.missing meta/cursor: the store has taken events", takes(which));
  }
  expect_only("meta.missing meta/cursor", [](Transaction& in) {
    in.erase(Table::kMeta, "cursor");
    in.put(Table::kDedupe, rows::key_of(uint64_t{1}) + rows::key_of(uint64_t{1}),
           std::string(16, 'f'));
  });
  EXPECT_THAT(found_after(takes(Counter::kOutbox)), IsEmpty());
}

TEST_F(CheckMetaTest, HoldsTheCursorAgainstItsFieldsAndTheStoresTime) {
  finish_one();
  const auto cursor = [](Cursor position) {
    return [position](Transaction& in) { write_cursor(in, position); };
  };
  EXPECT_THAT(found_after(cursor({.stream_created = 1, .sequence = 9, .stamped = now})), IsEmpty());
  expect_only("row.value meta/cursor: stream created -1, sequence 0",
              cursor({.stream_created = -1, .sequence = 0, .stamped = now}));
  expect_only("row.value meta/cursor: stream created 0, sequence 9",
              cursor({.stream_created = 0, .sequence = 9, .stamped = now}));
  EXPECT_THAT(found_after(cursor(
                  {.stream_created = 1, .sequence = 9, .stamped = now + std::chrono::days(366)})),
              IsEmpty())
      << "the broker's time need not be ours";
  expect_only(
      "row.time meta/cursor: its last event was stamped at",
      cursor({.stream_created = 1, .sequence = 9, .stamped = now + std::chrono::days(367)}));
}

TEST_F(CheckMetaTest, AnOlderFormatHasNoRowsOfLaterTrees) {
  finish_one();
  const auto older = put("format", rows::key_of(kStoreFormat - 1));
  EXPECT_THAT(found_after(older), IsEmpty());
  expect_among("row.value meta/format: the format is 4, and the tree hooks", [&](Transaction& in) {
    older(in);
    in.put(Table::kHooks, rows::key_of(uint64_t{1}), "x");
  });
}

// Purges.

TEST_F(CheckMetaTest, HoldsAPurgeAgainstItsKey) {
  finish_one();
  const std::string number = rows::key_of(uint64_t{1});
  for (const std::string& key :
       {std::string("purge/"), "purge/\x03" + number, "purge/\x01" + rows::key_of(uint64_t{0}),
        "purge/\x01" + number + "x", "purge/\x02" + rows::key_of(uint64_t{1} << 32)}) {
    expect_only("the key is not the kind of a purge and a number", put(key, encode(PurgeRecord())));
  }
  expect_only("row.record meta/purge/", put("purge/\x02" + number, "rubbish"));
  expect_among("the name of its namespace is not a name",
               purge(Purge::Kind::kNamespace, 9, {.space = "no name"}));
  expect_among("counter.behind", purge(Purge::Kind::kNamespace, 9, {.space = "gone"}));
}

TEST_F(CheckMetaTest, APurgeErasesNoHistoryThatIsInUseOrErasedByAnother) {
  finish_one();
  expect_only(
      "purge.target ended/default/00000000-0000-0000-0000-000000000001 head: history row 1 "
      "is of this instance, and of what a purge erases",
      purge(Purge::Kind::kHistory, 1));
  expect_only("history row 1 is not there", [&](Transaction& in) {
    const auto ended = read_instance(in, space, numbered_id(1)).value();
    erase_instance(in, *ended);
    in.erase(Table::kHistory, rows::key_of(uint64_t{1}));
    write_purge(in, {Purge::Kind::kHistory, 1, {}});
  });
  const auto of_a_deleted = [&](Transaction& in) {
    const auto ended = read_instance(in, space, numbered_id(1)).value();
    erase_instance(in, *ended);
    write_purge(in, {Purge::Kind::kHistory, 1, {}});
  };
  EXPECT_THAT(found_after(of_a_deleted), IsEmpty());
  expect_among("another purge erases history row 1 as well", [&](Transaction& in) {
    of_a_deleted(in);
    HistoryRow row{.space = space, .instance = numbered_id(1), .previous = 1};
    row.records.push_back({.time = now, .kind = HistoryKind::kEnded});
    write_history(in, 2, row);
    write_counter(in, Counter::kHistory, 2);
    write_purge(in, {Purge::Kind::kHistory, 2, {}});
  });
}

TEST_F(CheckMetaTest, APurgeOfGroupsNamesItsWorkflowAsItIs) {
  finish_one();
  const auto number = static_cast<uint64_t>(number_of("ends"));
  const PurgeRecord record{.space = "default", .workflow = "ends"};
  PurgeRecord elsewhere = record;
  elsewhere.space = "other";
  PurgeRecord other = record;
  other.workflow = "other";
  expect_only("it names workflow ends in other, and the number is that of ends in default",
              purge(Purge::Kind::kGroups, number, elsewhere));
  expect_only("it names workflow other in default", purge(Purge::Kind::kGroups, number, other));
  WorkflowRecord workflow = *read_workflow(*tx, space, "ends").value();
  workflow.groups_from = 0;
  expect_only("workflow ends has the groups that it began with", [&](Transaction& in) {
    write_workflow(in, space, "ends", workflow);
    write_purge(in, {Purge::Kind::kGroups, number, record});
  });
  workflow.groups_from = 1;
  EXPECT_THAT(found_after([&](Transaction& in) {
                write_workflow(in, space, "ends", workflow);
                write_purge(in, {Purge::Kind::kGroups, number, record});
              }),
              IsEmpty());
  PurgeRecord late = record;
  late.up_to = 9;
  expect_among("counter.behind meta/purge/", purge(Purge::Kind::kGroups, number, late));
}

TEST_F(CheckMetaTest, WhatANamespaceHadIsNoFindingWhileItIsErased) {
  finish_one();
  must(CreateNamespace{.name = "shop"});
  const NamespaceNumber shop = *catalog.find_namespace("shop");
  write_variable(*tx, {.owner = {.scope = VariableScope::kNamespace, .space = shop}, .key = "v"},
                 {});
  commit();
  expect_sound();
  const auto erase = [](Transaction& in) { in.erase(Table::kNamespaces, "shop"); };
  expect_only("namespace.missing", erase);
  EXPECT_THAT(found_after([&](Transaction& in) {
                erase(in);
                write_purge(in, {Purge::Kind::kNamespace, static_cast<uint64_t>(shop), {"shop"}});
              }),
              IsEmpty());
  expect_only("a purge erases namespace 2",
              purge(Purge::Kind::kNamespace, static_cast<uint64_t>(shop), {"shop"}));
}

// Workflows that were deleted.

TEST_F(CheckMetaTest, HoldsARetiredWorkflowAgainstTheOthers) {
  finish_one();
  const WorkflowNumber number = number_of("ends");
  const auto retire = [&](Transaction& in) { write_retired(in, number, space); };
  EXPECT_THAT(found_after([&](Transaction& in) {
                retire(in);
                erase_workflow(in, space, "ends");
              }),
              IsEmpty());
  expect_only("number.twice", retire);
  expect_only(
      "workflow.missing definitions/workflow 1 revision 1: its workflow does not exist, and "
      "meta has no row `retired/` of it",
      [&](Transaction& in) { erase_workflow(in, space, "ends"); });
  expect_among("no namespace has the number 9", [&](Transaction& in) {
    write_retired(in, number, NamespaceNumber(9));
    erase_workflow(in, space, "ends");
  });
  expect_only("the key is not the number of a workflow",
              put("retired/" + rows::workflow_prefix({}), rows::space_prefix(space)));
  expect_only("the key is not the number of a workflow", put("retired/abc", "x"));
  expect_only("1 bytes, and the number of a namespace has 4",
              put("retired/" + rows::workflow_prefix(number), "x"));
}

TEST_F(CheckMetaTest, TellsAReadThatFailsAndNothingThatMayFollowFromIt) {
  finish_one();
  define("id: gone\nstates: [{id: a, type: noop}]");
  start("gone");
  const auto ended = read_instance(*tx, space, numbered_id(2)).value();
  erase_instance(*tx, *ended);
  write_purge(*tx, {Purge::Kind::kHistory, ended->last_history, {}});
  erase_workflow(*tx, space, "gone");
  write_retired(*tx, WorkflowNumber(2), space);
  commit();
  expect_sound();
  expect_each_read_to_count();
}

}  // namespace
}  // namespace millrace
