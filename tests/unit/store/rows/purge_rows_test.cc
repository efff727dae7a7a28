// Purge: which rows the functions of purge.h erase, and where they stop.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PurgeRowsTest : public StoreTest {
 protected:
  static constexpr NamespaceNumber kShop{1};
  static constexpr NamespaceNumber kStock{2};
  static constexpr WorkflowNumber kPay{4};
  static constexpr WorkflowNumber kShip{5};

  /// Writes history rows with the numbers `first` to `last`, each after the one before it.
  void write_chain(uint64_t first, uint64_t last, uint8_t of) {
    for (uint64_t number = first; number <= last; ++number) {
      write_history(*tx, number,
                    {.ns = kShop,
                     .instance = id(of),
                     .previous = number == first ? 0 : number - 1,
                     .records = {{.kind = HistoryKind::kLog}}});
    }
  }

  /// Writes an ended instance of kShop: a row with its head, and a row with its input.
  Instance write_ended(uint8_t of, WorkflowNumber workflow, uint64_t last_history = 0) {
    Instance instance{.id = id(of),
                      .ns = kShop,
                      .revision = {workflow, 1},
                      .status = InstanceStatus::kComplete,
                      .phase = Phase::kEnded};
    instance.ended_at = instance.started_at;
    instance.last_history = last_history;
    instance.input = Json::object();
    write_instance(*tx, instance, {.input = true});
    return instance;
  }

  static std::string head_key(NamespaceNumber ns, uint8_t of) {
    return part_key(rows::instance_prefix(ns, id(of)), Part::kHead);
  }

  /// Erases ended instances of kShop from `at_` on, until the budget is spent; returns whether none
  /// is left.
  bool purge_ended(PurgeBudget budget) {
    return purge_instances(
               *tx, Table::kEnded, kShop, at_, budget,
               [this](uint64_t row) { left_.push_back(row); },
               [this](WorkflowNumber workflow) -> Result<bool> { return workflow == unknown_; })
        .value();
  }

  std::vector<std::string> keys(Table table) const {
    std::vector<std::string> found;
    tx->scan(table, {}, {}, Direction::kForward, [&](std::string_view key, std::string_view) {
      found.emplace_back(key);
      return true;
    });
    return found;
  }

  /// The numbers of the rows of a table.
  std::vector<uint64_t> numbers(Table table) const {
    std::vector<uint64_t> found;
    for (const std::string& key : keys(table)) found.push_back(rows::number_of(key));
    return found;
  }

  std::string at_;
  std::vector<uint64_t> left_;  ///< the rows of histories that were left
  std::optional<WorkflowNumber> unknown_;
};

TEST_F(PurgeRowsTest, EraseTheNextRowsWhenTheyContinueAfterASpentBudget) {
  for (const PurgeBudget& most : {PurgeBudget{.rows = 2}, PurgeBudget{.looked_at = 2},
                                  PurgeBudget{.bytes = 10}}) {  // a key has 5 bytes
    for (const char* const name : {"a", "b", "c", "d", "e"}) {
      write_secret(*tx, kShop, name, "4711");
      write_secret(*tx, kStock, name, "4711");
    }
    const auto names = [&] {
      std::string all;
      EXPECT_TRUE(each_secret(*tx, kShop, "", [&](std::string_view name) {
        all += name;
        return true;
      }));
      return all;
    };
    std::string at;
    PurgeBudget budget = most;
    EXPECT_FALSE(purge_values(*tx, Table::kSecrets, kShop, at, budget).value());
    EXPECT_TRUE(budget.is_spent());
    EXPECT_EQ(names(), "cde");
    EXPECT_EQ(at, rows::ns_prefix(kShop) + "c");
    budget = most;
    EXPECT_FALSE(purge_values(*tx, Table::kSecrets, kShop, at, budget).value());
    EXPECT_EQ(names(), "e");
    budget = most;
    EXPECT_TRUE(purge_values(*tx, Table::kSecrets, kShop, at, budget).value());
    EXPECT_EQ(names(), "");
    EXPECT_EQ(keys(Table::kSecrets).size(), 5U) << "those of the other namespace";
  }
}

