// Archived instances: the portions in which instances whose lines are on disk are deleted, and the
// order in which purges and the retention collect them.
#include "orchestrator/batch/archived_instances.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/work_budget.h"
#include "tests/unit/batch/retention_fixture.h"

namespace millrace {
namespace {

/// A unit of work that is spent when it has been asked a number of times.
class SpentAfter final : public WorkBudget {
 public:
  explicit SpentAfter(int most) : left_(most) {}
  bool is_spent(size_t) const override { return left_-- <= 0; }

 private:
  mutable int left_;
};

using ArchivedInstancesTest = RetentionTest;

TEST_F(ArchivedInstancesTest, AreDeletedInThePortionThatErasesTheirVariables) {
  constexpr size_t kVariables = 20;
  for (const InstanceId& id : end(passes, 3)) {
    for (size_t i = 0; i < kVariables; ++i) {
      write_variable(*tx,
                     {.owner = {.scope = VariableScope::kInstance, .ns = ns, .instance = id},
                      .key = std::to_string(i)},
                     {.bytes = "1"});
    }
  }
  commit_all();
  for (const InstanceId& id : ended()) {
    batch.archive.add(*read_head(*tx, Table::kEnded, ns, id).value(), DeletionReason::kRequest);
  }
  const ArchivePage page = batch.archive.take_page(1);
  const std::vector<std::optional<uint64_t>> lengths = {10, 20, 30};
  ASSERT_EQ(batch.archive.apply({.number = page.number, .lengths = lengths}, now),
            PageEnd::kWritten);
  commit_all();
  const auto left = [&](uint64_t row) { purges.begin_history(ns, row); };
  for (int asked = 0; asked < 100 && batch.archive.next() != nullptr; ++asked) {
    const SpentAfter unit(asked);
    ASSERT_TRUE(delete_archived(batch, left, &unit));
    commit_all();
    EXPECT_EQ(rows_of(Table::kVariables), kVariables * ended().size())
        << "an instance that gets another line would lack variables in it";
  }
  EXPECT_THAT(ended(), testing::IsEmpty());
}

TEST_F(ArchivedInstancesTest, AreCollectedByPurgesAndTheRetentionInTurns) {
  const WorkflowEntry others = define("id: others\nstates:\n- {id: a, type: noop}\n");
  keep(R"({"ended": {}, "failed": {"age": "1m"}, "archive": true})");
  const std::vector<InstanceId> first = end(passes, 2);
  const std::vector<InstanceId> second = end(others, 2);
  const InstanceId failed = end(fails);
  for (const WorkflowEntry& workflow : {passes, others}) {
    ASSERT_TRUE(purges.begin_instances(
        {.ns = ns, .workflow = workflow.number, .statuses = {InstanceStatus::kComplete}}, "default",
        workflow.id));
  }
  commit_all();
  now += std::chrono::minutes(2);
  // Takes a step, then archives and deletes the page that it has collected.
  const auto archive_next = [&] {
    step();
    std::vector<InstanceId> ids;
    if (!batch.archive.has_page()) return ids;
    const ArchivePage page = batch.archive.take_page(1);
    std::vector<std::optional<uint64_t>> lengths;
    for (const ArchivePageEntry& entry : page.entries) {
      ids.push_back(entry.id);
      lengths.emplace_back(10 * ids.size());
    }
    EXPECT_EQ(batch.archive.apply({.number = page.number, .lengths = lengths}, now),
              PageEnd::kWritten);
    const auto left = [&](uint64_t row) { purges.begin_history(ns, row); };
    while (batch.archive.next() != nullptr) EXPECT_TRUE(delete_archived(batch, left));
    return ids;
  };
  EXPECT_EQ(archive_next(), first);
  EXPECT_EQ(archive_next(), std::vector<InstanceId>{failed}) << "the retention has waited";
  EXPECT_EQ(archive_next(), second);
  commit_all();
  EXPECT_THAT(ended(), testing::IsEmpty());
}

TEST_F(ArchivedInstancesTest, AreDeletedIfTheirPageFailsAfterTheArchiveWasTurnedOff) {
  keep(R"({"archive": true})");
  end(passes, 2);
  ASSERT_TRUE(purges.begin_instances(
      {.ns = ns, .workflow = passes.number, .statuses = {InstanceStatus::kComplete}}, "default",
      passes.id));
  commit_all();
  step();
  ASSERT_TRUE(batch.archive.has_page());
  const uint64_t page = batch.archive.take_page(1).number;
  keep(R"({"archive": false})");
  step();
  EXPECT_FALSE(purges.empty()) << "the purge waits for the page";
  EXPECT_EQ(
      batch.archive.apply({.number = page, .lengths = fail("archive.write", "no folder")}, now),
      PageEnd::kFailed);
  for (int steps = 0; steps < 10 && !purges.empty(); ++steps) step();
  EXPECT_TRUE(purges.empty());
  EXPECT_THAT(ended(), testing::IsEmpty());
}

}  // namespace
}  // namespace millrace
