#include "orchestrator/store/rows/catalog_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class CatalogRows : public StoreTest {};

TEST_F(CatalogRows, StoreNamespaces) {
  const NamespaceRecord record{
      .number = NamespaceNumber(300), .created_at = kNow, .settings = R"({"a":1})"};
  write_namespace(*tx, "shop", record);
  write_namespace(*tx, "default", {.number = NamespaceNumber(1)});
  const auto read = read_namespace(*tx, "shop").value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, record.number);
  EXPECT_EQ(read->created_at, kNow);
  EXPECT_EQ(read->settings, record.settings);
  std::string names;
  EXPECT_TRUE(each_namespace(
      *tx, [&](std::string_view name, const NamespaceRecord&) { names.append(name).append(" "); }));
  EXPECT_EQ(names, "default shop ");
  erase_namespace(*tx, "shop");
  EXPECT_FALSE(read_namespace(*tx, "shop").value());
  expect_whole(encode(record), decode_namespace);
  expect_known_versions(encode(record), 3, decode_namespace);
}

TEST_F(CatalogRows, DecodeNamespacesOfVersionsWithoutPartitionOrSettings) {
  std::string bytes =
      encode(NamespaceRecord{.number = NamespaceNumber(7), .created_at = kNow, .partition = 100});
  EXPECT_EQ(decode_namespace(bytes).value().partition, 100U);
  bytes.front() = 2;
  bytes.pop_back();
  EXPECT_EQ(decode_namespace(bytes).value().partition, 0U);
  bytes.front() = 1;
  bytes.pop_back();
  EXPECT_EQ(decode_namespace(bytes).value().number, NamespaceNumber(7));
  EXPECT_TRUE(decode_namespace(bytes).value().settings.empty());
}

TEST_F(CatalogRows, StoreWorkflowsByNamespaceAndId) {
  const WorkflowRecord record{
      .number = WorkflowNumber(300), .latest = 3, .paused = true, .groups_from = 2};
  write_workflow(*tx, NamespaceNumber(1), "pay", record);
  write_workflow(*tx, NamespaceNumber(2), "ship", {.number = WorkflowNumber(4), .latest = 1});
  const auto read = read_workflow(*tx, NamespaceNumber(1), "pay").value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, record.number);
  EXPECT_EQ(read->latest, 3U);
  EXPECT_TRUE(read->paused);
  std::string ids;
  EXPECT_TRUE(each_workflow(
      *tx, [&](NamespaceNumber, std::string_view id, const WorkflowRecord&) { ids += id; }));
  EXPECT_EQ(ids, "payship");
  ids.clear();
  EXPECT_TRUE(each_workflow(*tx, NamespaceNumber(2),
                            [&](std::string_view id, const WorkflowRecord&) { ids += id; }));
  EXPECT_EQ(ids, "ship");
  erase_workflow(*tx, NamespaceNumber(1), "pay");
  EXPECT_FALSE(read_workflow(*tx, NamespaceNumber(1), "pay").value());
  expect_whole(encode(record), decode_workflow);
  expect_known_versions(encode(record), 3, decode_workflow);
}

TEST_F(CatalogRows, DecodeOlderVersionsOfTheRowsOfWorkflows) {
  const WorkflowRecord first = decode_workflow(std::string("\1\7\3", 3)).value();
  EXPECT_EQ(first.number, WorkflowNumber(7));
  EXPECT_EQ(first.latest, 3U);
  EXPECT_FALSE(first.paused);
  const WorkflowRecord second = decode_workflow(std::string("\2\7\3\1", 4)).value();
  EXPECT_TRUE(second.paused);
  EXPECT_EQ(second.groups_from, 0U);
  const WorkflowRecord written{
      .number = WorkflowNumber(7), .latest = 3, .paused = true, .groups_from = 2};
  EXPECT_EQ(decode_workflow(encode(written)).value().groups_from, 2U);
}

TEST_F(CatalogRows, ListDefinitionsFromTheNewestAndSkipDamagedOnes) {
  constexpr auto workflow = WorkflowNumber(4);
  for (uint32_t revision = 1; revision <= 3; ++revision) {
    write_definition(*tx, {workflow, revision},
                     {.created_at = kNow, .text = std::string(revision, 'x')});
  }
  EXPECT_EQ(read_definition(*tx, {workflow, 2}).value()->text, "xx");
  EXPECT_FALSE(read_definition(*tx, {workflow, 4}).value());
  tx->put(Table::kDefinitions, std::string("\0\0\0\4\0\0\0\2", 8), "rubbish");
  std::string seen;
  bool ends_at_three = false;
  const auto see = [&](uint32_t revision, const DefinitionRecord& record) {
    EXPECT_EQ(record.text.size(), revision);
    seen += std::to_string(revision);
    return revision != 3 || !ends_at_three;
  };
  const auto damaged = [&](const Error& error) {
    EXPECT_EQ(error.code, kDamagedRow);
    seen += "!";
  };
  const auto walk = [&](std::optional<uint32_t> before) {
    seen.clear();
    EXPECT_TRUE(each_definition(*tx, workflow, before, see, damaged));
    return seen;
  };
  EXPECT_EQ(walk({}), "3!1");
  EXPECT_EQ(walk(3), "!1");
  EXPECT_EQ(walk(2), "1");
  EXPECT_EQ(walk(1), "");
  EXPECT_EQ(walk(9), "3!1");
  ends_at_three = true;
  EXPECT_EQ(walk({}), "3");
  const DefinitionRecord record{.created_at = kNow, .text = "id: a"};
  expect_whole(encode(record), decode_definition);
  expect_known_versions(encode(record), 1, decode_definition);
}

TEST_F(CatalogRows, StoreSchedules) {
  const ScheduleRecord record{.from = kNow, .last = kNow - std::chrono::hours(1), .first = kNow};
  write_schedule(*tx, WorkflowNumber(4), record);
  const auto read = read_schedule(*tx, WorkflowNumber(4)).value();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->from, record.from);
  EXPECT_EQ(read->last, record.last);
  EXPECT_EQ(read->first, record.first);
  erase_schedule(*tx, WorkflowNumber(4));
  EXPECT_FALSE(read_schedule(*tx, WorkflowNumber(4)).value());
  expect_whole(encode(record), decode_schedule);
  expect_known_versions(encode(record), 2, decode_schedule);
}

TEST_F(CatalogRows, DecodeSchedulesOfAVersionWithoutAFirstTick) {
  std::string bytes = encode(ScheduleRecord{.from = kNow, .last = kNow});
  bytes.front() = 1;
  bytes.pop_back();
  EXPECT_EQ(decode_schedule(bytes).value().last, kNow);
  EXPECT_FALSE(decode_schedule(bytes).value().first);
}

}  // namespace
}  // namespace millrace
