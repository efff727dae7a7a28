#include "orchestrator/batch/commands/sweep.h"

#include <string_view>

#include <gtest/gtest.h>

#include "base/work_budget.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

constexpr NamespaceNumber kDefault{1};

/// Starts waiting instances in a rig.
class SweepTest : public testing::Test {
 protected:
  void start(size_t count) {
    rig.must(CommandRig::apply_workflow(kWaits));
    const StartInstance one{.ns = "default", .workflow = "waits", .input = Json::object()};
    for (size_t i = 0; i < count; ++i) {
      const auto started = rig.run(one);
      ASSERT_TRUE(started);
      ids.push_back(*parse_instance_id(std::get<Json>(*started)["id"].get<std::string>()));
    }
    ASSERT_TRUE(rig.commit());
    workflow = rig.batch().catalog.find_workflow(kDefault, "waits")->number;
  }
  size_t count() { return count_live(rig.context(), kDefault, workflow); }

  CommandRig rig;
  WorkflowNumber workflow{};
  std::vector<InstanceId> ids;
};

TEST_F(SweepTest, CountsTheLiveInstancesOfAWorkflowAndOfANamespace) {
  start(3);
  rig.must(CommandRig::apply_workflow(kEnds));
  rig.start("ends");
  EXPECT_EQ(count(), 3U);
  EXPECT_EQ(count_live(rig.context(), kDefault, std::nullopt), 3U);
  EXPECT_EQ(count_live(rig.context(), NamespaceNumber(2), std::nullopt), 0U);
}

TEST_F(SweepTest, RefusesACommandOnlyIfInstancesAreLive) {
  EXPECT_TRUE(refuse_live(0, {"a.code", "it has instances"}));
  const Status refused = refuse_live(2, {"a.code", "it has instances"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "a.code");
  EXPECT_EQ(refused.error().message,
            "it has instances: 2; to cancel them too, use ?cancel=1 (--cancel)");
}

TEST_F(SweepTest, CancelsFewInstancesInOneBatch) {
  start(3);
  Sweep sweep;
  const auto done = cancel_live(rig.context(), kDefault, workflow, false, sweep);
  ASSERT_TRUE(done);
  EXPECT_TRUE(*done);
  EXPECT_EQ(sweep.changed, 3U);
  EXPECT_EQ(count(), 0U);
}

TEST_F(SweepTest, CancelsManyInstancesInSeveralBatches) {
  start(600);
  Sweep sweep;
  size_t batches = 0;
  for (bool done = false; !done && batches < 20; ++batches) {
    const size_t before = count();
    const auto some = cancel_live(rig.context(), kDefault, workflow, false, sweep);
    ASSERT_TRUE(some);
    ASSERT_TRUE(rig.commit());
    EXPECT_LE(before - count(), 80U) << "one batch cancels about 64";
    done = *some;
  }
  EXPECT_EQ(batches, 10U);
  EXPECT_EQ(sweep.changed, 600U);
  EXPECT_EQ(count(), 0U);
}

TEST_F(SweepTest, ContinuesBehindTheInstanceWithWhichItsUnitOfWorkHasEnded) {
  struct Spent final : WorkBudget {
    bool is_spent(size_t) const override { return true; }
  };
  start(5);
  Spent unit;
  Sweep sweep;
  for (size_t i = 1; i <= ids.size(); ++i) {
    CommandContext context = rig.context();
    context.unit = &unit;
    const auto done = cancel_live(context, kDefault, workflow, false, sweep);
    ASSERT_TRUE(done);
    EXPECT_EQ(*done, i == ids.size());
    EXPECT_EQ(sweep.changed, i);
    ASSERT_TRUE(rig.commit());
  }
}

TEST_F(SweepTest, RemovesADamagedInstanceBetweenTwoUnitsOfWork) {
  struct Spent final : WorkBudget {
    bool is_spent(size_t) const override { return true; }
  };
  start(5);
  // The head of the second instance names another instance.
  Instance head = rig.instance(ids[1]);
  head.id = ids[4];
  Transaction& tx = rig.batch().tx;
  tx.put(Table::kLive, rows::instance_prefix(kDefault, ids[1]) + static_cast<char>(Part::kHead),
         encode_head(head));
  ASSERT_TRUE(rig.commit());
  Spent unit;
  Sweep sweep;
  for (int i = 0; i < 4; ++i) {
    CommandContext context = rig.context();
    context.unit = &unit;
    ASSERT_TRUE(cancel_live(context, kDefault, workflow, false, sweep));
    ASSERT_TRUE(rig.commit());
  }
  size_t live = 0;
  tx.scan(Table::kLive, "", [&](std::string_view, std::string_view) {
    ++live;
    return true;
  });
  EXPECT_EQ(live, 0U);
}

TEST_F(SweepTest, StepsOnlyTheSelectedInstances) {
  start(4);
  Sweep sweep;
  const auto is_one = [&](const Instance& head) { return head.id == ids[0] || head.id == ids[2]; };
  const auto all = step_live(rig.context(), kDefault, Pause{}, is_one, sweep);
  ASSERT_TRUE(all);
  EXPECT_TRUE(*all);
  EXPECT_EQ(sweep.changed, 2U);
  ASSERT_TRUE(rig.commit());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(rig.instance(ids[i]).paused, i % 2 == 0) << i;
}

TEST_F(SweepTest, LeavesInstancesUnchangedThatCallNoneOfTheResumedServices) {
  start(2);
  Sweep sweep;
  const ServiceNames services = {"charge"};
  const auto all = resume_services(rig.context(), kDefault, &services, sweep);
  ASSERT_TRUE(all);
  EXPECT_TRUE(*all);
  EXPECT_FALSE(sweep.last);
}

}  // namespace
}  // namespace millrace
