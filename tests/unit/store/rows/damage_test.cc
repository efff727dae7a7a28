#include "orchestrator/store/rows/damage.h"

#include <gtest/gtest.h>

#include "tests/unit/store/rows/row_support.h"

namespace millrace {
namespace {

TEST(Damage, NamesTheRowAndTheRemedy) {
  std::string key(4, '\0');
  key.append(16, 'x');
  key.push_back('\0');
  const Error error = damaged_row(Table::kLive, key, "it is short");
  EXPECT_EQ(error.code, kDamagedRow);
  EXPECT_TRUE(is_damaged_row(error));
  for (const char* const part :
       {"table live", "it is short", "millrace verify", "millrace instance delete"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(Damage, NamesARowWithAnUnreadableKey) {
  for (const Table table : {Table::kMeta, Table::kLive, Table::kHistory, Table::kTasks,
                            Table::kDefinitions, Table::kSchedules, Table::kSecrets}) {
    EXPECT_NE(damaged_row(table, "\xff", "it is short").message.find("0xff"), std::string::npos)
        << table_name(table);
  }
  EXPECT_FALSE(is_damaged_row({"store.corrupt", ""}));
}

TEST(Damage, NamesAPartOfAnInstanceOnlyByAWholeKey) {
  const std::string instance = std::string("\0\0\0\2", 4) + std::string(16, 'x');
  const struct {
    std::string part;
    std::string named;
  } rows[] = {
      {std::string("\0", 1), " head of table live"},
      {std::string("\5\0\0\1\0", 5), " call 256 of table live"},
      {std::string("\0\0", 2), "row 0x00000002"},
      {std::string("\5\0\0\1", 4), "row 0x00000002"},
      {std::string("\5\0\0\1\0\0", 6), "row 0x00000002"},
  };
  for (const auto& [part, named] : rows) {
    const std::string message = damaged_row(Table::kLive, instance + part, "it is short").message;
    EXPECT_NE(message.find(named), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace millrace
