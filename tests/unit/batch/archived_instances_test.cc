// Archived instances: the portions in which instances whose lines are on disk are deleted.
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

}  // namespace
}  // namespace millrace
