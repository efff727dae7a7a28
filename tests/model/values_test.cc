// The reference model of evaluated times, `until`, `$instance` and continueAsNew: examples, and
// random cases in which a second model takes the place of the engine, with and without faults.
#include <map>
#include <set>

#include "tests/model/case_yaml.h"
#include "tests/model/cases_of_model.h"
#include "tests/model/model_world.h"
#include "tests/model/random_case.h"
#include "tests/model/written_time.h"

namespace millrace::reference {
namespace {

State written(State x, Writing writing, const char* path = "") {
  x.writing = writing, x.written_path = path;
  return x;
}
double seconds(Ms at) { return static_cast<double>(kStartOfCases + at) / 1000; }

TEST(WrittenTimes, AreReadAsADefinitionWritesThem) {
  const struct {
    Writing writing;
    const char* path;
    Json data;
    std::optional<Ms> span, until;
  } rows[] = {
      {Writing::kConstant, "", {}, 5357, {}},
      {Writing::kOfData, ".go.wait", {{"go", {{"wait", "700ms"}}}}, 700, {}},
      {Writing::kOfData, ".go.wait", {{"go", nullptr}}, 5357, {}},
      {Writing::kOfData, ".go.wait", {{"go", {{"wait", false}}}}, 5357, {}},
      {Writing::kOfData, ".go.wait", {{"go", {{"wait", "0ms"}}}}, {}, {}},
      {Writing::kOfData, ".go.wait", {{"go", {{"wait", 700}}}}, {}, {}},
      {Writing::kOfData, ".go.wait", {{"go", {{"wait", "soon"}}}}, {}, {}},
      {Writing::kOfAttempt, "", {}, 2357, {}},
      {Writing::kOfRun, "", {}, 3357, {}},
      {Writing::kUntil, "", {}, {}, 5357},
      {Writing::kUntil, ".go.at", {{"go", {{"at", seconds(-250)}}}}, {}, -250},
      {Writing::kUntil, ".go.at", {{"go", {{"at", seconds(60'001)}}}}, {}, 60'001},
      {Writing::kUntil, ".go.at", {{"go", {{"at", "PT1H"}}}}, {}, {}},
  };
  for (const auto& row : rows) {
    const auto time = read_time(written(wait("a"), row.writing, row.path), 5357, row.data, 2, 3);
    ASSERT_EQ(time.has_value(), row.span || row.until) << row.data;
    if (!time) continue;
    EXPECT_EQ(time->span, row.span) << row.data;
    EXPECT_EQ(time->until, row.until) << row.data;
  }
}

TEST(WrittenTimes, HaveTheTextThatALoaderReads) {
  const auto line = [](Writing writing, const char* path, Ms time) {
    return time_line(written(wait("a"), writing, path), "timeout", time);
  };
  EXPECT_EQ(line(Writing::kConstant, "", 5357), "  timeout: 5357ms\n");
  EXPECT_EQ(line(Writing::kOfData, ".go.wait", 5357), "  timeout: 'jq(.go.wait // \"5357ms\")'\n");
  EXPECT_EQ(line(Writing::kOfAttempt, "", 5007), "  timeout: 'jq($instance.attempt)007ms'\n");
  EXPECT_EQ(line(Writing::kOfRun, "", 5357), "  timeout: 'jq($instance.run)357ms'\n");
  EXPECT_EQ(line(Writing::kUntil, "", 5007), "  until: 1630497605.007\n");
  EXPECT_EQ(line(Writing::kUntil, ".go.at", 5007), "  until: 'jq(.go.at // 1630497605.007)'\n");
  Retry retry = steep(2, 500);
  EXPECT_EQ(delay_text(retry), "500ms");
  retry.delay_path = ".error.msg";
  EXPECT_EQ(delay_text(retry), "'jq(.error.msg // \"500ms\")'");
}

TEST(ModelOfValues, KeepsAnUntilButNotATimeoutOverAPause) {
  for (const bool is_until : {true, false}) {
    World w(workflow({written(wait("a", 10 * s), is_until ? Writing::kUntil : Writing::kOfData,
                              is_until ? "" : ".go.wait")}));
    w.to(4 * s), w.command(Verb::kPause);
    w.to(6 * s), w.command(Verb::kResume);
    w.to(10 * s);
    EXPECT_EQ(w.status(), is_until ? "failed" : "waiting");
    w.to(16 * s);
    EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  }
}

TEST(ModelOfValues, CountsTheAttemptsOfAWait) {
  World w(workflow({written(wait("a", 500, steep(3, 1 * s)), Writing::kOfAttempt)}));
  w.to(1500);
  EXPECT_EQ(w.retry_at(), 2500);
  w.to(2500 + 2499);
  EXPECT_EQ(w.status(), "waiting");
  w.to(2500 + 2500);
  EXPECT_EQ(w.retry_at(), 6000);
}

TEST(ModelOfValues, LetsAWaitWhoseUntilIsPastTakeAnEventThatIsThere) {
  for (const bool has_event : {true, false}) {
    World w(workflow({action("a", {}, {}, "b"), written(wait("b", 1 * s), Writing::kUntil)}));
    w.to(5 * s), w.take();
    if (has_event) w.event({{"e", 1}});
    w.ok();
    EXPECT_EQ(w.status(), has_event ? "complete" : "waiting");
    w.to(5 * s + 1);
    EXPECT_EQ(w.status(), has_event ? "complete" : "failed");
  }
}

TEST(ModelOfValues, ReadsTheDelayOfARetryFromTheErrorAndRaisesWhatIsNotADuration) {
  Retry retry = steep(3, 500);
  retry.delay_path = ".error.msg";
  World w(workflow({action("a", retry)}));
  w.take();
  w.answer(w.tasks()[0].handle, {false, {}, "busy", "1500ms"});
  EXPECT_EQ(w.retry_at(), 1500);
  w.to(1500), w.take();
  w.answer(w.tasks()[0].handle, {false, {}, "busy", "it is busy"});
  EXPECT_EQ(w.code(), "millrace.duration.invalid");
}

TEST(ModelOfValues, BeginsTheNextRunWithTheDataAsItsInput) {
  Definition d = workflow({action("a", {}, {}, "b"), wait("b", {}, {}, kNextRun)});
  d.interrupt = 10 * s, d.execution = 25 * s;
  World w(d);
  w.to(4 * s), w.ok({{"k", 7}});
  w.to(8 * s), w.event();
  EXPECT_EQ(w.observe().run, 2);
  EXPECT_EQ(w.at(), "a");
  EXPECT_EQ(w.data()["return"], (Json{{"k", 7}}));
  EXPECT_EQ(w.seen(), (Json{"a", "b"}));
  w.to(17 * s);
  EXPECT_FALSE(w.ended()) << "the interrupt counts from the begin of the run";
  w.to(18 * s);
  EXPECT_EQ(w.code(), "direktiv.cancels.timeout");
  EXPECT_EQ(w.command(Verb::kRerun, "b"), Reply::kConflict) << "its history has gone";
  EXPECT_EQ(w.command(Verb::kRestart), Reply::kAccepted);
  EXPECT_EQ(w.observe().run, 3);
  EXPECT_EQ(w.seen(), (Json{"a", "b"}));
}

TEST(ModelOfValues, EndsAnInstanceThatHasAnErrorInThePlaceOfTheNextRun) {
  State fails = state("e", Kind::kError, kNextRun);
  fails.error_code = "order.failed";
  World w(workflow({delay("a", 1 * s, "e"), fails}));
  w.to(1 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "order.failed");
}

TEST(RandomCasesOfValues, ShowNoDifferenceWithoutAFault) {
  expect_no_difference(make_case_of_values, 500, 20);
}

TEST(RandomCasesOfValues, ReachEvaluatedTimesAndNextRuns) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 500; seed++) {
    const Case c = make_case_of_values(seed);
    const Played p = play_model(c, {}, seed);
    for (const auto& [what, times] : p.counts) seen[what] += times;
  }
  EXPECT_GE(seen["evaluated time"], 50);
  EXPECT_GE(seen["a time that is not possible"], 10) << "few values of a service are";
  EXPECT_GE(seen["next run by continueAsNew"], 50);
}

class PlantedFaultOfValues : public testing::TestWithParam<int> {};

TEST_P(PlantedFaultOfValues, IsFoundAndShrunk) {
  const std::optional<Case> c =
      find_and_shrink(make_case_of_values, static_cast<Fault>(GetParam()));
  ASSERT_TRUE(c) << "not found in 4000 cases";
  EXPECT_LE(c->steps.size(), 10u) << describe(*c);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultOfValues,
                         testing::Range(static_cast<int>(Fault::kResumeMovesUntil),
                                        static_cast<int>(Fault::kUndoesOldestFirst)));

}  // namespace
}  // namespace millrace::reference
