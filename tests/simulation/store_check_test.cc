// The store check: rows that a deletion has still to erase are no findings, each code has a test
// and is documented, and a finding has the place, the damage and the action. The tests of damages
// are in the files store_check_*_test.cc, those of whole folders in store_folder_test.cc.
#include "orchestrator/check/store_check.h"

#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/store_damage.h"
#include "tests/support/index.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Rows that a deletion leaves until all of them are erased.
const Plant kLegal[] = {
    {"a deleted namespace before the first step of its purge",
     {},
     [](Transaction& tx) {
       tx.erase(Table::kNamespaces, "shop");
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.ns = "shop"}});
     }},
    {"a deleted namespace after some steps of its purge",
     {},
     [](Transaction& tx) {
       tx.erase(Table::kNamespaces, "shop");
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.ns = "shop"}});
       const auto [key, row] = first(tx, Table::kWorkflows, rows::ns_prefix(kShop));
       PurgeBudget budget;
       ASSERT_TRUE(purge_workflow(tx, decode_workflow(row)->number, budget));
       tx.erase(Table::kLive, first(tx, Table::kLive, rows::ns_prefix(kShop)).first);
     }},
    {"a deleted namespace with a workflow that was deleted earlier",
     {},
     [](Transaction& tx) {
       const auto [key, row] = first(tx, Table::kWorkflows, rows::ns_prefix(kShop));
       tx.erase(Table::kWorkflows, key);
       tx.erase(Table::kNamespaces, "shop");
       write_retired(tx, decode_workflow(row)->number, kShop);
       write_purge(tx, {Purge::Kind::kNamespace, static_cast<uint64_t>(kShop), {.ns = "shop"}});
     }},
    {"the history of a deleted instance",
     {},
     [](Transaction& tx) {
       const auto instance = read_instance(tx, kDefault, id_of("fails")).value();
       erase_instance(tx, *instance);
       write_purge(tx, {Purge::Kind::kHistory, instance->last_history, {}});
     }},
    {"the compensations and the history of a deleted instance",
     {},
     [](Transaction& tx) {
       const auto instance = read_instance(tx, kDefault, id_of("halts")).value();
       ASSERT_TRUE(erase_instance(tx, *instance, 1)) << "a purge must erase the others";
       write_purge(tx, {Purge::Kind::kHistory, instance->last_history, {}});
       const DroppedCompensations dropped{.ns = kDefault, .instance = instance->id};
       write_purge(tx, {Purge::Kind::kCompensations, add_history_number(tx), {.dropped = dropped}});
     }},
    {"ended instances that a request selected",
     {},
     [](Transaction& tx) {
       const EndedFilter filter{.ns = kDefault, .statuses = {InstanceStatus::kFailed}};
       write_purge(
           tx,
           {Purge::Kind::kInstances, add_history_number(tx), {.ns = "default", .ended = filter}});
     }},
    {"a group of a deleted workflow",
     {},
     [](Transaction& tx) {
       const WorkflowNumber pairs = number_of(tx, "pairs");
       tx.erase(Table::kWorkflows, workflow_key("pairs"));
       write_retired(tx, pairs, kDefault);
       write_purge(tx, {Purge::Kind::kGroups, static_cast<uint64_t>(pairs), {.up_to = 1}});
     }},
    {"a partly closed group of a changed start",
     {},
     [](Transaction& tx) {
       const WorkflowNumber pairs = number_of(tx, "pairs");
       std::string changed = kPairs;
       changed.replace(changed.find("right"), 5, "other");
       write_definition(tx, {pairs, 2}, {.created_at = *read_engine_time(tx), .text = changed});
       edit<WorkflowRecord>(tx, Table::kWorkflows, workflow_key("pairs"), decode_workflow, encode,
                            [](WorkflowRecord& record) {
                              record.latest = 2;
                              record.groups_from = 2;
                            });
       write_purge(tx, {Purge::Kind::kGroups,
                        static_cast<uint64_t>(pairs),
                        {.ns = "default", .workflow = "pairs", .up_to = 1}});
       tx.erase(Table::kGroups, first(tx, Table::kGroups, "\x01").first);
     }},
};

TEST(StoreCheck, AcceptsRowsThatADeletionHasYetToErase) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (const Plant& legal : kLegal) {
    SCOPED_TRACE(legal.name);
    legal.damage(tx);
    build_index(tx);
    const auto report = check_store(tx, test_check_options());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->sound()) << lines_of(*report);
    tx.drop();
  }
}

