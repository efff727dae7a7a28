// An operator cancels an instance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/instance_rows.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

TEST(Cancel, LetsARunningTaskFinishAndRecordsItsEndInTheHistoryOnly) {
  World world;
  const std::string id = world.apply_order(kOperatorOrder);
  world.publish("paid", "1", 5);
  world.run_until_idle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  EXPECT_EQ(world.must(CancelInstance{"default", key(id)})["cancelled"], true);
  EXPECT_EQ(world.status(id), "waiting");
  world.restart();
  world.functions.answer(world.functions.tasks()[0].id, "done");
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), testing::IsEmpty());
  EXPECT_FALSE(world.instance(id)["output"].contains("return"));
  EXPECT_THAT(world.history(id),
              ElementsAre("started", "entered wait", "woken wait", "entered pay", "called pay",
                          "cancelled pay", "returned pay", "ended pay"));
}

TEST(Cancel, LetsARunningTaskContinueOnlyUntilItsTimeout) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, scheduleToCloseTimeout: 10m}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  world.must(CancelInstance{"default", key(id)});
  world.run_for(minutes(9));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), SizeIs(1));
}

TEST(Cancel, LetsEachTaskContinueOnlyUntilItsTimeoutIfAnotherOneHasEndedBefore) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, scheduleToCloseTimeout: 10m}
- {id: send, type: knative-namespace, service: send, scheduleToCloseTimeout: 20m}
states:
- {id: pay, type: parallel, actions: [{function: charge}, {function: send}]}
)");
  world.must(CancelInstance{"default", key(id)});
  world.functions.answer(world.functions.tasks()[0].id, "done");
  world.run_for(minutes(11));
  EXPECT_EQ(world.status(id), "waiting");
  world.restart();
  world.run_for(minutes(9));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(world.functions.tasks()[1].id));
}

TEST(Cancel, LetsARunningTaskContinueOnlyUntilAMissedHeartbeatAndErasesIt) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, maxInactivity: {timeout: 1m, errorOnTimeout: true}}
states:
- {id: pay, type: action, action: {function: charge}}
)");
  const InstanceId task = world.functions.tasks()[0].id;
  world.intake().report({task, TaskStarted{}}, nullptr);
  world.run_until_idle();
  world.must(CancelInstance{"default", key(id)});
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(task));
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("tasks/")) << key;
}

TEST(Cancel, ReachesASubflowAndLetsItsTaskFinish) {
  World world;
  world.apply(kOperatorOrder);
  world.apply(R"(
id: parent
functions:
- {id: f, type: subflow, workflow: order}
states:
- {id: a, type: action, action: {function: f}}
)");
  const std::string parent = world.start("parent")["id"];
  world.publish("paid", "1", 5);
  world.run_until_idle();
  world.must(CancelInstance{"default", key(parent)});
  const std::string child = world.instances()[1]["id"];
  EXPECT_EQ(world.status(parent), "cancelled");
  EXPECT_EQ(world.status(child), "waiting");
  EXPECT_THAT(world.functions.stopped(), testing::IsEmpty());
  world.functions.answer(world.functions.tasks()[0].id, 1);
  world.run_until_idle();
  EXPECT_EQ(world.status(child), "cancelled");
}

TEST(Cancel, StopsARunningTaskAtOnceWithTheOptionNow) {
  World world;
  const std::string id = world.apply_order(kOperatorOrder);
  world.publish("paid", "1", 5);
  world.run_until_idle();
  world.must(CancelInstance{"default", key(id), true});
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(world.functions.tasks()[0].id));
}

TEST(Cancel, EndsAnInstanceThatWaitsForItsNextRun) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
retries: {max_attempts: 2, delay: PT1H, codes: ['*']}
states:
- {id: a, type: error, error: some.error, message: no}
)");
  EXPECT_EQ(world.status(id), "waiting");
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(world.status(id), "cancelled");
  const Snapshot view = Snapshot::take(world.environment()).value();
  EXPECT_FALSE(read_instance(view, NamespaceNumber(1), key(id)).value()->awaits_run);
}

}  // namespace
}  // namespace millrace
