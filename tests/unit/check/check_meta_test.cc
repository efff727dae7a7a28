#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/node_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/rate_rows.h"
#include "orchestrator/store/rows/replay_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kEnds = "id: ends\nstates: [{id: a, type: noop}]";
constexpr const char* kEndsByTwo = R"(
id: ends
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states: [{id: a, type: noop}]
)";

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
  void run_instance() {
    define(kEnds);
    start("ends");
  }
};

TEST_F(CheckMetaTest, ChecksTheKeyAndTheValueOfEachRow) {
  run_instance();
  expect_among("row.record meta/format: the row has 3 bytes, expected a number of 8 bytes",
               put("format", "abc"));
  expect_only("store.format meta/format: the format is 0",
              put("format", rows::key_of(uint64_t{0})));
  expect_only("row.record meta/time: the row has 1 bytes, expected a number of 8 bytes",
              put("time", "x"));
  expect_only("row.value meta/time: the time of the last commit is 253402300800000 ms, after the",
              put("time", rows::key_of(uint64_t{253'402'300'800'000})));
  expect_among("row.record meta/cursor", put("cursor", "rubbish"));
  expect_only("row.record meta/seal: the row is not sealed", put("seal", "plain"));
  expect_only("row.record meta/seal: the sealed value is not empty",
              [](Transaction& in) { rows::put(in, Table::kMeta, "seal", "value", true); });
  expect_only("row.record meta/store", put("store", "rubbish"));
  expect_only("meta.unknown meta/other: the key is unknown; its value has 5 bytes",
              put("other", "value"));
  expect_only("meta.unknown meta/counter/l", put("counter/l", rows::key_of(uint64_t{1})));
  expect_only("meta.unknown meta/counter/aa", put("counter/aa", rows::key_of(uint64_t{1})));
  expect_only("row.record meta/counter/d: the row has 2 bytes",
              put(counter(Counter::kOutbox), "ab"));
}

TEST_F(CheckMetaTest, RequiresTheIdentityOfAStoreThatAServerHasUsed) {
  run_instance();
  EXPECT_THAT(found(), IsEmpty()) << "no server has used the store";
  options.had_server = true;
  EXPECT_THAT(found(),
              ElementsAre(HasSubstr("meta.missing meta/store: the row that identifies the store is "
                                    "missing")));
  write_store_identity(*tx, {.id = {1}, .folder = "folder"});
  EXPECT_THAT(found(), IsEmpty());
  tx->drop();
  request_index_build(*tx);
  EXPECT_THAT(found(), IsEmpty())
      << "a server writes the identity of an older store after it has requested the index";
  tx->drop();
}

TEST_F(CheckMetaTest, ChecksTheRangeOfACounter) {
  run_instance();
  EXPECT_THAT(found_after(put(counter(Counter::kOutbox), rows::key_of(kMostNumber - 1))),
              IsEmpty());
  expect_only(
      "row.value meta/counter/d: the counter is at 72057594037927935, expected at most "
      "72057594037927934",
      put(counter(Counter::kOutbox), rows::key_of(kMostNumber)));
  EXPECT_THAT(found_after(put(counter(Counter::kWorkflow), rows::key_of(uint64_t{UINT32_MAX} - 1))),
              IsEmpty());
  expect_only("expected at most 4294967294",
              put(counter(Counter::kWorkflow), rows::key_of(uint64_t{UINT32_MAX})));
  expect_only("counter.behind", put(counter(Counter::kHistory), rows::key_of(uint64_t{0})));
}

TEST_F(CheckMetaTest, RequiresANumberForEachEventStreamWithoutGaps) {
  run_instance();
  const auto number_two = [](Transaction& in) {
    EXPECT_EQ(number_stream(in, 500), 2U);
    EXPECT_EQ(number_stream(in, 900), 3U);
  };
  EXPECT_THAT(found_after(number_two), IsEmpty())
      << "the stream of the cursor is an earlier one, which the broker has again";
  expect_only(R"(meta.missing meta/stream/\x00\x00\x00\x02: event stream 2 has no row, but event)",
              [&](Transaction& in) {
                number_two(in);
                in.erase(Table::kMeta, std::string("stream/\0\0\0\2", 11));
              });
}

TEST_F(CheckMetaTest, RequiresTheRowsOfTheCurrentStoreFormat) {
  run_instance();
  const auto erase = [](const char* key) {
    return [key](Transaction& in) { in.erase(Table::kMeta, key); };
  };
  expect_only("meta.missing meta/format: the store has no format", erase("format"));
  expect_only("meta.missing meta/seal: the row that identifies the store's key", erase("seal"));
  expect_only("meta.missing meta/time: the time of the last commit is missing", erase("time"));
}

