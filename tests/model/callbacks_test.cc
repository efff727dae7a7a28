// Accepted calls on the model, and random cases of them with planted faults.
#include <gtest/gtest.h>

#include "tests/model/cases_of_model.h"
#include "tests/model/model_world.h"
#include "tests/model/random_case.h"

namespace millrace::reference {
namespace {

Callback complete(Json result = 7) { return {.outcome = {.ok = true, .result = result}}; }
Callback failing(const char* code) { return {.outcome = {.ok = false, .code = code}}; }
Callback beat(std::optional<Json> progress = {}) {
  return {.is_heartbeat = true, .outcome = {}, .progress = std::move(progress)};
}
Callback by_operator(Callback callback) {
  callback.by_operator = true;
  return callback;
}

State listening(Ms heartbeat) {
  return action("a", temporal(2, 4 * s),
                {limit("startToCloseTimeout", h), limit("heartbeatTimeout", heartbeat)});
}

TEST(AcceptedCalls, AreEndedByOneCallbackWhichMayBeRepeated) {
  World w(workflow({action("a")}));
  const std::string task = w.tasks().at(0).handle;
  EXPECT_EQ(w.call_back(task, by_operator(complete())), Reply::kConflict) << "nothing accepted it";
  w.accept(task);
  EXPECT_TRUE(w.tasks().at(0).accepted);
  EXPECT_EQ(w.call_back(task, beat()), Reply::kAccepted);
  EXPECT_EQ(w.call_back(task, complete()), Reply::kAccepted);
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.call_back(task, complete()), Reply::kAccepted);
  EXPECT_EQ(w.call_back(task, by_operator(complete())), Reply::kAccepted);
  EXPECT_EQ(w.call_back(task, complete(8)), Reply::kConflict);
  EXPECT_EQ(w.call_back(task, failing("busy")), Reply::kConflict);
  EXPECT_EQ(w.call_back(task, beat()), Reply::kConflict);
}

TEST(AcceptedCalls, AreAnsweredByAnOperatorToo) {
  World w(workflow({action("a")}));
  const std::string task = w.tasks().at(0).handle;
  w.accept(task);
  EXPECT_EQ(w.call_back(task, by_operator(failing("void"))), Reply::kAccepted);
  EXPECT_EQ(w.code(), "void");
}

TEST(AcceptedCalls, MayBeAnsweredBeforeTheAcceptance) {
  World w(workflow({action("a")}));
  EXPECT_EQ(w.call_back(w.tasks().at(0).handle, complete()), Reply::kAccepted);
  EXPECT_EQ(w.status(), "complete");
}

TEST(AcceptedCalls, CountTheHeartbeatTimeoutFromTheAcceptanceAndEachHeartbeat) {
  World w(workflow({listening(9 * s)}));
  const std::string first = w.tasks().at(0).handle;
  w.to(5 * s);
  w.accept(first);
  w.to(13 * s);
  w.call_back(first, beat());
  w.to(21 * s);
  EXPECT_TRUE(w.open());
  w.to(22 * s);
  EXPECT_FALSE(w.open()) << "it waits for the next attempt";
  EXPECT_EQ(w.call_back(first, complete()), Reply::kConflict);
  w.to(26 * s);
  EXPECT_EQ(w.attempt(), 2);
  EXPECT_FALSE(w.tasks().at(0).accepted);
}

TEST(AcceptedCalls, CountTheTimeOfAnAttemptFromItsBegin) {
  World w(workflow({action("a", temporal(1), {limit("startToCloseTimeout", 10 * s)})}));
  w.take();
  w.to(8 * s);
  w.accept(w.tasks().at(0).handle);
  w.to(10 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.startToClose");
}

TEST(AcceptedCalls, GiveTheirProgressToTheNextAttempt) {
  World w(workflow({listening(9 * s)}));
  const std::string first = w.tasks().at(0).handle;
  w.call_back(first, beat(Json{{"line", 4}}));
  w.call_back(first, beat());
  EXPECT_EQ(w.tasks().at(0).progress, (Json{{"line", 4}}));
  EXPECT_EQ(w.tasks().at(0).last_progress, std::nullopt);
  w.call_back(first, failing("busy"));
  w.to(4 * s);
  EXPECT_EQ(w.tasks().at(0).last_progress, (Json{{"line", 4}}));
}

TEST(AcceptedCalls, OutliveTheProcess) {
  World w(workflow({listening(9 * s)}));
  const std::string task = w.tasks().at(0).handle;
  w.accept(task);
  w.to(8 * s);
  w.kill();
  w.start_process();
  w.to(16 * s);
  EXPECT_EQ(w.calls(), 1);
  EXPECT_EQ(w.call_back(task, complete()), Reply::kAccepted);
  EXPECT_EQ(w.status(), "complete");
}

TEST(RandomCasesOfCallbacks, ShowNoDifferenceWithoutAFault) {
  expect_no_difference(make_case_of_callbacks, 500, 25);
}

TEST(RandomCasesOfCallbacks, ReachEachEffect) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 1; seed <= 1000; seed++) {
    const Played p = play_model(make_case_of_callbacks(seed), {}, seed);
    for (const auto& [what, times] : p.counts) seen[what] += times;
  }
  for (const char* what :
       {"acceptance", "callback complete", "callback fail", "callback heartbeat",
        "callback heartbeat with progress", "callback about a task that is over",
        "repetition of a callback", "an operator's answer to a task that is not accepted",
        "the process dies behind: callback", "the process dies behind: accept"})
    EXPECT_GE(seen[what], 8) << what;
}

class PlantedFaultOfCallbacks : public testing::TestWithParam<int> {};

TEST_P(PlantedFaultOfCallbacks, IsFoundAndShrunk) {
  const std::optional<Case> c =
      find_and_shrink(make_case_of_callbacks, static_cast<Fault>(GetParam()));
  ASSERT_TRUE(c) << "not found in 4000 cases";
  EXPECT_LE(c->steps.size(), 12u) << describe(*c);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFaultOfCallbacks,
                         testing::Range(static_cast<int>(Fault::kStaleKeyCounts),
                                        static_cast<int>(Fault::kLast)));

}  // namespace
}  // namespace millrace::reference
