#include "orchestrator/store/rows/purge.h"

#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).

int pinned(Purge::Kind kind) {
  switch (kind) {
    case Purge::Kind::kNamespace:
      return 0;
    case Purge::Kind::kHistory:
      return 1;
    case Purge::Kind::kGroups:
      return 2;
  }
  return -1;
}

class PurgeTest : public StoreTest {};

TEST_F(PurgeTest, StoresKindsAsFixedNumbers) {
  for (int number = 0; number <= 2; ++number) {
    const auto kind = static_cast<Purge::Kind>(number);
    EXPECT_EQ(pinned(kind), number);
    write_purge(*tx, {.kind = kind, .number = 9, .record = {}});
    Writer key;
    key.raw("purge/");
    key.u8(static_cast<uint8_t>(number));
    key.u64(9);
    EXPECT_TRUE(tx->get(Table::kMeta, key.view()));
  }
  int purges = 0;
  EXPECT_TRUE(each_purge(*tx, [&](const Purge&) { ++purges; }));
  EXPECT_EQ(purges, 3);
}

TEST_F(PurgeTest, EncodesAndDecodesAPurgeWithoutChange) {
  const PurgeRecord record{.ns = "shop", .workflow = "pay", .up_to = 300};
  const PurgeRecord read = decode_purge(encode(record)).value();
  EXPECT_EQ(read.ns, "shop");
  EXPECT_EQ(read.workflow, "pay");
  EXPECT_EQ(read.up_to, 300U);
  expect_whole(encode(record), decode_purge);
  expect_known_versions(encode(record), 1, decode_purge);
}

TEST_F(PurgeTest, IsReportedAsDamagedIfItsKindIsUnknown) {
  write_purge(*tx, {.kind = static_cast<Purge::Kind>(3), .number = 9, .record = {}});
  EXPECT_EQ(each_purge(*tx, [](const Purge&) {}).error().code, kDamagedRow);
}

TEST_F(PurgeTest, StoresDeletedWorkflows) {
  write_retired(*tx, WorkflowNumber(4), NamespaceNumber(2));
  EXPECT_TRUE(is_retired(*tx, WorkflowNumber(4)));
  size_t retired = 0;
  EXPECT_TRUE(each_retired(*tx, [&](WorkflowNumber workflow, NamespaceNumber ns) {
    ++retired;
    EXPECT_EQ(workflow, WorkflowNumber(4));
    EXPECT_EQ(ns, NamespaceNumber(2));
  }));
  EXPECT_EQ(retired, 1U);
  erase_retired(*tx, WorkflowNumber(4));
  EXPECT_FALSE(is_retired(*tx, WorkflowNumber(4)));
}

TEST(Purge, HasSpentItsBudgetAfterEnoughErasedRowsOrReadRowsOrBytes) {
  PurgeBudget rows{.rows = 1};
  EXPECT_FALSE(rows.is_spent());
  rows.erase();
  EXPECT_TRUE(rows.is_spent());
  PurgeBudget looks{.looked_at = 1};
  looks.count(1);
  EXPECT_TRUE(looks.is_spent());
  PurgeBudget bytes{.bytes = 10};
  bytes.count(11);
  EXPECT_TRUE(bytes.is_spent());
}

}  // namespace
}  // namespace millrace
