#include "orchestrator/store/disk/table.h"

#include <set>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Table, HasAFixedByteForEachTable) {
  std::string bytes;
  for (const TableName& table : kTables) bytes.push_back(static_cast<char>(table.table));
  EXPECT_EQ(bytes, "mnwdlehgtoakrifqvscxpubjyz");
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
