// Rows that hold what no release writes: an error that names the kind of row, and no end of the
// process.
#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/tables.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using DamagedRow = StoreTest;

TEST_F(DamagedRow, OfAGroupedEventsNumberLeadsToNoKey) {
  Writer key;
  key.u8(3);
  key.u64(1);
  const std::string row = key.take();
  for (const std::string& value : {std::string(), std::string(600, 'x')}) {
    tx->put(Table::kGroups, row, value);
    const auto read = read_grouped(*tx, 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, kDamagedRow);
  }
}

}  // namespace
}  // namespace millrace