TEST_F(CheckMetaTest, RequiresACursorIfTheStoreHasAppliedEvents) {
  run_instance();
  const auto takes = [](Counter which) {
    return [which](Transaction& in) {
      in.erase(Table::kMeta, "cursor");
      write_counter(in, which, 1);
    };
  };
  for (const Counter which : {Counter::kGrouped, Counter::kKeptEvents}) {
    expect_only("meta.missing meta/cursor: the store has applied events", takes(which));
  }
  expect_only("meta.missing meta/cursor", [](Transaction& in) {
    in.erase(Table::kMeta, "cursor");
    in.put(Table::kDedupe, rows::key_of(uint64_t{1}) + rows::key_of(uint64_t{1}),
           std::string(16, 'f'));
  });
  const auto takes_none = takes(Counter::kOutbox);
  expect_only("meta.missing meta/cursor: the store has opened an event stream, but has no cursor",
              takes_none);
  EXPECT_THAT(found_after([&](Transaction& in) {
                takes_none(in);
                in.erase(Table::kMeta, std::string("stream/\0\0\0\1", 11));
              }),
              Not(Contains(HasSubstr("meta/cursor"))));
}

TEST_F(CheckMetaTest, ChecksTheCursorAgainstTheTimeOfTheStore) {
  run_instance();
  const auto cursor = [](Cursor position) {
    return [position](Transaction& in) { write_cursor(in, position); };
  };
  EXPECT_THAT(found_after(cursor({.stream_created = 1, .sequence = 9, .stamped = now})), IsEmpty());
  expect_only(
      "row.value meta/cursor: the stream of the cursor was created at -1, the sequence is 0",
      cursor({.stream_created = -1, .sequence = 0, .stamped = now}));
  expect_only("row.value meta/cursor: the stream of the cursor was created at 0, the sequence is 9",
              cursor({.stream_created = 0, .sequence = 9, .stamped = now}));
  expect_only("meta.missing meta/cursor: the stream of the cursor, created at 0, has no row",
              cursor({.stream_created = 0, .sequence = 0, .stamped = now}));
  EXPECT_THAT(found_after(cursor(
                  {.stream_created = 1, .sequence = 9, .stamped = now + std::chrono::days(366)})),
              IsEmpty())
      << "the clock of the broker may differ";
  expect_only(
      "row.time meta/cursor: the broker's time of the latest applied message is",
      cursor({.stream_created = 1, .sequence = 9, .stamped = now + std::chrono::days(367)}));
}

TEST_F(CheckMetaTest, RefusesRowsInATreeThatALaterFormatAdded) {
  run_instance();
  EXPECT_THAT(found_after([](Transaction& in) {
                in.put(Table::kMeta, "format", rows::key_of(uint64_t{5}));
              }),
              ElementsAre(HasSubstr("the tree by_status, which exists since format 6, has rows"),
                          HasSubstr("the tree counts"), HasSubstr("the tree usage"),
                          HasSubstr("the format is 5, but meta has a row `minor`")));
  expect_among("the format is 5, but meta has a row `stream/`, which exists since format 6",
               [](Transaction& in) {
                 in.put(Table::kMeta, "format", rows::key_of(uint64_t{5}));
                 in.erase(Table::kMeta, "minor");
               });
  const auto older = put("format", rows::key_of(uint64_t{4}));
  expect_among("row.value meta/format: the format is 4, but the tree hooks", [&](Transaction& in) {
    older(in);
    in.put(Table::kWebhooks, rows::key_of(uint64_t{1}), "x");
  });
}

TEST_F(CheckMetaTest, ChecksReplays) {
  run_instance();
  const ReplayRecord record{.created_at = now, .last = 5, .rate = 1};
  const auto replay = [&](NamespaceNumber of) {
    return [=](Transaction& in) { write_replay(in, {.ns = of, .id = {1}}, record); };
  };
  EXPECT_THAT(found_after(replay(ns)), IsEmpty());
  expect_only("counter.behind meta/replay/", replay(NamespaceNumber(9)));
  expect_only("row.key meta/replay/", put("replay/x", encode(record)));
  const std::string key = std::string("replay/\0\0\0\1", 11) + std::string(16, 'i');
  expect_only("row.record meta/replay/", put(key, "rubbish"));
  expect_only(
      "the minor number is 2, but the store has rows `replay/` of meta, expected at least 3",
      [&](Transaction& in) {
        replay(ns)(in);
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{2}));
      });
}

