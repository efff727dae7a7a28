// The tables, formulas and examples of Direktiv's manual, calculated by hand.
#include "tests/model/model_world.h"

namespace millrace::reference {
namespace {

TEST(Direktiv, CountsMaxAttemptsAsRetries) {
  World w(workflow({action("a", direktiv(2, 3 * s, {"*"}, 2))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 3 * s, 9 * s}));
  EXPECT_EQ(w.code(), "direktiv.retries.exceeded");
}
TEST(Direktiv, RaisesAnErrorForExceededRetriesThatACatchCanMatch) {
  World w(workflow(
      {caught(action("a", direktiv(1, 0)), {"direktiv.retries.*"}, "c"), delay("c", 1 * s)}));
  w.fail(), w.fail();
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "direktiv.retries.exceeded");
}
TEST(Direktiv, RetriesOnlyAFailureThatNoCatchMatches) {
  World w(workflow({caught(action("a", direktiv(3, 0)), {"busy"}, "c"), delay("c", 1 * s)}));
  w.fail("gone");
  EXPECT_EQ(w.calls(), 2);
  w.fail("busy");
  EXPECT_EQ(w.at(), "c");
}
TEST(Direktiv, RetriesIfAPatternOfCodesMatchesAPartOfTheErrorCode) {
  World w(workflow({action("a", direktiv(3, 0, {"us"}))}));
  w.fail("busy");
  EXPECT_EQ(w.calls(), 2);
  w.fail("gone");
  EXPECT_EQ(w.code(), "gone");
}
TEST(Direktiv, CatchesByTheFirstGlobThatMatchesTheErrorCode) {
  State a = action("a");
  a.catches = {{"bus", "x"}, {"b*", "y"}, {"*", "x"}};
  World w(workflow({a, delay("x", 1 * s), delay("y", 1 * s)}));
  w.fail("busy");
  EXPECT_EQ(w.at(), "y");
  EXPECT_EQ(w.seen(), Json::array());  // the transform of the state is not applied
  EXPECT_TRUE(glob_matches("b?sy", "busy"));
  EXPECT_FALSE(glob_matches("busy", "busybody"));
  EXPECT_TRUE(glob_matches("millrace.timeout.*", "millrace.timeout.run"));
}
TEST(Direktiv, BoundsRetriesByTheStateTimeout) {
  State a = caught(action("a", steep(-1, 4 * s)), {"direktiv.stateTimeout"}, "c");
  a.timeout = 10 * s;
  World w(workflow({a, delay("c", 1 * s)}));
  w.fail(), w.to(4 * s), w.fail(), w.to(8 * s), w.fail();
  w.to(10 * s);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.calls(), 3);
}
TEST(Direktiv, DoesNotRetryAnActionAfterTheTimeoutOfItsState) {
  State a = action("a", steep(5, 0));
  a.timeout = 10 * s;
  World w(workflow({a}));
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  Definition d = workflow({a});
  d.retry = steep(2, 0);
  World runs(d);  // the run has failed and another follows
  runs.take(), runs.to(10 * s);
  EXPECT_EQ(*runs.observe().run, 2);
  runs.take(), runs.to(20 * s);
  EXPECT_EQ(runs.code(), "direktiv.stateTimeout");
}
TEST(Direktiv, RetriesAWaitForAnEventWithItsFullTimeout) {
  World w(workflow({wait("a", 10 * s, direktiv(1, 5 * s, {"stateTimeout"}))}));
  w.to(10 * s);
  EXPECT_EQ(w.retry_at(), 15 * s);
  w.to(24 * s), w.event();
  EXPECT_EQ(w.status(), "complete");
  World u(workflow({wait("a", 10 * s, direktiv(1, 5 * s, {"stateTimeout"}))}));
  u.to(25 * s);
  EXPECT_EQ(u.code(), "direktiv.retries.exceeded");
}
TEST(Direktiv, RejectsAnEventAtTheDeadline) {
  World w(workflow({wait("a", 10 * s)}));
  w.to(10 * s), w.event();
  EXPECT_EQ(w.status(), "failed");
}
TEST(Direktiv, LetsTheTimeoutInterruptBeCaughtOnceAndTheTimeoutKillNever) {
  Definition d =
      workflow({caught(action("a"), {"direktiv.cancels.*"}, "c"), caught(action("c"), {"*"}, "a")});
  d.interrupt = 10 * s;
  d.kill = 30 * s;
  World w(d);
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "direktiv.cancels.timeout");
  w.take(), w.to(30 * s - 1);
  EXPECT_EQ(w.at(), "c");
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(Direktiv, FailsWithoutARetryOnAnUncaughtTimeoutInterrupt) {
  Definition d = workflow({action("a", steep(5, 0))});
  d.interrupt = 10 * s;
  d.retry = steep(5, 0);
  World w(d);
  w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.cancels.timeout");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Direktiv, CountsTheTimeoutInterruptFromTheStartOfTheRun) {
  Definition d = workflow({action("a")});
  d.interrupt = 10 * s;
  d.retry = steep(2, 5 * s);
  World w(d);
  w.to(6 * s), w.fail();
  w.to(11 * s);  // run 2
  w.to(21 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(21 * s);
  EXPECT_EQ(w.code(), "direktiv.cancels.timeout");
}
TEST(Direktiv, ContinuesAfterAnErrorStateAndFailsAtTheEnd) {
  State e = state("e", Kind::kError, "undo");
  e.error_code = "x.failed";
  World w(workflow({caught(action("a"), {"*"}, "e"), e, action("undo")}));
  w.fail();
  EXPECT_EQ(w.at(), "undo");
  EXPECT_EQ(w.seen(), (Json{"e"}));
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "x.failed");
  EXPECT_EQ(*w.observe().failed_state, "a");  // a `catch` matched the error of state a
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  EXPECT_EQ(w.at(), "a");
  EXPECT_EQ(w.seen(), Json::array());
}
TEST(Direktiv, KeepsTheErrorOfAnErrorStateIfALaterStateFails) {
  State e = state("e", Kind::kError, "undo");
  e.error_code = "x.failed";
  World w(workflow({caught(action("a"), {"*"}, "e"), e, action("undo")}));
  w.fail(), w.fail("gone");
  EXPECT_EQ(w.code(), "x.failed");
  EXPECT_EQ(*w.observe().failed_state, "a");
  World entered(workflow({action("a", {}, {}, "e"), e, action("undo")}));
  entered.ok(), entered.fail("gone");
  EXPECT_EQ(entered.code(), "x.failed");
  EXPECT_EQ(*entered.observe().failed_state, "e");  // no catch led to the error state
}
TEST(Direktiv, WaitsForAllActionsOfAParallelStateOfModeAnd) {
  World w(workflow({parallel("a", false, {call(), call()})}));
  w.ok({{"k", 2}}, 1);
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 1}}, 0);
  EXPECT_EQ(w.data()["return"], (Json{{{"k", 1}}, {{"k", 2}}}));
  World f(workflow({parallel("a", false, {call(), call()})}));
  f.fail("busy", 1);
  EXPECT_EQ(f.code(), "busy");
}
TEST(Direktiv, EndsAParallelStateWithTheFirstResultInModeOr) {
  World w(workflow({parallel("a", true, {call(), call()})}));
  w.fail("busy", 0);
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 2}});
  EXPECT_EQ(w.data()["return"], (Json{nullptr, {{"k", 2}}}));
  World f(workflow({parallel("a", true, {call(), call()})}));
  f.fail(), f.fail();
  EXPECT_EQ(f.code(), "direktiv.parallel.allFailed");
}
TEST(Direktiv, CountsTheAttemptsForEachItemOfAForeachSeparately) {
  State a = state("a", Kind::kForeach);
  a.actions = {call()};
  a.retry = steep(2, 1 * s);
  World w(workflow({a}));
  EXPECT_EQ(w.tasks().size(), 2u);
  EXPECT_EQ(w.tasks()[1].input, 2);
  w.fail("busy", 0), w.fail("busy", 0);  // attempts are counted for each item
  w.to(1 * s);
  w.ok(10, 0), w.ok(20, 0);
  EXPECT_EQ(w.data()["return"], (Json{10, 20}));
}

}  // namespace
}  // namespace millrace::reference