TEST(StoreCheck, AcceptsGroupsOfALaterRevision) {
  World world;
  const std::string pairs = kPairs;
  world.apply(pairs);
  world.publish("left", "1", Json(1), {{"key", std::string("k")}});
  world.run_until_idle();
  std::string changed = pairs;
  changed.replace(changed.find("right"), 5, "other");
  world.apply(changed);
  world.publish("left", "2", Json(2), {{"key", std::string("k")}});
  world.run_until_idle();
  const auto view = Snapshot::take(world.environment()).value();
  EXPECT_EQ(read_workflow(view, kDefault, "pairs").value()->groups_from, 2U);
}  // the end of the world checks the store

// The report.

TEST(StoreCheck, HasATestForEachCodeOfAFinding) {
  // The codes that only whole folders can have.
  Codes planted = {"store.damaged", "store.key", "note.damaged", "tree.missing", "tree.unknown"};
  for (const auto plants : {row_plants(), catalog_plants(), instance_plants(), wait_plants(),
                            message_plants(), index_plants(), story_plants()}) {
    for (const Plant& plant : plants) planted.insert(plant.codes.begin(), plant.codes.end());
  }
  for (const StoreFaultKind& kind : fault_kinds()) {
    EXPECT_TRUE(planted.contains(std::string(kind.code))) << kind.code;
  }
}

TEST(StoreCheck, DocumentsEachCodeOfAFinding) {
  std::ifstream file("docs/store-check.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const StoreFaultKind& kind : fault_kinds()) {
    EXPECT_THAT(text, HasSubstr(fmt::format("| `{}` |", kind.code)));
  }
}

TEST(StoreCheck, LimitsTheFindingsAndCountsTheOthers) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (char c = 'a'; c <= 'z'; ++c) tx.put(Table::kOutbox, std::string(3, c), "x");
  StoreCheckOptions options = test_check_options();
  options.most_findings = 5;
  const StoreReport report = check_store(tx, options).value();
  EXPECT_EQ(report.findings.size(), 5U);
  EXPECT_EQ(report.count(), 26U);
  EXPECT_EQ(to_json(report)["codes"], (Json{{"row.key", 26}}));
}

TEST(StoreCheck, ReportsThePlaceTheDamageAndWhatAnOperatorCanDo) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  edit_head(tx, "naps", [](Instance& head) { head.timers.clear(); });
  const StoreReport report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  const std::string id = to_string(id_of("naps"));
  const Json item = to_json(report)["items"][0];
  EXPECT_EQ(item["code"], "instance.stuck");
  EXPECT_EQ(item["table"], "live");
  EXPECT_EQ(item["key"], fmt::format("default/{} head", id));
  EXPECT_EQ(item["namespace"], "default");
  EXPECT_EQ(item["instance"], id);
  EXPECT_EQ(item["found"], "the instance waits for no event, no timer and no call");
  EXPECT_FALSE(item["expected"].get<std::string>().empty());
  EXPECT_FALSE(item["action"].get<std::string>().empty());
}

TEST(StoreCheck, ReportsTheWrongByteOfARecord) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  auto [key, value] = first(tx, Table::kSchedules);
  tx.put(Table::kSchedules, key, value + "x");
  StoreReport report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].found, HasSubstr(fmt::format("at byte {} of {}: the end expected",
                                                              value.size(), value.size() + 1)));
  tx.put(Table::kSchedules, key, value.substr(0, value.size() - 1));
  report = check_store(tx, test_check_options()).value();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_THAT(report.findings[0].found, HasSubstr("at byte "));
}

TEST(StoreCheck, FindsTheMissingTreeOfEachTable) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  const Transaction tx(*environment);
  for (const auto& [table, name, since] : kTables) {
    EXPECT_TRUE(environment->has_tree(table)) << name;
    StoreCheckOptions options = test_check_options();
    options.has_tree = [missing = table](Table one) { return one != missing; };
    const StoreReport report = check_store(tx, options).value();
    EXPECT_EQ(codes_of(report), Codes{"tree.missing"}) << lines_of(report);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].table, name);
  }
}

TEST(StoreCheck, StopsIfItsCallerAsksForIt) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  for (uint64_t i = 0; i < 10'000; ++i) write_secret(tx, kDefault, fmt::format("s{}", i), "x");
  StoreCheckOptions options = test_check_options();
  std::vector<uint64_t> reported;
  options.progress = [&](uint64_t rows, uint64_t of) {
    reported.push_back(rows);
    EXPECT_GE(of, rows);
    return false;
  };
  const auto report = check_store(tx, options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "check.stopped");
  EXPECT_THAT(reported, ElementsAre(4096U));
}
}  // namespace
}  // namespace millrace
