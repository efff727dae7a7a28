// The reference model of compensations: the rules of docs/language.md as examples, and random cases
// in which a second model takes the place of the engine, with and without faults.
#include <map>
#include <set>

#include "tests/model/case_yaml.h"
#include "tests/model/cases_of_model.h"
#include "tests/model/model_world.h"
#include "tests/model/random_case.h"

namespace millrace::reference {
namespace {

State undone_by(State x, std::optional<Retry> retry = {}, std::vector<Timeout> timeouts = {}) {
  x.undo = call(std::move(retry), std::move(timeouts));
  return x;
}

// Three actions, of which the first two are undone if the instance does not complete.
Definition order(std::optional<Retry> retry = {}) {
  Definition d = workflow({undone_by(action("a", {}, {}, "b"), retry),
                           undone_by(action("b", {}, {}, "c"), retry), action("c")});
  d.compensates = true;
  return d;
}

// Ends the first two actions.
void do_two(World& w) {
  w.ok({{"k", 1}});
  w.ok({{"k", 2}});
}

std::string undoes(World& w) {
  const auto tasks = w.tasks();
  return tasks.size() == 1 ? tasks[0].state : "?";
}

TEST(CaseYaml, WritesCompensations) {
  Case c;
  c.definition = order(steep(2, 500));
  State stop = state("stop", Kind::kError);
  stop.error_code = "order.failed", stop.compensates = true;
  c.definition.states.push_back(stop);
  c.definition.timeout = 9 * s;
  c.definition.on_failure = "c", c.definition.on_failure_compensates = true;
  const std::string y = to_yaml(c);
  for (const char* const line :
       {"\ncompensate: true\n", "\non_failure: {state: c, compensate: true}\n",
        "  compensate:\n    function: f\n    retries: {maxAttempts: 2, delay: 500ms, "
        "vocabulary: steep}\n",
        "  message: made to fail\n  compensate: true\n"})
    EXPECT_NE(y.find(line), std::string::npos) << line << y;
}

TEST(ModelOfUndoing, MakesTheNewestFirstAndThenEndsAsItsCause) {
  World w(order());
  do_two(w);
  w.fail("cause");
  EXPECT_EQ(w.status(), "running");
  EXPECT_EQ(w.observe().notes, 2);
  EXPECT_EQ(undoes(w), "b");
  EXPECT_EQ(w.tasks()[0].input["return"], (Json{{"k", 2}})) << "the data before the transform";
  EXPECT_EQ(w.tasks()[0].input["seen"], Json::array({"a"}));
  w.ok();
  EXPECT_EQ(undoes(w), "a");
  EXPECT_EQ(w.tasks()[0].input["seen"], Json::array());
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "cause");
  EXPECT_EQ(w.observe().failed_state, "c");
  EXPECT_EQ(w.seen(), (Json{"a", "b"})) << "a compensation does not change the data";
  EXPECT_EQ(w.observe().notes, 0);
}

TEST(ModelOfUndoing, DropsTheNotesOfAnInstanceThatCompletes) {
  World w(order());
  do_two(w);
  w.ok();
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.observe().notes, 0);
}

TEST(ModelOfUndoing, StopsAtOneThatFailsForGood) {
  World w(order(steep(2, 500)));
  do_two(w);
  w.fail("cause");
  w.fail();
  EXPECT_EQ(w.status(), "running") << "it waits for the next attempt";
  EXPECT_EQ(w.retry_at(), 500);
  w.to(500), w.fail("gone");
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "cause");
  EXPECT_EQ(w.observe().notes, 2);
  EXPECT_EQ(w.observe().undo_failed, true);
  EXPECT_EQ(w.command(Verb::kCompensate), Reply::kAccepted);
  EXPECT_EQ(undoes(w), "b");
  EXPECT_EQ(w.command(Verb::kCompensate), Reply::kConflict) << "the instance is active";
  EXPECT_EQ(w.command(Verb::kCancel), Reply::kAccepted);
  EXPECT_EQ(w.status(), "failed") << "it is again what it was";
  EXPECT_EQ(w.observe().undo_failed, true) << "the cancel has stopped it, so it can be passed over";
  w.command(Verb::kCompensate), w.fail(), w.to(1000), w.fail();
  EXPECT_EQ(w.command(Verb::kCompensatePast), Reply::kAccepted);
  EXPECT_EQ(undoes(w), "a");
  w.ok();
  EXPECT_EQ(w.command(Verb::kCompensate), Reply::kConflict) << "none is left";
}

TEST(ModelOfUndoing, KeepsTheNotesOverARetryAndDropsThemAtARestart) {
  Definition d = order();
  d.compensates = false;
  World w(d);
  do_two(w);
  w.fail();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.observe().notes, 2) << "nothing asks for them";
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  EXPECT_EQ(w.observe().notes, 2);
  w.fail();
  w.command(Verb::kRestart);
  EXPECT_EQ(w.observe().notes, 0);
}

