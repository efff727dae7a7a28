#include "orchestrator/store/rows/secret_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class SecretRows : public StoreTest {
 protected:
  /// Changes a byte of the row, and returns its bytes.
  std::string damage(const std::string& key) {
    std::string row(*tx->get(Table::kSecrets, key));
    row.back() = static_cast<char>(row.back() ^ 1);
    tx->put(Table::kSecrets, key, row);
    return row;
  }
};

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

TEST_F(SecretRows, KeepFormerValuesOnceAndListThemNotAsSecrets) {
  const auto ns = NamespaceNumber(1);
  write_secret(*tx, ns, "card", "new");
  write_secret(*tx, NamespaceNumber(2), "card", "of another namespace");
  for (const char* value : {"old", "older", "old"}) {
    ASSERT_TRUE(keep_former_value(*tx, ns, value));
  }
  EXPECT_THAT(read_secret_values(*tx, ns).value().values, ElementsAre("new", "old", "older"));
  EXPECT_TRUE(read_secret_values(*tx, ns).value().is_complete);
  std::vector<std::string> names;
  EXPECT_TRUE(each_secret(*tx, ns, "", [&](std::string_view name) {
    names.emplace_back(name);
    return true;
  }));
  EXPECT_THAT(names, ElementsAre("card"));
  const auto row = tx->get(Table::kSecrets, std::string("\0\0\0\1~0000", 9));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->find("old"), std::string_view::npos);
}

TEST_F(SecretRows, NumberFormerValuesInTheirNames) {
  EXPECT_EQ(number_of_former("~0000"), 0U);
  EXPECT_EQ(number_of_former("~0199"), 199U);
  EXPECT_EQ(number_of_former("~0255"), 255U);
  for (const char* const name :
       {"~0256", "~000", "~00000", "~000x", "~000:", "~000/", "0000", "~missing", ""}) {
    EXPECT_EQ(number_of_former(name), std::nullopt) << name;
  }
  EXPECT_TRUE(notes_missing_values("~missing"));
  EXPECT_FALSE(notes_missing_values("~0000"));
}

TEST_F(SecretRows, SayThatFormerValuesAreMissingBeyondTheirLimits) {
  const auto many = NamespaceNumber(1);
  for (size_t i = 0; i < kMostFormerValues; ++i) {
    ASSERT_TRUE(keep_former_value(*tx, many, "value " + std::to_string(i)));
  }
  EXPECT_TRUE(read_secret_values(*tx, many).value().is_complete);
  ASSERT_TRUE(keep_former_value(*tx, many, "value 7")) << "a known value needs no row";
  EXPECT_TRUE(read_secret_values(*tx, many).value().is_complete);
  ASSERT_TRUE(keep_former_value(*tx, many, "one more"));
  EXPECT_FALSE(read_secret_values(*tx, many).value().is_complete);

  const auto large = NamespaceNumber(2);
  ASSERT_TRUE(keep_former_value(*tx, large, std::string(kMostFormerBytes, 'x')));
  EXPECT_TRUE(read_secret_values(*tx, large).value().is_complete);
  ASSERT_TRUE(keep_former_value(*tx, large, "y"));
  EXPECT_FALSE(read_secret_values(*tx, large).value().is_complete);

  const auto current = NamespaceNumber(3);
  for (int i = 0; i < 17; ++i) {
    write_secret(*tx, current, "s" + std::to_string(i), std::string(size_t{64} << 10, 'x'));
  }
  EXPECT_FALSE(read_secret_values(*tx, current).value().is_complete);
}

TEST_F(SecretRows, AreReportedAsDamagedIfAByteHasChanged) {
  write_secret(*tx, NamespaceNumber(1), "card", "4711");
  damage(std::string("\0\0\0\1card", 8));
  EXPECT_EQ(read_secret(*tx, NamespaceNumber(1), "card").error().code, kDamagedRow);
}

TEST_F(SecretRows, AreNotReplacedByAFormerValueIfTheyAreDamaged) {
  ASSERT_TRUE(keep_former_value(*tx, NamespaceNumber(1), "old"));
  const std::string key("\0\0\0\1~0000", 9);
  const std::string damaged = damage(key);
  const Status kept = keep_former_value(*tx, NamespaceNumber(1), "older");
  ASSERT_FALSE(kept) << "the number of the former values is not known";
  EXPECT_EQ(kept.error().code, kDamagedRow);
  EXPECT_EQ(tx->get(Table::kSecrets, key), damaged);
}

}  // namespace
}  // namespace millrace
