// What all parts of the store check share: the walk over rows, the description of keys, and failed
// reads.
#include "orchestrator/check/checker.h"

#include <fmt/format.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kWaiting = R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";

class CheckerTest : public CheckTest {
 protected:
  /// Writes a waiting and an ended instance, a variable and a secret.
  void fill() {
    define(kWaiting);
    define("id: ends\nstates: [{id: a, type: noop}]");
    start("waits", "key");
    start("ends");
    run_command(PutVariable{.place = {.ns = "default"}, .key = "v", .value = {}});
    run_command(PutSecret{.ns = "default", .name = "s", .value = "secret"});
  }
};

TEST_F(CheckerTest, EscapesBytesThatAreNotPrintable) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable(std::string("a\0\x1f\x7f\xff~", 6)), "a\\x00\\x1f\\x7f\\xff~");
  EXPECT_EQ(printable(""), "");
}

TEST_F(CheckerTest, FindsNothingInAnUndamagedStoreAndCountsItsRows) {
  fill();
  expect_sound();
  const auto report = check_store(*tx, options);
  EXPECT_EQ(report->rows.at("live"), rows_of(Table::kLive));
  EXPECT_EQ(report->rows.at("ended"), rows_of(Table::kEnded));
  EXPECT_EQ(report->rows.at("meta"), rows_of(Table::kMeta));
  EXPECT_EQ(report->rows.at("dead_letters"), 0U);
  EXPECT_EQ(report->rows.size(), kTables.size()) << "every table is read";
  EXPECT_EQ(report->unreadable, 0U);
}

TEST_F(CheckerTest, FindsNothingInAnEmptyStore) {
  const Folder other;
  const auto empty = Environment::open(other.path()).value();
  const Snapshot view = Snapshot::take(*empty).value();
  const auto report = check_store(view, options);
  ASSERT_TRUE(report);
  EXPECT_THAT(lines_of(*report), IsEmpty());
}

