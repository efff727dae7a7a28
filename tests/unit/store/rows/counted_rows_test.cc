// Counted rows: each family is counted for its namespace when its rows are written, replaced and
// erased, with no more reads than that needs.
#include "orchestrator/store/rows/counted_rows.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/bytes.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/support/index.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NamespaceNumber kNone{9};  ///< does not exist
constexpr WorkflowNumber kRetired{8};
constexpr WorkflowNumber kUnknown{6};

std::string text(size_t size) { return std::string(size, 'x'); }

StartTask task_of(NamespaceNumber ns, size_t size) {
  return {.ns = ns, .task = id(1), .by = id(2), .input = Json{{"n", text(size)}}};
}

/// Writes the row of an event for a webhook, with the counter that has assigned its number.
void write_delivery(Transaction& tx, uint64_t number, NamespaceNumber ns, size_t size) {
  write_counter(tx, Counter::kWebhook, number);
  write_webhook(tx, number, {.ns = ns, .url = "http://a", .at = kNow, .event = text(size)});
}

/// A family of counted rows.
struct CountedFamily {
  const char* name;
  Table table;
  /// Writes the row of the family, with a value of `size` bytes and some more.
  void (*write)(Transaction& tx, size_t size);
  bool is_replaced = false;  ///< a row may be written again with another value
};

constexpr CountedFamily kFamilies[] = {
    {"variables of a namespace", Table::kVariables,
     [](Transaction& tx, size_t size) {
       write_variable(tx, {{.scope = VariableScope::kNamespace, .ns = kShop}, "k"},
                      {.content_type = "text/plain", .bytes = text(size)});
     },
     true},
    {"variables of a workflow", Table::kVariables,
     [](Transaction& tx, size_t size) {
       write_variable(tx,
                      {{.scope = VariableScope::kWorkflow, .ns = kShop, .workflow = kOrders}, "k"},
                      {.bytes = text(size)});
     },
     true},
    {"variables of an instance", Table::kVariables,
     [](Transaction& tx, size_t size) {
       write_variable(tx,
                      {{.scope = VariableScope::kInstance, .ns = kShop, .instance = id(1)}, "k"},
                      {.bytes = text(size), .sealed = true});
     },
     true},
    {"secrets", Table::kSecrets,
     [](Transaction& tx, size_t size) { write_secret(tx, kShop, "card", text(size)); }, true},
    {"former values of secrets", Table::kSecrets,
     [](Transaction& tx, size_t size) { write_secret(tx, kShop, "~0000", text(size)); }, true},
    {"definitions", Table::kDefinitions,
     [](Transaction& tx, size_t size) {
       write_definition(tx, {kOrders, 1}, {.created_at = kNow, .text = text(size)});
     }},
    {"definitions of a retired workflow", Table::kDefinitions,
     [](Transaction& tx, size_t size) {
       write_definition(tx, {kRetired, 1}, {.created_at = kNow, .text = text(size)});
     }},
    {"kept events", Table::kKeptEvents,
     [](Transaction& tx, size_t size) {
       write_kept_event(tx, {.ns = kShop, .type = fingerprint({"paid"}), .number = 1},
                        {.event = text(size)});
     }},
    {"events in groups", Table::kGroups,
     [](Transaction& tx, size_t size) {
       write_grouped(
           tx, {.queue = {.workflow = kOrders}, .number = 1, .record = {.event = text(size)}});
     }},
    {"delayed events", Table::kDelayed,
     [](Transaction& tx, size_t size) {
       write_delayed(tx, 1, {.ns = kShop, .instance = id(1), .at = kNow, .event = text(size)});
     }},
    {"sealed delayed events", Table::kDelayed,
     [](Transaction& tx, size_t size) {
       write_delayed(
           tx, 1,
           {.ns = kShop, .instance = id(1), .at = kNow, .event = text(size), .sealed = true});
     }},
    {"tasks", Table::kTasks,
     [](Transaction& tx, size_t size) { write_task(tx, task_of(kShop, size)); }, true},
    {"starts of subflows", Table::kInbox,
     [](Transaction& tx, size_t size) {
       write_inbox(tx, 1,
                   {.message = StartChild{.ns = kShop,
                                          .child = id(1),
                                          .workflow = "pays",
                                          .input = Json{{"n", text(size)}},
                                          .by = id(2)}});
     }},
    {"results of subflows", Table::kInbox,
     [](Transaction& tx, size_t size) {
       write_inbox(tx, 1,
                   {.message = ReturnResult{
                        .ns = kShop, .to = caller(), .result = LazyJson(Json(text(size)))}});
     }},
    {"events for webhooks", Table::kWebhooks,
     [](Transaction& tx, size_t size) { write_delivery(tx, 1, kShop, size); }, true},
};

