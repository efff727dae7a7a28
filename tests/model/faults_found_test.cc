// Shrunk cases in which the engine once had a fault. Each case is played on the model and on the
// engine, which must agree to the end. Each test also has the expected result.
#include <gtest/gtest.h>

#include "tests/model/engine_subject.h"

namespace millrace::reference {
namespace {

using StepKind = Step::Kind;

State action(const char* id, std::vector<Timeout> timeouts = {}, std::optional<Retry> retry = {}) {
  State state;
  state.id = id, state.kind = Kind::kAction;
  state.actions = {{.function = "f", .retry = std::move(retry), .timeouts = std::move(timeouts)}};
  return state;
}

Retry steep(int attempts, Ms delay) {
  Retry retry(Vocabulary::kSteep);
  retry.attempts = attempts, retry.delay = delay;
  return retry;
}

Step pass(Ms time) { return {.kind = StepKind::kAdvance, .ms = time}; }
Step take() { return {.kind = StepKind::kTake}; }
Step kill() { return {.kind = StepKind::kKill}; }
Step start_process() { return {.kind = StepKind::kStartProcess}; }
Step command(Verb verb, int pick = 0) {
  return {.kind = StepKind::kCommand, .pick = pick, .verb = verb};
}
Step answer(Json result) {
  return {.kind = StepKind::kAnswer, .outcome = {.ok = true, .result = std::move(result)}};
}
Step fail() { return {.kind = StepKind::kAnswer, .outcome = {.ok = false, .code = "busy"}}; }

Case a_case(std::vector<State> states, std::vector<Step> steps) {
  Case c;
  c.definition.functions = {{.id = "f", .retry = {}, .timeouts = {}}};
  c.definition.states = std::move(states);
  c.input = {{"seen", Json::array()}, {"items", {1, 2}}};
  c.steps = std::move(steps);
  return c;
}

/// Plays the case, and returns the observation of the engine at its end.
Observation play_to_the_end(const Case& c) {
  const Played played = play_on_engine(c);
  EXPECT_FALSE(played.differs()) << report(c, played, EngineSubject::rendering());
  EXPECT_EQ(played.undecided, "");
  return played.subject;
}

TEST(EngineAndModel, AgreeOnACallThatExpiresWhileTheProcessIsDead) {  // seed 8
  const std::vector<Timeout> deadline = {
      {.key = "deadline", .time = 8000, .error_on_timeout = true}};
  const Case c = a_case({action("a", deadline)}, {kill(), pass(8000), start_process()});
  EXPECT_EQ(play_to_the_end(c).error_code, "millrace.timeout.scheduleToClose");
}

TEST(EngineAndModel, AgreeOnTheRetryCommandAfterTheStateOfOnFailure) {  // seed 18
  State rescue;
  rescue.id = "rescue", rescue.kind = Kind::kDelay, rescue.duration = 14000;
  Case c = a_case({action("a"), rescue}, {pass(20000), command(Verb::kRetryExtend)});
  c.definition.timeout = 1000;
  c.definition.on_failure = "rescue";
  EXPECT_EQ(play_to_the_end(c).state, "a");
}

TEST(EngineAndModel, AgreeOnTheRetryCommandAfterAStateOfTypeError) {
  State a = action("a");
  a.catches = {{.pattern = "*", .to = "e"}};
  State e;
  e.id = "e", e.kind = Kind::kError, e.error_code = "order.failed", e.to = "undo";
  const Case c =
      a_case({a, e, action("undo")}, {take(), fail(), take(), answer(1), command(Verb::kRetry)});
  EXPECT_EQ(play_to_the_end(c).state, "a");
}

TEST(EngineAndModel, AgreeOnTheDataAfterTheRetryCommandInALoop) {  // seed 2127
  State a = action("a");
  a.check = ".return.bad";
  a.to = "more";
  State more;
  more.id = "more", more.kind = Kind::kBranch, more.condition = ".return.again";
  more.branch_to = "a";
  const Case c =
      a_case({a, more}, {take(), answer({{"again", true}, {"bad", true}}), command(Verb::kRetry)});
  const Observation end = play_to_the_end(c);
  EXPECT_EQ(end.status, "failed");  // as on the last entry
  EXPECT_EQ(end.calls, 1);
}

TEST(EngineAndModel, AgreeOnTheRunsAfterTheRestartCommand) {  // seed 302
  const std::vector<Timeout> deadline = {
      {.key = "deadline", .time = 1000, .error_on_timeout = true}};
  Case c = a_case({action("a", deadline)},
                  {pass(1000), pass(2000), pass(1000), command(Verb::kRestart), pass(1000)});
  c.definition.retry = steep(2, 2000);
  const Observation end = play_to_the_end(c);
  EXPECT_EQ(end.status, "waiting");
  EXPECT_EQ(end.next_retry_at, (Interval{7000, 7000}));
}

TEST(EngineAndModel, AgreeOnAnUncaughtTimeoutInterrupt) {  // seed 94
  Case c = a_case({action("a")}, {pass(1000)});
  c.definition.retry = steep(3, 1000);
  c.definition.interrupt = 1000;
  EXPECT_EQ(play_to_the_end(c).error_code, "direktiv.cancels.timeout");
}

TEST(EngineAndModel, AgreeOnTheActionTimeoutInTheRunAfterTheRetryCommand) {  // seed 5
  const std::vector<Timeout> timeout = {{.key = "timeout", .time = 3000}};
  Case c = a_case({action("a", timeout, steep(2, 1000))},
                  {pass(3000), command(Verb::kRetry),           //
                   take(), fail(), pass(1000), take(), fail(),  // both attempts of the retry
                   pass(1000), take(), fail(), pass(1000),      // the next run, from 5 s on
                   pass(2000)});
  Retry runs(Vocabulary::kZart);  // does not retry a timeout, so no run is used before the retry
  runs.attempts = 3, runs.delay = 1000;
  c.definition.retry = runs;
  const Observation end = play_to_the_end(c);
  EXPECT_EQ(end.run, 2);
  EXPECT_EQ(end.error_code, "millrace.timeout.scheduleToClose");
}

TEST(EngineAndModel, AgreeOnAMissedHeartbeatAfterTheCancelCommand) {  // seed 483
  const std::vector<Timeout> silence = {
      {.key = "maxInactivity", .time = 768, .error_on_timeout = true}};
  const Case c = a_case({action("a", silence)}, {take(), command(Verb::kCancel), pass(847)});
  EXPECT_EQ(play_to_the_end(c).status, "cancelled");
}

}  // namespace
}  // namespace millrace::reference
