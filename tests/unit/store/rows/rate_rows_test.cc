#include "orchestrator/store/rows/rate_rows.h"

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

constexpr NamespaceNumber kSpace{7};
const std::string kRow = std::string("rate/\0\0\0\7", 9);

using RateRowsTest = StoreTest;

TEST_F(RateRowsTest, KeepTheUseOfEachNamespace) {
  EXPECT_EQ(*read_rate_use(*tx, kSpace), std::nullopt);
  const RateUse use{.used = 12'345, .at = from_millis(1'600'000'000'000)};
  write_rate_use(*tx, kSpace, use);
  EXPECT_EQ(*read_rate_use(*tx, kSpace), use);
  EXPECT_EQ(*read_rate_use(*tx, NamespaceNumber(8)), std::nullopt);
  EXPECT_TRUE(tx->get(Table::kMeta, kRow));
  erase_rate_use(*tx, kSpace);
  EXPECT_EQ(*read_rate_use(*tx, kSpace), std::nullopt);
}

TEST_F(RateRowsTest, NameTheirNamespaceByTheKey) {
  EXPECT_EQ(namespace_of_rate(kRow), kSpace);
  for (const std::string& key :
       {std::string("rate/"), kRow + "x", std::string("rate/\0\0\0\0", 9), std::string("rates")}) {
    EXPECT_EQ(namespace_of_rate(key), std::nullopt) << key;
  }
}

TEST_F(RateRowsTest, GiveAnErrorIfTheyAreDamaged) {
  tx->put(Table::kMeta, kRow, "rubbish");
  const auto read = read_rate_use(*tx, kSpace);
  ASSERT_FALSE(read);
  EXPECT_TRUE(is_damaged_row(read.error()));
}

}  // namespace
}  // namespace millrace