class CountedRowsTest : public StoreTest {
 protected:
  CountedRowsTest() {
    write_namespace(*tx, "shop", {.number = kShop, .created_at = kNow});
    write_workflow(*tx, kShop, "orders", {.number = kOrders, .latest = 1});
    write_retired(*tx, kRetired, kShop);
    commit();
    owners = read_owners(*tx).value();
  }

  /// Counts the writes as a batch does, and commits them. Returns the size that the namespace has.
  uint64_t settle() {
    IndexChanges changes;
    EXPECT_TRUE(count_writes(*tx, owners, changes));
    EXPECT_TRUE(changes.write(*tx, [&](const Error& error) { damage.push_back(error.message); }));
    commit();
    return read_usage(*tx, kShop)->counted_bytes;
  }
  /// The size by the rows of the store.
  uint64_t recounted() { return counted_size(*tx, kShop); }
  void erase_all(Table table) { ASSERT_TRUE(rows::erase_some(*tx, table, {}, 100)); }

  /// Opens the store again, with a count of the reads of each table.
  void count_reads() {
    tx.reset();
    environment.reset();
    environment = Environment::open(folder.path(), {.fails_read =
                                                        [this](Table table, auto) {
                                                          ++reads[table];
                                                          return false;
                                                        }})
                      .value();
    tx.emplace(*environment);
  }

  RowOwners owners;
  std::vector<std::string> damage;
  std::map<Table, int> reads;
};

