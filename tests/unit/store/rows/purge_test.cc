#include "orchestrator/store/rows/purge.h"

#include <vector>

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
    case Purge::Kind::kInstances:
      return 3;
    case Purge::Kind::kCompensations:
      return 4;
    case Purge::Kind::kPieces:
      return 5;
  }
  return -1;
}

class PurgeTest : public StoreTest {};

const EndedFilter kFailedOnes{.ns = NamespaceNumber(3), .statuses = {InstanceStatus::kFailed}};
const DroppedCompensations kDropped{.ns = NamespaceNumber(300), .instance = id(7)};

const StagedPieces kStaged{
    .ns = NamespaceNumber(300), .workflow = WorkflowNumber(5), .instance = id(7)};

TEST_F(PurgeTest, StoresKindsAsFixedNumbers) {
  for (int number = 0; number <= 5; ++number) {
    const auto kind = static_cast<Purge::Kind>(number);
    EXPECT_EQ(pinned(kind), number);
    PurgeRecord record;
    if (kind == Purge::Kind::kInstances) record.ended = kFailedOnes;
    if (kind == Purge::Kind::kCompensations) record.dropped = kDropped;
    if (kind == Purge::Kind::kPieces) record.staged = kStaged;
    write_purge(*tx, {.kind = kind, .number = 9, .record = record});
    Writer key;
    key.raw("purge/");
    key.u8(static_cast<uint8_t>(number));
    key.u64(9);
    EXPECT_TRUE(tx->get(Table::kMeta, key.view()));
  }
  int purges = 0;
  EXPECT_TRUE(each_purge(*tx, [&](const Purge&) { ++purges; }));
  EXPECT_EQ(purges, 6);
}

TEST_F(PurgeTest, EncodesAndDecodesAPurgeWithoutChange) {
  const PurgeRecord record{.ns = "shop", .workflow = "pay", .up_to = 300};
  const PurgeRecord read = decode_purge(encode(record)).value();
  EXPECT_EQ(read.ns, "shop");
  EXPECT_EQ(read.workflow, "pay");
  EXPECT_EQ(read.up_to, 300U);
  expect_whole(encode(record), decode_purge);
  EXPECT_EQ(encode(record).front(), 1);
}

TEST_F(PurgeTest, EncodesAndDecodesAFilterOfEndedInstancesWithoutChange) {
  using enum InstanceStatus;
  const PurgeRecord record{.ns = "shop",
                           .workflow = "pay",
                           .ended = EndedFilter{.ns = NamespaceNumber(300),
                                                .workflow = WorkflowNumber(7),
                                                .statuses = {kComplete, kTimedOut},
                                                .before = kNow}};
  const PurgeRecord read = decode_purge(encode(record)).value();
  EXPECT_EQ(read.workflow, "pay");
  ASSERT_TRUE(read.ended);
  EXPECT_EQ(read.ended->ns, NamespaceNumber(300));
  EXPECT_EQ(read.ended->workflow, WorkflowNumber(7));
  EXPECT_EQ(read.ended->statuses, (std::vector{kComplete, kTimedOut}));
  EXPECT_EQ(read.ended->before, kNow);
  EXPECT_TRUE(read.ended->has(kTimedOut));
  EXPECT_FALSE(read.ended->has(kFailed));
  expect_whole(encode(record), decode_purge);
  EXPECT_EQ(encode(record).front(), 2);
}

TEST_F(PurgeTest, EncodesAndDecodesTheInstanceOfDroppedCompensationsWithoutChange) {
  const PurgeRecord record{.dropped = kDropped};
  const PurgeRecord read = decode_purge(encode(record)).value();
  ASSERT_TRUE(read.dropped);
  EXPECT_EQ(read.dropped->ns, kDropped.ns);
  EXPECT_EQ(read.dropped->instance, kDropped.instance);
  EXPECT_FALSE(read.ended);
  expect_whole(encode(record), decode_purge);
  EXPECT_EQ(encode(record).front(), 3);
}

TEST_F(PurgeTest, EncodesAndDecodesTheOwnersOfPiecesWithoutChange) {
  const PurgeRecord record{.staged = kStaged};
  const PurgeRecord read = decode_purge(encode(record)).value();
  ASSERT_TRUE(read.staged);
  EXPECT_EQ(read.staged->ns, kStaged.ns);
  EXPECT_EQ(read.staged->workflow, kStaged.workflow);
  EXPECT_EQ(read.staged->instance, kStaged.instance);
  EXPECT_FALSE(read.dropped);
  expect_whole(encode(record), decode_purge);
  expect_known_versions(encode(record), 4, decode_purge);
}

TEST_F(PurgeTest, RefusesAFilterWithoutStatusesOfEndedInstancesInAscendingOrder) {
  using enum InstanceStatus;
  for (const std::vector<InstanceStatus>& statuses :
       {std::vector<InstanceStatus>{}, std::vector{kWaiting}, std::vector{kFailed, kComplete},
        std::vector{kFailed, kFailed}}) {
    const PurgeRecord record{.ns = "shop", .ended = EndedFilter{.statuses = statuses}};
    EXPECT_FALSE(decode_purge(encode(record))) << statuses.size();
  }
}

TEST_F(PurgeTest, IsReportedAsDamagedIfItsKindIsUnknownOrTheRecordIsOfAnotherKind) {
  const auto code_of = [&](Purge::Kind kind, const PurgeRecord& record) {
    const Purge purge{.kind = kind, .number = 9, .record = record};
    write_purge(*tx, purge);
    const Status walked = each_purge(*tx, [](const Purge&) {});
    erase_purge(*tx, purge);
    return walked ? "" : walked.error().code;
  };
  EXPECT_EQ(code_of(static_cast<Purge::Kind>(6), {}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kInstances, {.ns = "shop"}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kNamespace, {.ns = "shop", .ended = kFailedOnes}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kCompensations, {}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kHistory, {.dropped = kDropped}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kPieces, {}), kDamagedRow);
  EXPECT_EQ(code_of(Purge::Kind::kCompensations, {.staged = kStaged}), kDamagedRow);
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
  rows = {.rows = 5};
  rows.erase(3);
  EXPECT_EQ(rows.rows, 2U);
  rows.erase(3);
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