TEST_F(CheckerTest, ReportsAFailedReadAsTheOnlyFinding) {
  fill();
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

TEST_F(CheckerTest, RefusesAStoreOfALaterFormatOrThatLacksRows) {
  const struct {
    std::string_view key;
    std::string value;
    std::string_view code;
    std::string message;
  } cases[] = {
      {kFormatKey, rows::key_of(kStoreFormat + 1), "store.version",
       fmt::format("format {}.{}", kStoreFormat + 1, kStoreMinor)},
      {"minor", rows::key_of(kStoreMinor + 1), "store.version",
       fmt::format("format {}.{}", kStoreFormat, kStoreMinor + 1)},
      {"loading", "any", "store.joining", "lacks rows"},
  };
  fill();
  for (const auto& one : cases) {
    tx->put(Table::kMeta, one.key, one.value);
    const auto report = check_store(*tx, options);
    ASSERT_FALSE(report) << one.key;
    EXPECT_EQ(report.error().code, one.code);
    EXPECT_THAT(report.error().message, HasSubstr(one.message));
    tx->erase(Table::kMeta, one.key);
    tx->put(Table::kMeta, kFormatKey, rows::key_of(kStoreFormat));
  }
}

TEST_F(CheckerTest, ChecksTheStoreOfANode) {
  tx->put(Table::kMeta, kLogKey, encode(LogPosition{.sequence = 1, .name = {1, 1, {}}}));
  EXPECT_THAT(found(), IsEmpty());
  tx->put(Table::kMeta, kLogKey, "any");
  EXPECT_THAT(found(), ElementsAre(HasSubstr("the position in the log is damaged")));
}

TEST_F(CheckerTest, RefusesAStoreThatLacksRowsAlsoWithoutAFormat) {
  for (const bool has_format : {true, false}) {
    tx->put(Table::kMeta, kLoadingKey, encode(LogPosition{.sequence = 1, .name = {1, 1, {}}}));
    if (!has_format) tx->erase(Table::kMeta, kFormatKey);
    const auto report = check_store(*tx, options);
    ASSERT_FALSE(report) << has_format;
    EXPECT_EQ(report.error().code, "store.joining") << has_format;
  }
}

TEST_F(CheckerTest, FindsAMissingTreeThatTheFormatOfTheStoreRequires) {
  options.has_tree = [](Table table) { return table != Table::kWebhooks; };
  EXPECT_THAT(found(), ElementsAre("tree.missing hooks/: the tree is missing, with all its rows"));
  EXPECT_THAT(found_after([](Transaction& in) {
                in.put(Table::kMeta, kFormatKey, rows::key_of(uint64_t{4}));
                in.erase(Table::kMeta, "minor");
                in.erase(Table::kMeta, std::string("stream/\0\0\0\1", 11));
              }),
              IsEmpty())
      << "a store of an older format need not have the tree";
}

TEST_F(CheckerTest, ReportsEachUnknownTree) {
  options.unknown_trees = {"one", "an\nother", "third"};
  options.most_findings = 2;
  EXPECT_THAT(found(), ElementsAre("tree.unknown one/: no release creates a tree of this name",
                                   "tree.unknown an\\x0aother/: no release creates a tree of this "
                                   "name"));
  const auto report = check_store(*tx, options);
  EXPECT_EQ(report->codes, (std::map<std::string, uint64_t>{{"tree.unknown", 3}}));
}

TEST_F(CheckerTest, ReportsEachUnknownRowInTheTreeOfTheJournal) {
  options.unknown_journal_keys = {"checkpointee", "\x01"};
  EXPECT_THAT(found(), ElementsAre("row.key journal/checkpointee: no release writes a row with "
                                   "this key into the tree",
                                   HasSubstr("row.key journal/\\x01: ")));
}

TEST_F(CheckerTest, StopsIfTheProgressCallbackReturnsFalse) {
  for (int i = 0; i < 5'000; ++i) {
    tx->put(Table::kVariables, fmt::format("{}\x02v{}", rows::ns_prefix(ns), i),
            encode(Variable()));
  }
  build_index();
  commit();
  uint64_t asked = 0;
  options.progress = [&](uint64_t rows_seen, uint64_t of) {
    ++asked;
    EXPECT_LE(rows_seen, of);
    return true;
  };
  expect_sound();
  EXPECT_EQ(asked, 1U);
  options.progress = [](uint64_t, uint64_t) { return false; };
  const auto stopped = check_store(*tx, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, "check.stopped");
}

TEST_F(CheckerTest, KeepsALimitedNumberOfFindingsAndCountsAllFindings) {
  options.most_findings = 2;
  for (const char* const key : {"a", "b", "c"}) tx->put(Table::kDeadLetters, key, "x");
  const auto report = check_store(*tx, options);
  EXPECT_EQ(report->findings.size(), 2U);
  EXPECT_EQ(report->codes, (std::map<std::string, uint64_t>{{"row.key", 3}}));
}

TEST_F(CheckerTest, DescribesTheKeysOfEachTable) {
  const InstanceId id = numbered_id(9);
  const std::string instance = rows::key_of(id);
  const std::string text = to_string(id);
  const std::string ns_key = rows::ns_prefix(NamespaceNumber(1));
  const std::string far = rows::ns_prefix(NamespaceNumber(7));
  const std::string number = rows::key_of(uint64_t{5});
  const std::string workflow = rows::workflow_prefix(WorkflowNumber(3));
  const std::string queue = "queues/workflow 3 key " + text;
  const std::string calls = "queues/number 7 calls key " + text;
  const struct {
    Table table;
    std::string key;
    std::string shown;
  } table_rows[] = {
      {Table::kMeta, "strange\x01", "meta/strange\\x01: "},
      {Table::kWorkflows, ns_key + "w", "workflows/default/w: "},
      {Table::kSecrets, far + "s", "secrets/number 7/s: "},
      {Table::kDefinitions, workflow + rows::ns_prefix(NamespaceNumber(2)),
       "definitions/workflow 3 revision 2: "},
      {Table::kLive, ns_key + instance + std::string(1, '\0'), "live/default/" + text + " head: "},
      {Table::kLive, ns_key + instance + "\x01", "live/default/" + text + " input: "},
      {Table::kLive, ns_key + instance + "\x05" + workflow, "live/default/" + text + " call 3: "},
      {Table::kEnded, ns_key + instance + "\x09", "ended/default/" + text + " part 9: "},
      {Table::kGroups, "\x03" + number, "groups/number 5: "},
      {Table::kGroups, "\x01" + workflow + instance, "groups/workflow 3 group " + text + ": "},
      {Table::kGroups, "\x02" + workflow + instance + "\x01\x02" + number,
       "groups/workflow 3 group " + text + " entry 258 number 5: "},
      {Table::kKeptEvents, ns_key + instance + number, "recent/default/" + text + " number 5: "},
      {Table::kVariables, ns_key + "\x02key", "variables/default/key: "},
      {Table::kVariables, ns_key + "\x01" + workflow + "key", "variables/default/workflow 3/key: "},
      {Table::kVariables, ns_key + std::string(1, '\0') + instance + "key",
       "variables/default/" + text + "/key: "},
      {Table::kQueues, "\x01" + workflow + instance, queue + ": "},
      {Table::kQueues, "\x02" + workflow + instance + number, queue + " slot 5: "},
      {Table::kQueues, "\x03" + workflow + instance + far + number, queue + " rank 7 waiting 5: "},
      {Table::kQueues, "\x04" + workflow + instance, queue + " throttle: "},
      {Table::kQueues, "\x05" + workflow + instance + far + number,
       queue + " rank 7 throttled 5: "},
      {Table::kQueues, "\x06" + far + instance, calls + ": "},
      {Table::kQueues, "\x07" + far + instance + number, calls + " slot 5: "},
      {Table::kQueues, "\x08" + far + instance + far + number, calls + " rank 7 waiting 5: "},
      {Table::kQueues, "\x09" + far + instance + number, calls + " paused 5: "},
      {Table::kQueues, "\x0a" + far + instance, calls + " throttle: "},
      {Table::kQueues, "\x0b" + far + instance + far + number, calls + " rank 7 throttled 5: "},
      {Table::kQueues, "\x0c" + far + instance + number, calls + " throttle paused 5: "},
      {Table::kQueues, "\x0d", "queues/0x0d: "},
      {Table::kTasks, instance, "tasks/" + text + ": "},
      {Table::kSchedules, workflow, "schedules/workflow 3: "},
      {Table::kIdempotency, workflow + "key", "idempotency/workflow 3 key key: "},
      {Table::kDedupe, rows::key_of(uint64_t{77}) + number, "dedupe/77 sequence 5: "},
      {Table::kOutbox, number, "outbox/5: "},
      {Table::kOutbox, "abc", "outbox/0x616263: "},
      {Table::kLive, "x", "live/0x78: "},
      {Table::kTasks, instance + "x", "tasks/0x" + std::string(30, '0') + "0978: "},
  };
  for (const auto& row : table_rows) {
    expect_among(row.shown, [&](Transaction& in) { in.put(row.table, row.key, "rubbish"); });
  }
}

TEST_F(CheckerTest, NamesTheNamespaceAndTheInstanceOfARow) {
  tx->put(Table::kLive, rows::instance_prefix(ns, numbered_id(9)) + '\0', "rubbish");
  const auto report = check_store(*tx, options);
  ASSERT_EQ(report->findings.size(), 1U);
  EXPECT_EQ(report->findings[0].ns, "default");
  EXPECT_EQ(report->findings[0].instance, numbered_id(9));
  tx->drop();
  tx->put(Table::kLive, rows::instance_prefix(ns, numbered_id(9)) + std::string(2, '\0'), "x");
  const auto longer = check_store(*tx, options);
  ASSERT_EQ(longer->findings.size(), 1U);
  EXPECT_EQ(longer->findings[0].ns, "") << "a malformed key names no namespace";
  EXPECT_EQ(longer->findings[0].instance, std::nullopt);
}

TEST_F(CheckerTest, ReportsACounterOnceThoughItIsBelowTheNumbersOfSeveralRows) {
  const auto row = [&](uint64_t number) { return rows::key_of(number); };
  EXPECT_THAT(
      found_after([&](Transaction& in) {
        for (const uint64_t number : {5, 6}) in.put(Table::kOutbox, row(number), "x");
      }),
      testing::UnorderedElementsAre(
          HasSubstr("counter.behind outbox/5: number 5 was assigned, but the counter `d` is at "
                    "0"),
          HasSubstr("row.record outbox/5"), HasSubstr("row.record outbox/6")));
}

TEST_F(CheckerTest, CountsSealedRowsAndDoesNotDecodeThemIfTheSecretKeyIsMissing) {
  fill();
  const std::string place = rows::ns_prefix(ns) + "s";
  expect_only("row.seal secrets/default/s: the row is sealed, but does not open",
              [&](Transaction& in) {
                std::string value(*in.get(Table::kSecrets, place));
                value.back() ^= 1;
                in.put(Table::kSecrets, place, value);
              });
  const auto break_seal = [](Transaction& in) {
    std::string seal(*in.get(Table::kMeta, "seal"));
    seal.back() ^= 1;
    in.put(Table::kMeta, "seal", seal);
  };
  expect_only("store.key meta/seal: the given key does not open the row", break_seal);
  options.has_key = false;
  EXPECT_THAT(found_after(break_seal), IsEmpty());
  break_seal(*tx);
  std::string value(*tx->get(Table::kSecrets, place));
  value.back() ^= 1;
  tx->put(Table::kSecrets, place, value);
  const auto report = check_store(*tx, options);
  EXPECT_EQ(report->unreadable, 1U);
  EXPECT_TRUE(report->sound());
}

}  // namespace
}  // namespace millrace
