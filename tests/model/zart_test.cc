// The tables, formulas and examples of Zart's manual, calculated by hand.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

// In the example of Zart's manual the first attempt is at 10:21:30, so the deadline is 10:26:30.
TEST(Zart, AppliesATimeoutToAllAttemptsTogetherByDefault) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 5 * min)})}));
  w.take(), w.to(30 * s), w.fail();
  w.to(31 * s), w.take();
  w.to(5 * min - 1);
  EXPECT_FALSE(w.ended());  // attempt 2 has 4m29s
  w.to(5 * min);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Zart, AppliesATimeoutToEachAttemptIfItsScopeIsPerAttempt) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 30 * s, false, true)})}));
  for (int n = 0; n < 2; n++) w.take(), w.to(w.now() + 29 * s), w.fail(), w.to(w.now() + 1 * s);
  EXPECT_EQ(w.now(), 60 * s);
  w.take(), w.to(90 * s - 1);
  EXPECT_FALSE(w.ended());
  w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(Zart, FailsOnATimeoutWithoutARetry) {
  for (const bool per_attempt : {false, true}) {
    World w(
        workflow({action("a", zart(3, 1 * s), {limit("timeout", 30 * s, false, per_attempt)})}));
    w.take(), w.to(30 * s);
    EXPECT_TRUE(w.ended());
    EXPECT_EQ(w.calls(), 1);
  }
}
TEST(Zart, FailsWhenItsRetriesAreExhausted) {
  World w(workflow({action("a", zart(3, 1 * s))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 1 * s, 2 * s}));
  EXPECT_EQ(w.code(), "direktiv.retries.exceeded");
  EXPECT_EQ(*w.observe().error_message, "busy");  // the message contains the last error
}
TEST(Zart, DoesNotRetryATimeoutThatAKeyOfAnotherVocabularySets) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("startToCloseTimeout", 30 * s)})}));
  w.take(), w.to(30 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.startToClose");
}
TEST(Zart, DoesNotRetryAtOrAfterTheDeadline) {
  const Definition d = workflow({action("a", zart(3, 10 * s), {limit("timeout", 15 * s)})});
  World live(d);
  live.to(8 * s), live.fail();
  live.to(15 * s);
  EXPECT_EQ(live.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(live.calls(), 1);
  World dead(d);  // due at 11 s; the deadline passes before the restart
  dead.to(1 * s), dead.fail();
  dead.kill(), dead.to(20 * s), dead.start_process();
  EXPECT_EQ(dead.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(dead.calls(), 1);
  World same(
      // The retry is due exactly at the deadline.
      workflow({action("a", zart(3, 7 * s), {limit("timeout", 15 * s)})}));
  same.to(8 * s), same.fail(), same.to(15 * s);
  EXPECT_EQ(same.calls(), 1);
  EXPECT_TRUE(same.ended());
}
TEST(Zart, EndsAStateOfEachTypeAtTheExecutionTimeout) {
  const auto failed_at_30m = [](State x) {
    Definition d = workflow({std::move(x)});
    d.timeout = 30 * min;
    World w(d);
    if (w.open()) w.take();
    w.to(30 * min - 1);
    EXPECT_FALSE(w.ended());
    w.to(30 * min);
    EXPECT_EQ(w.status(), "failed");
    EXPECT_EQ(w.code(), "millrace.timeout.execution");
    EXPECT_EQ(*w.observe().failed_state, "a");
  };
  failed_at_30m(action("a", zart(3, 1 * s), {limit("timeout", 2 * h)}));
  failed_at_30m(action("a"));
  failed_at_30m(delay("a", 1 * h));
  failed_at_30m(wait("a", 7 * day));
  failed_at_30m(wait("a"));
}
TEST(Zart, EntersTheStateOfOnFailureOnceAndThenFails) {
  Definition d = workflow({action("a"), action("refund")});
  d.timeout = 30 * min;
  d.on_failure = "refund";
  World w(d);
  w.take(), w.to(30 * min);
  EXPECT_EQ(w.at(), "refund");
  EXPECT_EQ(w.data()["error"]["code"], "millrace.timeout.execution");
  w.to(5 * h);  // after the deadline
  EXPECT_FALSE(w.ended());
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "millrace.timeout.execution");
  EXPECT_EQ(*w.observe().failed_state, "a");
  EXPECT_EQ(w.retry(), Reply::kConflict);
  EXPECT_EQ(w.command(Verb::kRetryExtend), Reply::kAccepted);
  EXPECT_EQ(w.at(), "a");  // the state that failed, without the error in its data
  EXPECT_FALSE(w.data().contains("error"));
  EXPECT_FALSE(w.data().contains("return"));
}
TEST(Zart, BoundsTheStateOfOnFailureByItsOwnTimeouts) {
  Definition d = workflow({action("a"), action("refund", {}, {limit("timeout", 10 * s)})});
  d.timeout = 30 * s;
  d.on_failure = "refund";
  World w(d);
  w.take(), w.to(30 * s);
  w.take(), w.to(40 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, EntersTheStateOfOnFailureOnlyAtTheExecutionTimeout) {
  Definition d = workflow({action("a"), action("refund")});
  d.timeout = 30 * s;
  d.on_failure = "refund";
  World w(d);
  w.fail();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Zart, DoesNotRetryAnExecutionTimeout) {
  Definition d = workflow({action("a")});
  d.timeout = 30 * s;
  d.retry = temporal(0);
  World w(d);
  w.to(2 * min);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Zart, WaitsForAnEventUntilItsTimeout) {
  World w(workflow({wait("a", 7 * day)}));
  w.to(7 * day - 1);
  EXPECT_EQ(w.status(), "waiting");
  w.to(7 * day);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  World forever(workflow({wait("a")}));
  forever.to(5000 * day);
  EXPECT_EQ(forever.status(), "waiting");
  forever.event();
  EXPECT_EQ(forever.status(), "complete");
  EXPECT_EQ(forever.data()["go"], (Json{{"e", 1}}));
}
TEST(Zart, DoesNotRetryAWait) {
  World w(workflow({wait("a", 10 * s, zart(3, 1 * s))}));
  w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  Definition d = workflow({wait("a", 10 * s)});
  d.retry = zart(3, 1 * s);
  World runs(d);
  runs.to(10 * s);
  EXPECT_EQ(runs.status(), "failed");
}
TEST(Zart, CancelsAWaitAtOnce) {
  for (const State& x : {wait("a"), delay("a", 1 * h)}) {
    World w(workflow({x}));
    EXPECT_EQ(w.command(Verb::kCancel), Reply::kAccepted);
    EXPECT_EQ(w.status(), "cancelled");
    EXPECT_EQ(w.would(Verb::kCancel, ""), std::nullopt);
    EXPECT_EQ(w.retry(), Reply::kConflict);
  }
  World between(workflow({action("a", zart(3, 1 * s))}));
  between.fail();
  between.command(Verb::kCancel);
  EXPECT_EQ(between.status(), "cancelled");
  between.to(1 * h);
  EXPECT_EQ(between.calls(), 1);
}
TEST(Zart, LetsARunningCallFinishOnCancel) {
  World w(workflow({action("a", {}, {}, "b"), action("b")}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.command(Verb::kCancel);
  EXPECT_EQ(w.status(), "running|waiting|pending");
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "cancelled");
  EXPECT_EQ(w.calls(), 1);
  EXPECT_FALSE(w.data().contains("return"));
}
TEST(Zart, GivesEachAttemptAfterTheRetryCommandTheFullTimeout) {
  World w(workflow({action("a", zart(3, 10 * s), {limit("timeout", 30 * s)}, "b"), action("b")}));
  w.take(), w.to(30 * s);
  EXPECT_EQ(w.status(), "failed");
  w.to(1 * h);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.take(), w.to(1 * h + 25 * s), w.fail();
  w.to(1 * h + 35 * s), w.take();  // a global deadline would have passed at 30 s
  EXPECT_EQ(w.attempt(), 2);
  w.to(1 * h + 65 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(1 * h + 65 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, AppliesATimeoutToAllAttemptsTogetherAgainInTheNextRunAfterARetry) {
  Definition d = workflow({action("a", zart(2, 20 * s), {limit("timeout", 30 * s)})});
  d.retry = steep(2, 5 * s);
  World w(d);
  // The timeout is final for the action; by the policy of the workflow a run follows.
  w.take(), w.to(30 * s);
  w.to(35 * s), w.take(), w.to(65 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.fail(), w.to(85 * s), w.fail();
  w.to(90 * s);  // the policy of the workflow restarted, so a run follows
  EXPECT_EQ(*w.observe().run, 3);
  w.to(95 * s), w.fail(), w.to(115 * s), w.take();
  w.to(120 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, StartsItsDeadlinesAgainOnTheCommandsRestartAndRerun) {
  for (const Verb verb : {Verb::kRestart, Verb::kRerun}) {
    Definition d = workflow({action("a", {}, {limit("timeout", 30 * s)})});
    d.timeout = 1 * min;
    World w(d);
    w.take(), w.to(30 * s);
    EXPECT_TRUE(w.ended());
    w.to(2 * min);
    EXPECT_EQ(w.retry(), Reply::kConflict);
    EXPECT_EQ(w.command(verb, verb == Verb::kRerun ? "a" : ""), Reply::kAccepted);
    w.to(2 * min + 30 * s - 1);
    EXPECT_FALSE(w.ended());
    w.ok();
    EXPECT_EQ(w.status(), "complete");
  }
}

}  // namespace
}  // namespace millrace::reference