TEST_F(CountedRowsTest, OfEachFamilyCountWhenTheyAreWrittenReplacedAndErased) {
  for (const CountedFamily& family : kFamilies) {
    SCOPED_TRACE(family.name);
    family.write(*tx, 100);
    const uint64_t written = settle();
    EXPECT_GT(written, 100U);
    EXPECT_EQ(written, recounted());
    if (family.is_replaced) {
      for (const size_t size : {110, 40}) {
        family.write(*tx, size);
        EXPECT_EQ(settle(), written - 100 + size);
        EXPECT_EQ(read_usage(*tx, kShop)->counted_bytes, recounted());
      }
    }
    erase_all(family.table);
    EXPECT_EQ(settle(), 0U);
    EXPECT_FALSE(tx->get(Table::kUsage, rows::ns_prefix(kShop))) << "the namespace has nothing";
  }
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(CountedRowsTest, OfEachFamilyDoNotCountIfOneBatchWritesAndErasesThem) {
  for (const CountedFamily& family : kFamilies) {
    SCOPED_TRACE(family.name);
    family.write(*tx, 100);
    erase_all(family.table);
    EXPECT_EQ(settle(), 0U);
  }
}

TEST_F(CountedRowsTest, HaveTheirPlainSizesIfTheyAreSealed) {
  const DelayedRecord plain{.ns = kShop, .instance = id(1), .at = kNow, .event = text(50)};
  DelayedRecord sealed = plain;
  sealed.sealed = true;
  write_delayed(*tx, 1, plain);
  const uint64_t one = settle();
  write_delayed(*tx, 2, sealed);
  EXPECT_EQ(settle(), 2 * one);
}

TEST_F(CountedRowsTest, BelongToANamespaceThatExists) {
  write_secret(*tx, kNone, "card", "4711");
  write_definition(*tx, {kUnknown, 1}, {.created_at = kNow, .text = "id: none"});
  write_delayed(*tx, 1, {.ns = kNone, .instance = id(1), .at = kNow, .event = "{}"});
  write_task(*tx, task_of(kNone, 10));
  EXPECT_EQ(settle(), 0U);
  EXPECT_EQ(recounted(), 0U);
  EXPECT_EQ(read_usage(*tx, kNone), Usage{});
}

TEST_F(CountedRowsTest, MoveToTheNamespaceThatAReplacedValueNames) {
  constexpr NamespaceNumber kOther{4};
  write_namespace(*tx, "other", {.number = kOther, .created_at = kNow});
  commit();
  owners = read_owners(*tx).value();
  write_delivery(*tx, 1, kShop, 10);
  const uint64_t size = settle();
  write_delivery(*tx, 1, kOther, 10);
  EXPECT_EQ(settle(), 0U);
  EXPECT_EQ(read_usage(*tx, kOther)->counted_bytes, size);
}

TEST_F(CountedRowsTest, AreNoneOfTheRowsThatStandForOthersOrBelongToAll) {
  write_counts(*tx, kOrders, Fingerprint{}, {1, 0});
  write_idempotency(*tx, kOrders, "key", {.instance = id(1)});
  write_schedule(*tx, kOrders, {.from = kNow});
  write_fan_out(*tx, 1);
  write_late_match(*tx, 1, {.starts = {kOrders}});
  write_outbox(*tx, 1, {.message = {.subject = "millrace.events.shop.paid"}});
  write_dedupe(*tx, kNow, 1, {Fingerprint{}});
  EXPECT_EQ(settle(), 0U);
}

TEST_F(CountedRowsTest, DoNotCountIfTheirNamespaceCannotBeRead) {
  for (const Table table : {Table::kDelayed, Table::kTasks, Table::kWebhooks, Table::kInbox}) {
    for (const char* const value : {"", "\x7f", "\x01\xff", "\xff damaged seal"}) {
      tx->put(table, rows::key_of(uint64_t{1}), value);
      EXPECT_EQ(settle(), 0U) << table_name(table);
      tx->erase(table, rows::key_of(uint64_t{1}));
      EXPECT_EQ(settle(), 0U) << table_name(table);
    }
  }
  for (const Table table : {Table::kVariables, Table::kDefinitions, Table::kGroups}) {
    tx->put(table, "\x02", "short key");
    EXPECT_EQ(settle(), 0U) << table_name(table);
  }
  EXPECT_THAT(damage, IsEmpty());
}

TEST_F(CountedRowsTest, AreReadOnlyIfARowOfBeforeMayExist) {
  count_reads();
  write_delayed(*tx, 1, {.ns = kShop, .instance = id(1), .at = kNow, .event = "{}"});
  write_kept_event(*tx, {.ns = kShop, .number = 1}, {.event = "{}"});
  write_grouped(*tx, {.queue = {.workflow = kOrders}, .number = 1, .record = {.event = "{}"}});
  write_task(*tx, task_of(kShop, 10));
  write_delivery(*tx, 1, kShop, 10);
  write_secret(*tx, kNone, "card", "4711");
  settle();
  for (const Table table : kCountedTables) {
    // A task is written again when its service accepts it. Of `meta`, settle() reads whether the
    // index is complete.
    const bool is_read = table == Table::kTasks || table == Table::kMeta;
    EXPECT_EQ(reads[table], is_read ? 1 : 0) << table_name(table);
  }
  erase_delayed(*tx, 1);
  write_delivery(*tx, 1, kShop, 20);
  write_delivery(*tx, 2, kShop, 20);
  write_secret(*tx, kShop, "card", "4711");
  settle();
  EXPECT_EQ(reads[Table::kDelayed], 1);
  EXPECT_EQ(reads[Table::kWebhooks], 1) << "that of the second attempt";
  EXPECT_EQ(reads[Table::kSecrets], 1);
  EXPECT_EQ(read_usage(*tx, kShop)->counted_bytes, recounted());
}

TEST_F(CountedRowsTest, AreNotCountedAfterAFailedRead) {
  write_delayed(*tx, 1, {.ns = kShop, .instance = id(1), .at = kNow, .event = "{}"});
  settle();
  tx.reset();
  environment.reset();
  environment =
      Environment::open(folder.path(),
                        {.fails_read = [](Table table, auto) { return table == Table::kDelayed; }})
          .value();
  tx.emplace(*environment);
  erase_delayed(*tx, 1);
  IndexChanges changes;
  const Status counted = count_writes(*tx, owners, changes);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, "store.io");
}

TEST_F(CountedRowsTest, HaveOwnersByTheRowsThatAreNotDamaged) {
  write_namespace(*tx, "other", {.number = kNone, .created_at = kNow});
  write_workflow(*tx, kNone, "others", {.number = kUnknown, .latest = 1});
  tx->put(Table::kNamespaces, "aaa", "damaged");
  tx->put(Table::kWorkflows, rows::ns_prefix(kShop) + "aaa", "damaged");
  const RowOwners found = read_owners(*tx).value();
  EXPECT_TRUE(found.exists(kShop));
  EXPECT_TRUE(found.exists(kNone));
  EXPECT_FALSE(found.exists(NamespaceNumber(77)));
  EXPECT_EQ(found.home(kUnknown), kNone);
  EXPECT_EQ(found.home(kRetired), kShop);
  EXPECT_FALSE(found.home(WorkflowNumber(77)));
}

TEST_F(CountedRowsTest, AreInTablesInTheOrderOfTheirKeys) {
  EXPECT_TRUE(std::is_sorted(kCountedTables.begin(), kCountedTables.end()));
  EXPECT_TRUE(is_counted_table(Table::kVariables));
  EXPECT_FALSE(is_counted_table(Table::kOutbox));
}

}  // namespace
}  // namespace millrace