TEST_F(PurgeRowsTest, EraseAnInstanceWithItsWholeHistory) {
  write_chain(11, 12, 1);
  write_chain(21, 21, 2);
  write_ended(1, kPay, 12);
  EXPECT_TRUE(purge_ended({}));
  EXPECT_THAT(left_, IsEmpty());
  EXPECT_THAT(keys(Table::kEnded), IsEmpty());
  EXPECT_THAT(numbers(Table::kHistory), ElementsAre(21));
}

TEST_F(PurgeRowsTest, ReportTheFirstRowThatIsLeftOfALongHistory) {
  write_chain(11, 14, 1);
  write_ended(1, kPay, 14);
  EXPECT_FALSE(purge_ended({.rows = 2}));
  EXPECT_THAT(numbers(Table::kHistory), ElementsAre(11, 12));
  EXPECT_THAT(left_, ElementsAre(12));
  EXPECT_EQ(keys(Table::kEnded).size(), 1U) << "the row of the input is left";
  EXPECT_TRUE(purge_ended({}));
  EXPECT_THAT(keys(Table::kEnded), IsEmpty());
  EXPECT_THAT(left_, ElementsAre(12));
}

TEST_F(PurgeRowsTest, EraseAHistoryBackwardUntilTheBudgetIsSpentOrTheChainEnds) {
  const struct {
    const char* what;
    PurgeBudget budget;
    uint8_t owner;
    uint64_t from;
    uint64_t next;  ///< the row from which to continue
    std::vector<uint64_t> kept;
  } cases[] = {
      {"all", {}, 1, 14, 0, {20, 21}},
      {"a part", {}, 1, 12, 0, {13, 14, 20, 21}},
      {"two rows", {.rows = 2}, 1, 14, 12, {11, 12, 20, 21}},
      {"as many as there are", {.rows = 4}, 1, 14, 0, {20, 21}},
      {"spent", {.rows = 0}, 1, 14, 14, {11, 12, 13, 14, 20, 21}},
      {"of another instance", {}, 2, 14, 0, {11, 12, 13, 14, 20, 21}},
      {"no row", {}, 1, 9, 0, {11, 12, 13, 14, 20, 21}},
      {"a row that names itself", {}, 2, 20, 0, {11, 12, 13, 14, 21}},
      {"a chain that leads to another instance", {}, 2, 21, 0, {11, 12, 13, 14, 20}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    write_chain(11, 14, 1);
    write_history(*tx, 20, {.ns = kShop, .instance = id(2), .previous = 20});
    write_history(*tx, 21, {.ns = kShop, .instance = id(2), .previous = 14});
    PurgeBudget budget = one.budget;
    EXPECT_EQ(purge_history(*tx, one.from, budget, id(one.owner)).value(), one.next);
    EXPECT_EQ(numbers(Table::kHistory), one.kept);
    tx->drop();
  }
}

TEST_F(PurgeRowsTest, FindAnEndedInstanceOfAWorkflowBehindOthers) {
  write_ended(1, kShip);
  write_ended(2, kShip);
  tx->put(Table::kEnded, head_key(kShop, 2), "rubbish");
  write_ended(3, kPay);
  std::string at;
  PurgeBudget budget;
  EXPECT_EQ(find_ended_of(*tx, kPay, at, budget).value(), kShop);
  EXPECT_EQ(at, "");
  EXPECT_EQ(find_ended_of(*tx, WorkflowNumber(6), at, budget).value(), std::nullopt);
  EXPECT_EQ(at, "") << "the search has reached the end";
  budget = {.looked_at = 3};  // two for a head, and one for the input
  EXPECT_EQ(find_ended_of(*tx, kPay, at, budget).value(), std::nullopt);
  EXPECT_EQ(at, head_key(kShop, 2));
  budget = {};
  EXPECT_EQ(find_ended_of(*tx, kPay, at, budget).value(), kShop);
}

TEST_F(PurgeRowsTest, KeepTheHistoriesOfOtherInstancesThatADamagedHeadNames) {
  write_chain(11, 12, 9);
  write_ended(1, kPay, 12);
  write_chain(21, 22, 2);
  const Instance wrong_key = write_ended(2, kPay, 22);
  write_chain(31, 32, 3);
  Instance wrong_namespace = write_ended(3, kPay, 32);
  wrong_namespace.ns = kStock;
  for (const uint8_t moved : {2, 3}) tx->erase(Table::kEnded, head_key(kShop, moved));
  tx->put(Table::kEnded, head_key(kShop, 7), encode_head(wrong_key));
  tx->put(Table::kEnded, head_key(kShop, 8), encode_head(wrong_namespace));
  EXPECT_TRUE(purge_ended({}));
  EXPECT_THAT(keys(Table::kEnded), IsEmpty());
  EXPECT_THAT(numbers(Table::kHistory), ElementsAre(11, 12, 31, 32))
      << "the instance under a wrong key goes with its history";
}

TEST_F(PurgeRowsTest, KeepTheRecordsOfOtherNamespacesAndDamagedRecords) {
  const auto add = [&](uint8_t number, NamespaceNumber ns) {
    StartTask task{.ns = ns, .task = id(number)};
    task.runs = NamedService{};
    write_task(*tx, task);
    write_webhook(*tx, number, {.ns = ns, .url = "http://a"});
    write_delayed(*tx, number, {.ns = ns});
  };
  add(1, kShop);
  add(2, kStock);
  add(3, kShop);
  tx->put(Table::kTasks, rows::key_of(id(4)), "rubbish");
  for (const Table table : {Table::kWebhooks, Table::kDelayed}) {
    tx->put(table, rows::key_of(uint64_t{4}), "rubbish");
  }
  std::vector<uint64_t> seen;
  const auto done = [&](const Result<bool>& purged) {
    EXPECT_TRUE(purged.value());
    at_.clear();
    return std::exchange(seen, {});
  };
  PurgeBudget budget;
  EXPECT_THAT(done(purge_tasks(*tx, kShop, at_, budget,
                               [&](const InstanceId& task) { seen.push_back(task.bytes[15]); })),
              ElementsAre(1, 3));
  EXPECT_THAT(keys(Table::kTasks), ElementsAre(rows::key_of(id(2)), rows::key_of(id(4))));
  EXPECT_THAT(done(purge_webhooks(*tx, kShop, at_, budget,
                                  [&](uint64_t number, const WebhookRecord& record) {
                                    EXPECT_EQ(record.url, "http://a");
                                    seen.push_back(number);
                                  })),
              ElementsAre(1, 3));
  EXPECT_THAT(numbers(Table::kWebhooks), ElementsAre(2, 4));
  EXPECT_THAT(done(purge_delayed(*tx, kShop, at_, budget,
                                 [&](uint64_t number) { seen.push_back(number); })),
              ElementsAre(1, 3));
  EXPECT_THAT(numbers(Table::kDelayed), ElementsAre(2, 4));
}

TEST_F(PurgeRowsTest, EraseAWorkflowThatWasDeletedInStepsAndKeepTheOthers) {
  for (const WorkflowNumber workflow : {kPay, kShip}) {
    for (const uint32_t revision : {1, 2}) write_definition(*tx, {workflow, revision}, {});
    write_idempotency(*tx, workflow, "key", {.instance = id(1)});
    write_schedule(*tx, workflow, {});
  }
  write_retired(*tx, kPay, kShop);
  write_retired(*tx, kShip, kStock);
  tx->put(Table::kMeta, "retired/x", rows::ns_prefix(kShop));
  for (const size_t erased : {1, 2, 3}) {
    PurgeBudget budget{.rows = 1};
    EXPECT_FALSE(purge_retired(*tx, kShop, at_, budget).value());
    const size_t left = keys(Table::kIdempotency).size() + keys(Table::kDefinitions).size();
    EXPECT_EQ(left, 6 - erased);
    EXPECT_TRUE(is_retired(*tx, kPay)) << "the row goes last";
    EXPECT_TRUE(read_schedule(*tx, kPay).value());
  }
  PurgeBudget budget;
  EXPECT_TRUE(purge_retired(*tx, kShop, at_, budget).value());
  EXPECT_EQ(find_retired(*tx, kShip), kStock);
  EXPECT_TRUE(tx->get(Table::kMeta, "retired/x"));
  EXPECT_TRUE(read_idempotency(*tx, kShip, "key").value());
  EXPECT_TRUE(read_schedule(*tx, kShip).value());
  EXPECT_EQ(keys(Table::kDefinitions).size(), 2U);
  EXPECT_EQ(next_defined(*tx, kPay).value(), kShip);
}

TEST_F(PurgeRowsTest, EraseTheDefinitionsOfAnUnknownWorkflowBeforeItsInstance) {
  unknown_ = kShip;
  write_definition(*tx, {kPay, 1}, {});
  for (const uint32_t revision : {1, 2}) write_definition(*tx, {kShip, revision}, {});
  write_ended(1, kPay);
  write_ended(2, kShip);
  EXPECT_FALSE(purge_ended({.rows = 3})) << "two rows of the first instance, and a definition";
  EXPECT_EQ(at_, head_key(kShop, 2));
  EXPECT_EQ(keys(Table::kEnded).size(), 2U);
  EXPECT_EQ(keys(Table::kDefinitions).size(), 2U);
  EXPECT_TRUE(purge_ended({}));
  EXPECT_THAT(keys(Table::kEnded), IsEmpty());
  EXPECT_THAT(keys(Table::kDefinitions),
              ElementsAre(rows::workflow_prefix(kPay) + std::string("\0\0\0\1", 4)));
}

TEST_F(PurgeRowsTest, ShowWhetherTheNamespaceOfLeftoversIsInUse) {
  const auto put_row = [&](Table table, NamespaceNumber ns) {
    tx->put(table, rows::ns_prefix(ns) + "x", "x");
  };
  for (const Table table : {Table::kWorkflows, Table::kLive, Table::kVariables, Table::kSecrets}) {
    put_row(table, kStock);
    EXPECT_EQ(sign_of_use(*tx, kShop).value(), std::nullopt) << table_name(table);
    put_row(table, kShop);
    EXPECT_TRUE(sign_of_use(*tx, kShop).value()) << table_name(table);
    tx->drop();
  }
  put_row(Table::kEnded, kShop);
  write_retired(*tx, kPay, kStock);
  EXPECT_EQ(sign_of_use(*tx, kShop).value(), std::nullopt);
  write_retired(*tx, kShip, kShop);
  EXPECT_TRUE(sign_of_use(*tx, kShop).value());
}

TEST_F(PurgeRowsTest, ShowTheInstanceThatAHistoryBelongsTo) {
  write_chain(11, 11, 1);
  write_chain(12, 12, 2);
  write_ended(1, kPay, 11);
  const auto owner = owner_of_history(*tx, 11).value();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->id, id(1));
  EXPECT_FALSE(owner_of_history(*tx, 12).value()) << "the instance does not exist";
  EXPECT_FALSE(owner_of_history(*tx, 13).value()) << "the row does not exist";
  tx->put(Table::kHistory, rows::key_of(uint64_t{14}), "rubbish");
  EXPECT_FALSE(owner_of_history(*tx, 14)) << "the owner is not known";
}