TEST_F(CheckMetaTest, ChecksTheCrashNoteOfACluster) {
  run_instance();
  const auto note = [](NamespaceNumber of) {
    return [of](Transaction& in) {
      in.replay(
          crash_row_writes({.deaths = 1, .sequence = 5, .instance = NotedInstance{.ns = of}}));
    };
  };
  EXPECT_THAT(found_after(note(ns)), IsEmpty()) << "the instance need not exist";
  expect_only("counter.behind meta/crash-note", note(NamespaceNumber(9)));
  expect_only("row.record meta/crash-note", put(std::string(kCrashRowKey), "rubbish"));
  expect_only(
      "the minor number is 3, but the store has the row `crash-note` of meta, expected at least 4",
      [&](Transaction& in) {
        note(ns)(in);
        in.put(Table::kMeta, "minor", rows::key_of(uint64_t{3}));
      });
}

TEST_F(CheckMetaTest, ChecksRegisteredNodes) {
  run_instance();
  const NodeRecord record{.first_seen = now, .address = "http://db1:8780"};
  const Change node = [&](Transaction& in) { write_node(in, {1}, record); };
  EXPECT_THAT(found_after(node), IsEmpty());
  expect_only("row.key meta/node/", put("node/x", encode(record)));
  expect_only("row.record meta/node/", put("node/0123456789012345", "rubbish"));
  expect_only("the minor number is 3, but the store has rows `node/` of meta, expected at least 4",
              [&](Transaction& in) {
                node(in);
                in.put(Table::kMeta, "minor", rows::key_of(uint64_t{3}));
              });
}

TEST_F(CheckMetaTest, ChecksTheUseOfARate) {
  run_instance();
  const auto use = [](NamespaceNumber of, TimePoint at) {
    return [of, at](Transaction& in) { write_rate_use(in, of, {.used = 5, .at = at}); };
  };
  EXPECT_THAT(found_after(use(ns, now + std::chrono::hours(1))), IsEmpty())
      << "the clock of the broker may differ";
  expect_only("counter.behind meta/rate/", use(NamespaceNumber(9), now));
  expect_only("row.key meta/rate/", put("rate/x", encode(RateUse())));
  expect_only("row.record meta/rate/", put(std::string("rate/\0\0\0\1", 9), "rubbish"));
}

// Purges.

TEST_F(CheckMetaTest, ChecksTheKeyOfAPurge) {
  run_instance();
  const std::string number = rows::key_of(uint64_t{1});
  for (const std::string& key :
       {std::string("purge/"), "purge/\x06" + number, "purge/\x01" + rows::key_of(uint64_t{0}),
        "purge/\x01" + number + "x", "purge/\x02" + rows::key_of(uint64_t{1} << 32)}) {
    expect_only("the key is not a kind of purge and a number", put(key, encode(PurgeRecord())));
  }
  expect_only("row.record meta/purge/", put("purge/\x02" + number, "rubbish"));
  expect_among("the name of the namespace in the row is not valid",
               purge(Purge::Kind::kNamespace, 9, {.ns = "no name"}));
  expect_among("counter.behind", purge(Purge::Kind::kNamespace, 9, {.ns = "gone"}));
}

TEST_F(CheckMetaTest, RefusesAPurgeOfHistoryThatAnInstanceHasOrAnotherPurgeErases) {
  run_instance();
  expect_only(
      "purge.target ended/default/00000000-0000-0000-0000-000000000001 head: history row 1 belongs "
      "to this instance, but a purge erases it",
      purge(Purge::Kind::kHistory, 1));
  expect_only("history row 1 does not exist", [&](Transaction& in) {
    const auto ended = read_instance(in, ns, numbered_id(1)).value();
    erase_instance(in, *ended);
    in.erase(Table::kHistory, rows::key_of(uint64_t{1}));
    write_purge(in, {Purge::Kind::kHistory, 1, {}});
  });
  const auto delete_instance = [&](Transaction& in) {
    const auto ended = read_instance(in, ns, numbered_id(1)).value();
    erase_instance(in, *ended);
    write_purge(in, {Purge::Kind::kHistory, 1, {}});
  };
  EXPECT_THAT(found_after(delete_instance), IsEmpty());
  expect_among("another purge erases history row 1, too", [&](Transaction& in) {
    delete_instance(in);
    HistoryRow row{.ns = ns, .instance = numbered_id(1), .previous = 1};
    row.records.push_back({.time = now, .kind = HistoryKind::kEnded});
    write_history(in, 2, row);
    write_counter(in, Counter::kHistory, 2);
    write_purge(in, {Purge::Kind::kHistory, 2, {}});
  });
}

