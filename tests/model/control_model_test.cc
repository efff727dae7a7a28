// The reference model: which policies and deadlines apply, and the effects of a pause, a retry, a
// restart and a dead process.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

TEST(ControlModel, UsesTheRetryPolicyNearestToTheActionAsAWhole) {
  Definition d = workflow({action("a")});
  d.functions[0].retry = steep(2, 1 * s);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 1 * s}));
  d.states[0].retry = steep(2, 2 * s);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 2 * s}));
  d.states[0].actions[0].retry = policy(Vocabulary::kSteep, 2);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 0}));
}
TEST(ControlModel, UsesTheTimeoutNearestToTheActionForEachTimeoutKey) {
  Definition d = workflow({action("a", {}, {limit("startToCloseTimeout", 5 * s)})});
  d.functions[0].timeouts = {limit("startToCloseTimeout", 50 * s),
                             limit("heartbeatTimeout", 9 * s)};
  const Bounds b = bounds_of(d, d.states[0].actions[0]);
  EXPECT_EQ(b.at(Limit::kStartToClose).time, 5 * s);
  EXPECT_EQ(b.at(Limit::kHeartbeat).time, 9 * s);
}
TEST(ControlModel, LimitsAnOverflowingRetryDelayToTheMaximum) {
  EXPECT_EQ(waits(steep(-1, 1 * s, 10, 7 * s), 400).back(), 7 * s);
}
TEST(ControlModel, FiresTheExecutionTimeoutBeforeAStateTimeoutOfTheSameTime) {
  for (const bool by_zart : {true, false}) {
    Definition d = workflow({caught(wait("a", 10 * s), {"*"}, "c"), delay("c", 1 * s)});
    (by_zart ? d.timeout : d.execution) = 10 * s;
    World w(d);
    w.to(10 * s);
    EXPECT_EQ(w.status(), by_zart ? "failed" : "timedout");
    EXPECT_EQ(w.code(), "millrace.timeout.execution");
  }
}
TEST(ControlModel, IgnoresAnAnswerAtOrAfterTheDeadlineOfItsAttempt) {
  World w(workflow({action("a", steep(2, 5 * s), {limit("maxRuntime", 10 * s, true)})}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.to(10 * s);
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "waiting");
  w.to(15 * s), w.take();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 2}});
  EXPECT_EQ(w.data()["return"], (Json{{"k", 2}}));
}
TEST(ControlModel, IgnoresASecondAnswerToAnAttempt) {
  World w(workflow({action("a", steep(2, 0))}));
  const std::string handle = w.fail();
  w.take();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_FALSE(w.ended());
  EXPECT_EQ(w.attempt(), 2);
}
TEST(ControlModel, ContinuesTheWaitBeforeARetryAfterARestartOfTheProcess) {
  World w(workflow({action("a", steep(2, 10 * s))}));
  w.fail();
  w.to(4 * s), w.kill();
  w.to(6 * s), w.start_process();
  EXPECT_EQ(w.retry_at(), 10 * s);
  w.to(7 * s), w.kill();
  w.to(30 * s);
  EXPECT_FALSE(w.observe().status);
  w.start_process();
  EXPECT_EQ(w.attempt(), 2);
}
TEST(ControlModel, DoesNotRepeatACallThatExpiredWhileTheProcessWasDead) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 10 * s)})}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.kill(), w.to(20 * s), w.start_process();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(ControlModel, KeepsARunningCallOverARestartOfTheProcess) {
  World w(workflow({action("a", {}, {limit("timeout", 10 * s)})}));
  w.take(), w.kill(), w.to(9 * s), w.start_process();
  w.ok();
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.calls(), 1);
}
TEST(ControlModel, HoldsStepsInAPauseAndRestartsDeadlinesOnResume) {
  World w(workflow({action("a", steep(1, 0),
                           {limit("maxInactivity", 10 * s, true), limit("maxRuntime", 20 * s, true),
                            limit("deadline", 30 * s, true)})}));
  w.take(), w.to(9 * s);
  EXPECT_EQ(w.command(Verb::kPause), Reply::kAccepted);
  w.to(1 * h);
  EXPECT_EQ(w.command(Verb::kResume), Reply::kAccepted);
  w.to(1 * h + 9 * s), w.beat();
  w.to(1 * h + 19 * s - 1);
  EXPECT_TRUE(w.open());
  w.to(1 * h + 19 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.heartbeat");
}
TEST(ControlModel, DoesNotHoldTheExecutionTimeoutInAPause) {
  Definition d = workflow({wait("a", 5 * s)});
  d.execution = 30 * s;
  World w(d);
  w.command(Verb::kPause);
  w.to(30 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(ControlModel, AppliesOnResumeAnEventThatCameDuringThePause) {
  World w(workflow({wait("a", 5 * s, {}, "b"), action("b")}));
  w.command(Verb::kPause);
  w.to(8 * s), w.event();
  EXPECT_EQ(w.calls(), 0);
  w.to(9 * s), w.command(Verb::kResume);
  EXPECT_EQ(w.at(), "b");
  EXPECT_EQ(w.data()["go"], (Json{{"e", 1}}));
}
TEST(ControlModel, AppliesOnResumeAnAnswerThatCameDuringThePause) {
  World w(workflow({action("a", {}, {}, "b"), action("b")}));
  w.take(), w.command(Verb::kPause), w.ok();
  EXPECT_EQ(w.calls(), 1);
  w.to(9 * s), w.command(Verb::kResume);
  EXPECT_EQ(w.at(), "b");
}
TEST(ControlModel, StartsNoAttemptAndNoRunDuringAPause) {
  World w(workflow({action("a", steep(2, 5 * s))}));
  w.fail(), w.command(Verb::kPause), w.to(20 * s);
  EXPECT_EQ(w.calls(), 1);
  w.command(Verb::kResume);
  EXPECT_EQ(w.calls(), 2);
  Definition d = workflow({action("a")});
  d.retry = steep(2, 5 * s);
  World r(d);
  r.fail(), r.command(Verb::kPause), r.to(20 * s);
  EXPECT_EQ(r.calls(), 1);
  r.command(Verb::kResume);
  EXPECT_EQ(r.calls(), 2);
}
TEST(ControlModel, HoldsARetriedInstanceWhileItsWorkflowIsPaused) {
  World w(workflow({action("a", {}, {limit("timeout", 10 * s)})}));
  w.fail(), w.command(Verb::kPauseWorkflow);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.to(1 * h);
  EXPECT_EQ(w.calls(), 1);
  w.command(Verb::kResumeWorkflow);
  EXPECT_EQ(w.calls(), 2);
  w.to(1 * h + 9 * s), w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(ControlModel, RefusesARetryOfALiveOrCompleteInstance) {
  World running(workflow({action("a")}));
  EXPECT_EQ(running.retry(), Reply::kConflict);
  running.ok();
  EXPECT_EQ(running.retry(), Reply::kConflict);  // the instance is complete
  EXPECT_EQ(running.command(Verb::kPause), Reply::kConflict);
}
TEST(ControlModel, NeedsTheOptionExtendForARetryAfterTheExecutionTimeout) {
  Definition d = workflow({action("a")});
  d.execution = 30 * s;
  World w(d);
  w.to(5 * s), w.fail();
  EXPECT_EQ(w.retry(), Reply::kAccepted);  // the deadline has not passed and continues
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.retry(), Reply::kConflict);
  w.to(40 * s);
  EXPECT_EQ(w.command(Verb::kRetryExtend), Reply::kAccepted);
  w.to(70 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(70 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(ControlModel, RetriesAStateWithTheDataWithWhichItWasLastEntered) {
  State more = state("more", Kind::kBranch, "");
  more.condition = ".return.again", more.branch_to = "a";
  World w(workflow({action("a", {}, {}, "more"), more}));
  w.ok({{"again", true}});
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  w.fail();
  w.retry();
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  w.ok({{"again", false}});
  EXPECT_EQ(w.seen(), (Json{"a", "more", "a", "more"}));
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.command(Verb::kRerun, "a"), Reply::kAccepted);
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  EXPECT_EQ(*w.observe().run, 2);
}
TEST(ControlModel, RefusesARerunFromAStateThatWasNotEntered) {
  World w(workflow({caught(action("a"), {"*"}, "c"), action("c")}));
  w.ok();
  EXPECT_EQ(w.command(Verb::kRerun, "c"), Reply::kConflict);  // the state was not entered
}
TEST(ControlModel, StartsTheWorkflowPolicyAgainOnTheCommandsRetryAndRestart) {
  for (const Verb verb : {Verb::kRetry, Verb::kRestart}) {
    Definition d = workflow({action("a")});
    d.retry = steep(2, 5 * s);
    World w(d);
    EXPECT_EQ(w.fail_all(), (Times{0, 5 * s}));
    EXPECT_EQ(w.command(verb), Reply::kAccepted);
    EXPECT_EQ(w.fail_all(), (Times{5 * s, 10 * s}));
  }
}
TEST(ControlModel, NamesTheStateThatACatchLedToAsTheFailedStateIfItFails) {
  const Definition d = workflow({caught(action("a"), {"*"}, "c"), action("c")});
  World w(d);
  w.fail("busy"), w.fail("gone");
  EXPECT_EQ(w.code(), "gone");
  EXPECT_EQ(*w.observe().failed_state, "c");
  w.retry();
  // The data with which the instance had entered the state.
  EXPECT_EQ(w.data()["error"]["code"], "busy");
}
TEST(ControlModel, HoldsOnlyTimeoutsOfWaitsForEventsWhileTheBrokerIsUnreachable) {
  Definition d = workflow({wait("a", 10 * s)});
  World w(d);
  w.broker_away(), w.to(20 * s);
  EXPECT_FALSE(w.ended());
  w.broker_back();
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  World x(workflow({action("a", {}, {limit("maxRuntime", 10 * s, true)})}));
  x.take(), x.broker_away(), x.to(10 * s);
  EXPECT_EQ(x.code(), "millrace.timeout.startToClose");
}
TEST(ControlModel, ReportsThatTheOrderOfTwoEqualDeadlinesIsUndecided) {
  State a = action("a", {}, {limit("maxRuntime", 10 * s, true)});
  a.timeout = 10 * s;
  Model m;
  m.begin(workflow({a}), "", Json::object());
  m.take(m.tasks()[0].handle);
  m.advance_to(10 * s);
  EXPECT_NE(m.undecided(), "");
}

}  // namespace
}  // namespace millrace::reference
