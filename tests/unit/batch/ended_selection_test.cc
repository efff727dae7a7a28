// Ended selection: which ended instances a filter selects, in which order, and how a walk through
// them continues.
#include "orchestrator/batch/ended_selection.h"

#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kAllHistory = std::numeric_limits<uint64_t>::max();

class EndedSelectionTest : public BatchPartTest {
 protected:
  EndedSelectionTest() {
    one = define("id: one\nstates:\n- {id: a, type: noop}\n");
    two = define("id: two\nstates:\n- {id: a, type: noop}\n");
    fails = define("id: fails\nstates:\n- {id: a, type: error, error: no.use, message: gone}\n");
  }

  /// Starts an instance that ends at once.
  InstanceId end(const WorkflowEntry& workflow) {
    const InstanceId id = start(workflow);
    commit_batch();
    return id;
  }
  EndedFilter filter(InstanceStatus status = InstanceStatus::kComplete) const {
    return {.ns = ns, .workflow = {}, .statuses = {status}};
  }
  /// The instances that the filter selects, in the order of the walk.
  std::vector<InstanceId> selected(const EndedFilter& by, uint64_t below = kAllHistory) {
    std::vector<InstanceId> ids;
    EndedPosition at;
    PurgeBudget budget;
    const auto all =
        each_selected(batch, by, below, at, budget, [&](const Instance& head) -> Result<bool> {
          ids.push_back(head.id);
          return true;
        });
    EXPECT_TRUE(all && *all);
    return ids;
  }
  bool may_select_any(const EndedFilter& by) {
    const auto found = may_select(batch, by);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(false);
  }

  WorkflowEntry one;
  WorkflowEntry two;
  WorkflowEntry fails;
};

TEST_F(EndedSelectionTest, HasTheInstancesWithTheStatusByWorkflowAndId) {
  const InstanceId of_two = end(two);
  const InstanceId first = end(one);
  const InstanceId failed = end(fails);
  const InstanceId second = end(one);
  EXPECT_THAT(selected(filter()), ElementsAre(first, second, of_two));
  EXPECT_THAT(selected(filter(InstanceStatus::kFailed)), ElementsAre(failed));
  EXPECT_THAT(selected(filter(InstanceStatus::kCancelled)), IsEmpty());
  EndedFilter by_workflow = filter();
  by_workflow.workflow = two.number;
  EXPECT_THAT(selected(by_workflow), ElementsAre(of_two));
}

TEST_F(EndedSelectionTest, HasNoInstanceWithALaterHistoryRow) {
  const InstanceId first = end(one);
  const uint64_t below = read_instance(*tx, ns, first).value()->last_history + 1;
  end(one);
  EXPECT_THAT(selected(filter(), below), ElementsAre(first));
}

TEST_F(EndedSelectionTest, ContinuesWithTheInstanceAtWhichItStopped) {
  const std::vector<InstanceId> ids = {end(one), end(one), end(two)};
  std::vector<InstanceId> seen;
  EndedPosition at;
  bool is_all = false;
  for (int stops = 0; !is_all && stops < 10; ++stops) {
    PurgeBudget budget;
    bool goes_on = true;
    is_all = each_selected(batch, filter(), kAllHistory, at, budget,
                           [&](const Instance& head) -> Result<bool> {
                             if (!std::exchange(goes_on, false)) return false;
                             seen.push_back(head.id);
                             return true;
                           })
                 .value();
  }
  EXPECT_TRUE(is_all);
  EXPECT_EQ(seen, ids);
}

TEST_F(EndedSelectionTest, EndsWhenTheBudgetIsSpent) {
  end(one);
  EndedPosition at;
  PurgeBudget budget{.looked_at = 2};
  size_t seen = 0;
  const auto see = [&](const Instance&) -> Result<bool> {
    ++seen;
    return true;
  };
  EXPECT_FALSE(each_selected(batch, filter(), kAllHistory, at, budget, see).value());
  budget = {};
  EXPECT_TRUE(each_selected(batch, filter(), kAllHistory, at, budget, see).value());
  EXPECT_EQ(seen, 1U);
}

TEST_F(EndedSelectionTest, IsEmptyIfNoEndedInstanceMatches) {
  EXPECT_FALSE(may_select_any(filter()));
  start(define(kWaits));
  end(one);
  EXPECT_TRUE(may_select_any(filter()));
  EXPECT_FALSE(may_select_any(filter(InstanceStatus::kFailed)));
  EndedFilter by = filter();
  by.workflow = two.number;
  EXPECT_FALSE(may_select_any(by));
  by = filter();
  by.before = now;
  EXPECT_FALSE(may_select_any(by)) << "the instance ended at that time";
  by.before = now + std::chrono::seconds(1);
  EXPECT_TRUE(may_select_any(by));
}

TEST_F(EndedSelectionTest, IsNotKnownToBeEmptyWhileTheIndexIsIncomplete) {
  request_index_build(*tx);
  EXPECT_TRUE(may_select_any(filter()));
}

}  // namespace
}  // namespace millrace