TEST_F(CheckMetaTest, ChecksTheNumberAndTheNamesOfAPurgeOfInstances) {
  run_instance();
  const EndedFilter filter{.ns = ns,
                           .workflow = number_of("ends"),
                           .statuses = {InstanceStatus::kComplete},
                           .before = now};
  const PurgeRecord record{.ns = "default", .workflow = "ends", .ended = filter};
  const auto found_with = [&](const PurgeRecord& changed) {
    return found_after([&](Transaction& in) {
      write_counter(in, Counter::kHistory, 2);
      write_counter(in, Counter::kNamespace, 9);
      write_counter(in, Counter::kWorkflow, 9);
      write_purge(in, {Purge::Kind::kInstances, 2, changed});
    });
  };
  EXPECT_THAT(found_with(record), IsEmpty());
  expect_only("history row 1 exists, but a purge of instances has a number of its own",
              purge(Purge::Kind::kInstances, 1, record));
  PurgeRecord changed = record;
  changed.ns = "other";
  EXPECT_THAT(found_with(changed), testing::Contains(HasSubstr("purge.target meta/purge/")));
  changed = record;
  changed.workflow = "other";
  EXPECT_THAT(found_with(changed),
              ElementsAre(HasSubstr("the row names workflow other in default, but its number "
                                    "belongs to ends in default")));
  changed = record;
  changed.ended->workflow = WorkflowNumber(0);
  EXPECT_THAT(found_with(changed),
              ElementsAre(HasSubstr("the row has a workflow without a name, or a name without")));
  changed = record;
  changed.ended->ns = NamespaceNumber(9);
  EXPECT_THAT(found_with(changed), IsEmpty()) << "the namespace was deleted";
  changed.ended->ns = NamespaceNumber(10);
  EXPECT_THAT(found_with(changed), ElementsAre(HasSubstr("counter.behind meta/purge/")));
  changed.ended->ns = NamespaceNumber(0);
  EXPECT_THAT(found_with(changed), ElementsAre(HasSubstr("the row names no namespace")));
  changed = record;
  changed.ended->workflow = WorkflowNumber(9);
  EXPECT_THAT(found_with(changed),
              ElementsAre(HasSubstr("the row names workflow ends, but no workflow has the number "
                                    "9")));
  changed = record;
  changed.up_to = 1;
  EXPECT_THAT(found_with(changed),
              ElementsAre(HasSubstr("the row has a value in a field that a purge of this kind does "
                                    "not have")));
  changed = record;
  changed.ended.reset();
  EXPECT_THAT(found_with(changed),
              ElementsAre(HasSubstr("the record is that of another kind of purge")));
  expect_only("counter.behind meta/purge/", purge(Purge::Kind::kInstances, 9, record));
  expect_only("the record is that of another kind of purge",
              purge(Purge::Kind::kGroups, 1, record));
}

TEST_F(CheckMetaTest, ChecksTheWorkflowOfAPurgeOfGroups) {
  define(kEndsByTwo);
  run_instance();  // the second revision replaces the groups of the first one
  const auto number = static_cast<uint64_t>(number_of("ends"));
  const PurgeRecord record{.ns = "default", .workflow = "ends"};
  PurgeRecord elsewhere = record;
  elsewhere.ns = "other";
  PurgeRecord other = record;
  other.workflow = "other";
  expect_only("the row names workflow ends in other, but its number belongs to ends in default",
              purge(Purge::Kind::kGroups, number, elsewhere));
  expect_only("the row names workflow other in default",
              purge(Purge::Kind::kGroups, number, other));
  WorkflowRecord workflow = *read_workflow(*tx, ns, "ends").value();
  workflow.groups_from = 0;
  expect_only("workflow ends still has its first groups, so no groups were closed",
              [&](Transaction& in) {
                write_workflow(in, ns, "ends", workflow);
                write_purge(in, {Purge::Kind::kGroups, number, record});
              });
  EXPECT_THAT(found_after(purge(Purge::Kind::kGroups, number, record)), IsEmpty());
  PurgeRecord late = record;
  late.up_to = 9;
  expect_among("counter.behind meta/purge/", purge(Purge::Kind::kGroups, number, late));
}

