#include "orchestrator/store/rows/secret_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class SecretRows : public StoreTest {};

TEST_F(SecretRows, AreListedByNamespaceAfterTheGivenName) {
  for (const char* name : {"b", "a", "c"}) write_secret(*tx, NamespaceNumber(1), name, "4711");
  write_secret(*tx, NamespaceNumber(2), "other", "4711");
  std::vector<std::string> names;
  EXPECT_TRUE(each_secret(*tx, NamespaceNumber(1), "a", [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  EXPECT_THAT(names, ElementsAre("b", "c"));
  EXPECT_TRUE(has_secret(*tx, NamespaceNumber(2), "other"));
}

TEST_F(SecretRows, AreAlwaysSealed) {
  write_secret(*tx, NamespaceNumber(1), "card", "4711");
  EXPECT_EQ(read_secret(*tx, NamespaceNumber(1), "card").value(), "4711");
  const auto row = tx->get(Table::kSecrets, std::string("\0\0\0\1card", 8));
  ASSERT_TRUE(row);
  EXPECT_TRUE(Seal::is_sealed(*row));
  EXPECT_EQ(row->find("4711"), std::string_view::npos);
  erase_secret(*tx, NamespaceNumber(1), "card");
  EXPECT_FALSE(has_secret(*tx, NamespaceNumber(1), "card"));
  EXPECT_EQ(read_secret(*tx, NamespaceNumber(1), "card").value(), std::nullopt);
}

TEST_F(SecretRows, AreReportedAsDamagedIfAByteHasChanged) {
  write_secret(*tx, NamespaceNumber(1), "card", "4711");
  const std::string key("\0\0\0\1card", 8);
  std::string row(*tx->get(Table::kSecrets, key));
  row.back() = static_cast<char>(row.back() ^ 1);
  tx->put(Table::kSecrets, key, row);
  EXPECT_EQ(read_secret(*tx, NamespaceNumber(1), "card").error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
