#include "orchestrator/store/disk/table.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Table, HasAFixedByteForEachTable) {
  std::string bytes;
  for (const TableName& table : kTables) bytes.push_back(static_cast<char>(table.table));
  EXPECT_EQ(bytes, "mnwdlehgtoakrifqvscxpubjyzQ");
}

TEST(Table, HasAFixedNameForEachTree) {
  std::vector<std::string> names;
  for (const TableName& table : kTables) names.emplace_back(table.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "meta",      "namespaces",   "workflows", "definitions", "live",      "ended",
                "history",   "groups",       "delayed",   "outbox",      "sent",      "dedupe",
                "recent",    "inbox",        "fanout",    "idempotency", "variables", "secrets",
                "schedules", "dead_letters", "tasks",     "hooks",       "by_status", "counts",
                "usage",     "effects",      "queues"}));
}

TEST(Table, HasOneNameForEachTable) {
  std::set<Table> tables;
  std::set<std::string> names;
  for (const TableName& entry : kTables) {
    EXPECT_TRUE(tables.insert(entry.table).second) << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_STREQ(table_name(entry.table), entry.name);
  }
}

}  // namespace
}  // namespace millrace