TEST_F(PurgeRowsTest, FindTheNextWorkflowBehindAName) {
  for (const char* const name : {"a", "b", "c"}) {
    write_workflow(*tx, kShop, name, {.number = kPay, .latest = 1});
  }
  write_workflow(*tx, kStock, "d", {.number = kShip, .latest = 1});
  const auto next = [&](std::string_view behind) {
    const auto found = next_workflow(*tx, kShop, behind).value();
    return found ? found->id : "";
  };
  EXPECT_EQ(next(""), "a");
  EXPECT_EQ(next("a"), "b");
  EXPECT_EQ(next("bb"), "c");
  EXPECT_EQ(next("c"), "");
}

TEST_F(PurgeRowsTest, FindTheFirstWorkflowWithADefinition) {
  for (const WorkflowNumber workflow : {kPay, kShip}) write_definition(*tx, {workflow, 1}, {});
  EXPECT_EQ(next_defined(*tx, WorkflowNumber(0)).value(), kPay);
  EXPECT_EQ(next_defined(*tx, kShip).value(), kShip);
  EXPECT_EQ(next_defined(*tx, WorkflowNumber(6)).value(), std::nullopt);
}

TEST_F(PurgeRowsTest, FindEachNamespaceWithInstancesOnce) {
  EXPECT_THAT(namespaces_with_instances(*tx, Table::kEnded).value(), IsEmpty());
  for (const uint8_t of : {1, 2}) write_ended(of, kPay);
  tx->put(Table::kEnded, head_key(NamespaceNumber(7), 3), "x");
  EXPECT_THAT(namespaces_with_instances(*tx, Table::kEnded).value(),
              ElementsAre(kShop, NamespaceNumber(7)));
}

}  // namespace
}  // namespace millrace