TEST(ModelOfUndoing, IsNotBoundedByTheDeadlinesOfTheInstance) {
  Definition d = order();
  d.kill = 10 * s;
  World w(d);
  do_two(w);
  w.to(10 * s);
  EXPECT_EQ(w.status(), "running");
  w.to(100 * s);
  EXPECT_EQ(undoes(w), "b");
  w.ok(), w.ok();
  EXPECT_EQ(w.status(), "timedout");
}

TEST(ModelOfUndoing, WaitsForTheResumeIfADeadlinePassesInAPause) {
  Definition d = order();
  d.kill = 10 * s;
  World w(d);
  do_two(w);
  w.command(Verb::kPause), w.to(10 * s);
  EXPECT_EQ(w.status(), "paused");
  EXPECT_FALSE(w.open());
  w.command(Verb::kResume);
  EXPECT_EQ(undoes(w), "b");
}

TEST(ModelOfUndoing, BeginsAfterTheTaskOfACancelledInstance) {
  World w(order());
  do_two(w);
  w.take();
  w.command(Verb::kCancel);
  EXPECT_EQ(w.status(), "running|waiting|pending");
  Model& model = w;
  model.answer("3", {true, {{"k", 3}}, "", ""});  // the third task
  EXPECT_EQ(undoes(w), "b") << "the state that was cancelled is not undone";
  w.command(Verb::kCancel);
  EXPECT_EQ(w.status(), "cancelled");
  EXPECT_EQ(w.observe().notes, 2);
}

TEST(ModelOfUndoing, UndoesEachFinishedCallTheLastOneToEndFirst) {
  State each = undone_by(action("a"));
  each.kind = Kind::kForeach;
  Definition d = workflow({each});
  d.compensates = true;
  World w(d);
  w.ok({{"k", 2}}, 1);
  EXPECT_EQ(w.observe().notes, 1);
  w.fail();
  EXPECT_EQ(w.tasks()[0].input, (Json{{"return", {{"k", 2}}}}));
  w.ok();
  EXPECT_EQ(w.status(), "failed");
}

TEST(ModelOfUndoing, FollowsAnErrorStateOnlyIfItAsks) {
  for (const bool asks : {true, false}) {
    State stop = state("stop", Kind::kError);
    stop.error_code = "order.failed", stop.compensates = asks;
    World w(
        workflow({undone_by(action("a", {}, {}, "b")), caught(action("b"), {"*"}, "stop"), stop}));
    w.ok(), w.fail();
    EXPECT_EQ(w.status(), asks ? "running" : "failed");
    if (asks) w.ok();
    EXPECT_EQ(w.code(), "order.failed");
    EXPECT_EQ(w.observe().notes, asks ? 0 : 1);
  }
}

TEST(ModelOfUndoing, FollowsTheCleanUpOfOnFailure) {
  Definition d = workflow({undone_by(action("a", {}, {}, "b")), action("b"), action("clean")});
  d.timeout = 10 * s;
  d.on_failure = "clean", d.on_failure_compensates = true;
  World w(d);
  w.ok();
  w.to(10 * s);
  EXPECT_EQ(undoes(w), "clean");
  w.ok();
  EXPECT_EQ(undoes(w), "a");
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "millrace.timeout.execution");
}

TEST(RandomCasesOfCompensations, ShowNoDifferenceWithoutAFault) {
  expect_no_difference(make_case_of_compensations, 500, 20);
}

TEST(RandomCasesOfCompensations, ReachEachEffect) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    const Case c = make_case_of_compensations(seed);
    const Played p = play_model(c, {}, seed);
    for (const auto& [what, times] : p.counts) seen[what] += times;
  }
  for (const char* const what :
       {"compensation noted", "compensation made", "compensation failed for good",
        "compensations before the end failed", "compensations before the end cancelled",
        "compensations before the end timedout", "a cancel stops the compensations", "compensate"})
    EXPECT_GE(seen[what], 5) << what;
  EXPECT_GE(seen["compensate --past"], 3);
}

class PlantedFaultOfCompensations : public testing::TestWithParam<int> {};

TEST_P(PlantedFaultOfCompensations, IsFoundAndShrunk) {
  const std::optional<Case> c =
      find_and_shrink(make_case_of_compensations, static_cast<Fault>(GetParam()));
  ASSERT_TRUE(c) << "not found in 4000 cases";
  EXPECT_LE(c->steps.size(), 12u) << describe(*c);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultOfCompensations,
                         testing::Range(static_cast<int>(Fault::kUndoesOldestFirst),
                                        static_cast<int>(Fault::kStaleKeyCounts)));

}  // namespace
}  // namespace millrace::reference