TEST_F(CheckMetaTest, ChecksTheNamesOfADeletedWorkflowInAPurge) {
  run_instance();
  const WorkflowNumber number = number_of("ends");
  const auto found_with = [&](Purge::Kind kind, uint64_t key, const PurgeRecord& record) {
    return found_after([&](Transaction& in) {
      erase_workflow(in, ns, "ends");
      write_retired(in, number, ns);
      write_counter(in, Counter::kHistory, 2);
      write_purge(in, {kind, key, record});
    });
  };
  const std::string other =
      "the row names workflow other in default, but its number belongs to ends";
  const auto groups = static_cast<uint64_t>(number);
  EXPECT_THAT(found_with(Purge::Kind::kGroups, groups, {.ns = "default", .workflow = "ends"}),
              IsEmpty());
  EXPECT_THAT(found_with(Purge::Kind::kGroups, groups, {.ns = "default", .workflow = "other"}),
              ElementsAre(HasSubstr(other)));
  PurgeRecord instances{
      .ns = "default",
      .workflow = "ends",
      .ended = EndedFilter{
          .ns = ns, .workflow = number, .statuses = {InstanceStatus::kComplete}, .before = now}};
  EXPECT_THAT(found_with(Purge::Kind::kInstances, 2, instances), IsEmpty());
  instances.workflow = "other";
  EXPECT_THAT(found_with(Purge::Kind::kInstances, 2, instances), ElementsAre(HasSubstr(other)));
}

TEST_F(CheckMetaTest, RefusesAFieldThatPurgesOfTheKindDoNotHave) {
  run_instance();
  const std::string found =
      "the row has a value in a field that a purge of this kind does not have";
  const auto delete_instance = [&](Transaction& in, const PurgeRecord& record) {
    const auto ended = read_instance(in, ns, numbered_id(1)).value();
    erase_instance(in, *ended);
    write_purge(in, {Purge::Kind::kHistory, 1, record});
  };
  for (const PurgeRecord& record :
       {PurgeRecord{.ns = "default"}, PurgeRecord{.workflow = "ends"}, PurgeRecord{.up_to = 1}}) {
    expect_only(found, [&](Transaction& in) { delete_instance(in, record); });
  }
  expect_among(found, purge(Purge::Kind::kNamespace, 1, {.ns = "default", .workflow = "ends"}));
}

TEST_F(CheckMetaTest, AllowsRowsOfANamespaceThatAPurgeErases) {
  run_instance();
  run_command(CreateNamespace{.name = "shop"});
  const NamespaceNumber shop = *catalog.find_namespace("shop");
  write_variable(*tx, {.owner = {.scope = VariableScope::kNamespace, .ns = shop}, .key = "v"}, {});
  build_index();
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

// Deleted workflows.

TEST_F(CheckMetaTest, ChecksTheRowOfADeletedWorkflow) {
  run_instance();
  const WorkflowNumber number = number_of("ends");
  const auto retire = [&](Transaction& in) { write_retired(in, number, ns); };
  EXPECT_THAT(found_after([&](Transaction& in) {
                retire(in);
                erase_workflow(in, ns, "ends");
              }),
              IsEmpty());
  expect_only("number.twice", retire);
  expect_only("definition.missing definitions/workflow 9 revision 1: revision 1 of workflow 9 does",
              [&](Transaction& in) {
                write_counter(in, Counter::kWorkflow, 9);
                write_retired(in, WorkflowNumber(9), ns);
              });
  expect_only(
      "workflow.missing definitions/workflow 1 revision 1: the workflow of the definition does not "
      "exist, and meta has no row `retired/` for that workflow",
      [&](Transaction& in) { erase_workflow(in, ns, "ends"); });
  expect_among("no namespace has the number 9", [&](Transaction& in) {
    write_retired(in, number, NamespaceNumber(9));
    erase_workflow(in, ns, "ends");
  });
  expect_only("the key is not the number of a workflow",
              put("retired/" + rows::workflow_prefix({}), rows::ns_prefix(ns)));
  expect_only("the key is not the number of a workflow", put("retired/abc", "x"));
  expect_only("the row has 1 bytes, expected a namespace number of 4 bytes",
              put("retired/" + rows::workflow_prefix(number), "x"));
}

TEST_F(CheckMetaTest, ReportsAFailedReadAsTheOnlyFinding) {
  run_instance();
  define("id: gone\nstates: [{id: a, type: noop}]");
  start("gone");
  const auto ended = read_instance(*tx, ns, numbered_id(2)).value();
  erase_instance(*tx, *ended);
  write_purge(*tx, {Purge::Kind::kHistory, ended->last_history, {}});
  erase_workflow(*tx, ns, "gone");
  write_retired(*tx, WorkflowNumber(2), ns);
  build_index();
  commit();
  expect_sound();
  expect_each_failed_read_alone();
}

}  // namespace
}  // namespace millrace
