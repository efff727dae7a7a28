// Tests of the random cases: a second model takes the place of the engine, with and without faults.
#include <gtest/gtest.h>

#include "tests/model/cases_of_model.h"
#include "tests/model/random_case.h"

namespace millrace::reference {
namespace {

TEST(RandomCases, AreTheSameForTheSameSeed) {
  for (uint64_t seed = 1; seed <= 50; seed++)
    EXPECT_EQ(describe(make_case(seed)), describe(make_case(seed)));
}

TEST(RandomCases, ShowNoDifferenceWithoutAFault) { expect_no_difference(make_case, 1500, 60); }

TEST(RandomCases, AreShrunkBeforeTheyAreReported) {
  const Explored good = explore([](const Case& c) { return play_model(c, {}, 1); }, {.count = 50});
  EXPECT_EQ(good.differing, 0);
  EXPECT_EQ(good.cases, 50);
  const auto play_bad = [](const Case& c) {
    return play_model(c, {Fault::kRetryKeepsAttempts}, 1);
  };
  const Explored bad = explore(play_bad, {.count = 50});
  ASSERT_EQ(bad.reports.size(), 1u);
  const std::string& text = bad.reports[0];
  EXPECT_NE(text.find("states:"), std::string::npos);
  EXPECT_NE(text.find("tasks: the model says"), std::string::npos) << text;
  EXPECT_NE(text.find("  0 ms: start"), std::string::npos) << text;
}

class PlantedFault : public testing::TestWithParam<int> {};

TEST_P(PlantedFault, IsFoundAndShrunk) {
  const std::optional<Case> c = find_and_shrink(make_case, static_cast<Fault>(GetParam()));
  ASSERT_TRUE(c) << "not found in 4000 cases";
  EXPECT_LE(c->steps.size(), 10u) << describe(*c);
  EXPECT_LE(c->definition.states.size(), 3u) << describe(*c);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault,
                         testing::Range(0, static_cast<int>(Fault::kResumeMovesUntil)));

// Commands, errors and ends that the random cases do not reach are not tested.
TEST(RandomCases, ReachEachCommandEachErrorAndEachEnd) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 1500; seed++) {
    const Case c = make_case(seed);
    Model model;
    Player player(c, model, nullptr);
    bool ended = false;
    for (const Step& step : c.steps) {
      if (!player.step(step)) break;
      const Observation o = model.observe();
      if (model.ended() && !ended) {
        seen["ends " + o.status.value_or("?")]++;
        seen["code " + o.error_code.value_or("?")]++;
        if (model.paused()) seen["ends while paused"]++;
        if (o.failed_state.value_or("") == "clean") seen["clean-up fails"]++;
      }
      if (o.data && o.data->contains("error")) seen["caught"]++;
      if (o.data && o.data->value("seen", Json::array()).size() > 5) seen["loops"]++;
      if (o.state == "rescue") seen["on_failure"]++;
      ended = model.ended();
    }
    for (std::string line : player.played().trace) {
      line = line.substr(line.find(": ") + 2);
      for (const char* what : {"retry → refused", "retry --extend", "restart", "rerun",
                               "cancel → refused", "pause the workflow", "the process starts",
                               "the broker is back", "answer again or late", "heartbeat"})
        if (line.rfind(what, 0) == 0) seen[what]++;
      if (line == "retry") seen["retry"]++;
      if (line == "resume") seen["resume"]++;
    }
    if (model.observe().run.value_or(1) > 1) seen["runs"]++;
  }
  for (const auto& [what, count] : seen) RecordProperty("reached " + what, count);
  for (const char* what : {"retry",
                           "resume",
                           "retry → refused",
                           "retry --extend",
                           "restart",
                           "rerun",
                           "cancel → refused",
                           "pause the workflow",
                           "the process starts",
                           "the broker is back",
                           "answer again or late",
                           "heartbeat",
                           "runs",
                           "ends complete",
                           "ends failed",
                           "ends timedout",
                           "ends cancelled",
                           "code millrace.timeout.execution",
                           "code millrace.timeout.run",
                           "code millrace.timeout.scheduleToClose",
                           "code millrace.timeout.scheduleToStart",
                           "code millrace.timeout.startToClose",
                           "code millrace.timeout.heartbeat",
                           "code direktiv.stateTimeout",
                           "code direktiv.cancels.timeout",
                           "code direktiv.retries.exceeded",
                           "ends while paused",
                           "clean-up fails",
                           "caught",
                           "loops",
                           "on_failure"})
    EXPECT_GE(seen[what], 8) << what;
}

TEST(Player, ComparesDataButIgnoresFieldsThatTheModelLeavesOpen) {
  EXPECT_TRUE(matches({{"error", {{"code", "x"}}}}, {{"error", {{"code", "x"}, {"msg", "y"}}}}));
  EXPECT_FALSE(matches({{"error", {{"code", "x"}}}}, {{"error", {{"code", "z"}}}}));
  EXPECT_FALSE(matches(Json::object(), {{"error", {{"code", "x"}}}}));
  EXPECT_FALSE(matches({{"seen", {"a"}}}, {{"seen", {"a", "b"}}}));
  Observation model, subject;
  model.status = "running|waiting";
  model.next_retry_at = Interval{750, 1000};
  subject.status = "waiting";
  subject.next_retry_at = Interval{749, 749};
  EXPECT_NE(difference(model, subject), "");
  subject.next_retry_at = Interval{750, 750};
  EXPECT_EQ(difference(model, subject), "");
  subject.status = "wait";
  EXPECT_NE(difference(model, subject), "");
}

TEST(CaseYaml, WritesRetryPoliciesInEachVocabulary) {
  Case c;
  c.definition.functions = {{"f", {}, {}}};
  State a;
  a.id = "a", a.kind = Kind::kAction;
  const auto line = [&](Retry r) {
    a.actions = {{"f", r, {}}};
    c.definition.states = {a};
    const std::string y = to_yaml(c);
    const auto from = y.find("    retr");
    return y.substr(from + 4, y.find('\n', from) - from - 4);
  };
  Retry r(Vocabulary::kDirektiv);
  r.attempts = 2, r.delay = 1500, r.factor = 2, r.codes = {"*"};
  EXPECT_EQ(line(r), "retries: {max_attempts: 2, delay: 1500ms, multiplier: 2, codes: [\"*\"]}");
  r = Retry(Vocabulary::kSteep);
  r.attempts = 3;
  EXPECT_EQ(line(r), "retries: {maxAttempts: 3, vocabulary: steep}");
  r.factor = 1.5;
  EXPECT_EQ(line(r), "retries: {maxAttempts: 3, exponentialBackoff: 1.5}");
  r = Retry(Vocabulary::kTemporal);
  EXPECT_EQ(line(r), "retries: {vocabulary: temporal}");
  r.attempts = 0, r.max_delay = 3000;
  EXPECT_EQ(line(r), "retries: {maximumAttempts: 0, maximumInterval: 3000ms}");
  r = Retry(Vocabulary::kStevora);
  r.delay = 2000;
  EXPECT_EQ(line(r), "retries: {backoffMs: 2000}");
  r = Retry(Vocabulary::kZart);
  r.attempts = 3, r.delay = 1000;
  EXPECT_EQ(line(r), "retry: fixed(3, 1000ms)");
}

}  // namespace
}  // namespace millrace::reference
