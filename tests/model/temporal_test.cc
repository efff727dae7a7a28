// The tables, formulas and examples of Temporal's manual, calculated by hand.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

TEST(Temporal, HasDefaultsForItsRetryPolicy) {
  const Policy p = read_policy(temporal());
  EXPECT_EQ(p.attempts, kUnlimited);
  EXPECT_EQ(p.delay, 1 * s);
  EXPECT_EQ(p.factor, 2.0);
  EXPECT_EQ(p.max_delay, 100 * s);
  EXPECT_EQ(waits(temporal(), 8),
            (Times{1 * s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 100 * s}));
}
TEST(Temporal, LimitsTheIntervalToAHundredTimesTheInitialInterval) {
  EXPECT_EQ(read_policy(temporal({}, 500)).max_delay, 50 * s);
  EXPECT_EQ(waits(temporal({}, 4 * s, {}, 3 * s), 1), (Times{3 * s}));
}
TEST(Temporal, KeepsTheIntervalConstantForACoefficientOfOne) {
  EXPECT_EQ(waits(temporal({}, {}, 1.0), 3), (Times{1 * s, 1 * s, 1 * s}));
}
TEST(Temporal, CountsTheFirstAttemptInMaximumAttempts) {
  EXPECT_EQ(read_policy(temporal(0)).attempts, kUnlimited);
  World one(workflow({action("a", temporal(1))}));
  EXPECT_EQ(one.fail_all(), (Times{0}));
  EXPECT_EQ(one.code(), "busy");
  World three(workflow({action("a", temporal(3))}));
  EXPECT_EQ(three.fail_all(), (Times{0, 1 * s, 3 * s}));
  EXPECT_EQ(three.code(), "busy");
}
TEST(Temporal, MatchesNonRetryableErrorsExactly) {
  World w(workflow({action("a", temporal(5, {}, {}, {}, {"bus", "gone"}))}));
  w.fail("busy");
  EXPECT_EQ(w.status(), "waiting");
  w.to(1 * s), w.fail("gone");
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "gone");
}
TEST(Temporal, EndsRetriesAfterTenYears) {
  const Ms year = 365 * day + 6 * h;
  World w(workflow({action("a", temporal(0, 4 * year, 1.0, 4 * year))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 4 * year, 8 * year}));
  EXPECT_EQ(w.code(), "busy");
}
TEST(Temporal, GivesItsDefaultPolicyToAnActionWithATimeoutKeyOfTemporal) {
  World w(workflow({action("a", {}, {limit("startToCloseTimeout", 10 * s)})}));
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.retry_at(), 11 * s);
}
TEST(Temporal, AppliesScheduleToStartToEachTaskAndNeverRetriesAfterIt) {
  World w(workflow(
      {action("a", temporal(5),
              {limit("scheduleToStartTimeout", 5 * s), limit("startToCloseTimeout", 1 * h)})}));
  w.to(4 * s), w.take();
  w.to(30 * s), w.fail();  // the task was taken in time
  w.to(31 * s);
  EXPECT_EQ(w.attempt(), 2);
  w.to(36 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(36 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToStart");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, AppliesStartToCloseToEachAttempt) {
  World w(workflow({action("a", temporal(3), {limit("startToCloseTimeout", 5 * s)})}));
  w.to(60 * s);
  EXPECT_FALSE(w.ended());  // the timeout counts from the time at which the worker takes the task
  w.take();
  w.to(65 * s);
  EXPECT_EQ(w.retry_at(), 66 * s);
  w.to(67 * s), w.take();
  w.to(72 * s - 1), w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(Temporal, AppliesScheduleToCloseToAllAttemptsAndTheWaitsBetweenThem) {
  World w(
      workflow({action("a", temporal(0, 10 * s, 1.0), {limit("scheduleToCloseTimeout", 25 * s)})}));
  w.to(1 * s), w.fail();
  w.to(11 * s), w.take();
  w.to(20 * s), w.fail();
  w.to(25 * s - 1);
  EXPECT_EQ(w.status(), "waiting");
  w.to(25 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, RetriesAfterAMissedHeartbeat) {
  World w(
      workflow({action("a", temporal(2),
                       {limit("startToCloseTimeout", 1 * h), limit("heartbeatTimeout", 10 * s)})}));
  w.to(20 * s), w.take();
  w.to(29 * s), w.beat();
  w.to(39 * s);
  EXPECT_EQ(w.retry_at(), 40 * s);
  w.to(40 * s), w.take(), w.to(50 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.heartbeat");
}
TEST(Temporal, AppliesTheExecutionTimeoutToAllRuns) {
  Definition d = workflow({action("a")});
  d.retry = temporal(0, 4 * s, 1.0);
  d.execution = 10 * s;
  World w(d);
  w.to(1 * s), w.fail();  // run 1
  w.to(5 * s);            // run 2
  EXPECT_EQ(*w.observe().run, 2);
  w.to(10 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.code(), "millrace.timeout.execution");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, EndsTheExecutionAtTheRunTimeout) {
  Definition d = workflow({action("a")});
  d.retry = temporal(0);
  d.run = 10 * s;
  World w(d);
  w.to(4 * s), w.fail();
  w.to(5 * s);
  w.to(15 * s - 1);
  EXPECT_FALSE(w.ended());  // run 2 has its own timeout
  w.to(15 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.code(), "millrace.timeout.run");
  w.to(1 * h);
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, GivesAWorkflowNoRetryPolicyByDefault) {
  World w(workflow({action("a", temporal(1))}));
  w.fail();
  EXPECT_EQ(w.status(), "failed");
}
TEST(Temporal, StartsEachRunAtTheFirstStateWithTheInput) {
  Definition d = workflow({action("a", {}, {}, "b"), action("b")});
  d.retry = temporal(3);
  World w(d);
  w.ok(), w.fail();
  EXPECT_EQ(w.retry_at(), 1 * s);
  w.to(1 * s);
  EXPECT_EQ(w.at(), "a");
  EXPECT_FALSE(w.data().contains("return"));
  w.ok(), w.fail();
  w.to(3 * s), w.ok(), w.fail();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 6);
}

}  // namespace
}  // namespace millrace::reference
