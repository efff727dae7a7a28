// After a timer: what follows when it fires. The engine, which fires the same timer, is compared
// with the prediction.
#include "orchestrator/engine/after_timer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policies/vocabularies.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using Causes = AfterTimer::Causes;

/// A workflow whose first state waits an hour for an event, with these further lines of it and of
/// that state.
std::string timed_wait(std::string_view lines, std::string_view of_wait = "") {
  return fmt::format(R"(
id: timed
{}
states:
- id: wait
  type: consumeEvent
  event: {{type: paid}}
  timeout: PT1H
  transition: end
{}
- {{id: late, type: consumeEvent, event: {{type: later}}, timeout: PT1H, transition: end}}
- {{id: end, type: noop}}
)",
                     lines, of_wait);
}

std::string with_code(std::string text, std::string_view code) {
  return code.empty() ? text : fmt::format("{} after {}", text, code);
}

/// `state in late after direktiv.stateTimeout`, `end failed after …`
std::string text_of(const AfterTimer& after) {
  std::string text(to_string(after.causes));
  if (after.causes == Causes::kEnd) text += fmt::format(" {}", to_string(after.status));
  if (!after.then.empty()) text += " in " + after.then;
  return with_code(text, after.error);
}

Timer timer_of(const InstanceRun& run, TimerKind kind) {
  const auto& timers = run.instance().timers;
  const auto found = std::find_if(timers.begin(), timers.end(),
                                  [&](const Timer& timer) { return timer.kind == kind; });
  if (found != timers.end()) return *found;
  ADD_FAILURE() << "the instance has no timer " << name_of(kind);
  return {.kind = kind, .deadline = run.now()};
}

void fire_at_its_time(InstanceRun& run, const Timer& timer) {
  run.set_time(std::max(run.now(), timer.deadline));
  run.fire(timer.kind, timer.deadline);
}

void fire_first(InstanceRun& run) {
  const auto timers = run.instance().timers;
  ASSERT_FALSE(timers.empty());
  fire_at_its_time(run, *std::min_element(timers.begin(), timers.end(),
                                          [](const Timer& one, const Timer& other) {
                                            return one.deadline < other.deadline;
                                          }));
}

/// What the timer has caused, in the form of text_of().
std::string text_of(const InstanceRun& run, const Instance& before, size_t records_before) {
  const Instance& now = run.instance();
  std::string code;
  for (size_t i = records_before; i < run.history().size(); ++i) {
    const HistoryRecord& record = run.history()[i];
    if (record.kind == HistoryKind::kRaised) code = record.detail.value().at("code");
  }
  if (has_ended(now.status)) {
    return with_code(fmt::format("end {}", to_string(now.status)),
                     now.error ? now.error->code : code);
  }
  const auto id_of = [&](size_t state) { return run.workflow().states[state]->common().id; };
  if (now.awaits_run || now.run != before.run) {
    return with_code("run in " + id_of(run.workflow().start.state), code);
  }
  const bool waits = std::any_of(now.timers.begin(), now.timers.end(), [](const Timer& timer) {
    return timer.kind == TimerKind::kRetry;
  });
  const bool is_attempt = now.state == before.state && (waits || now.attempt != before.attempt);
  return with_code((is_attempt ? "attempt in " : "state in ") + id_of(now.state), code);
}

constexpr const char* kOneMore = "  retries: {max_attempts: 1, delay: PT5M, codes: ['*']}";
constexpr const char* kOneMoreRun = "retries: {max_attempts: 1, delay: PT5M, codes: ['*']}";
constexpr const char* kCatchAll = "  catch: [{error: '*', transition: late}]";

struct TimedCase {
  const char* what;
  std::string definition;
  TimerKind kind;
  size_t fired_before;  ///< so many timers have fired before, soonest first
  const char* expected;
};

void expect_prediction(const TimedCase& one) {
  SCOPED_TRACE(one.what);
  InstanceRun run(load_right_workflow(one.definition));
  run.proceed();
  for (size_t i = 0; i < one.fired_before; ++i) fire_first(run);
  const Timer timer = timer_of(run, one.kind);
  const Instance before = run.instance();
  const size_t records = run.history().size();
  EXPECT_EQ(text_of(after_timer(timer, TimedInstance(before), run.workflow())), one.expected);
  fire_at_its_time(run, timer);
  EXPECT_EQ(text_of(run, before, records), one.expected) << "the engine";
}

TEST(AfterTimer, IsWhatTheEngineDoesAfterTheTimeoutOfAState) {
  const std::string used_up =
      std::string(kOneMore) + "\n  catch: [{error: direktiv.retries.exceeded, transition: late}]";
  const std::string temporal =
      std::string("  retries: {maximumAttempts: 2, initialInterval: 5m}\n") + kCatchAll;
  const TimedCase cases[] = {
      {"nothing catches it", timed_wait(""), TimerKind::kStateTimeout, 0,
       "end failed after direktiv.stateTimeout"},
      {"a catch matches", timed_wait("", "  catch: [{error: '*.stateTimeout', transition: late}]"),
       TimerKind::kStateTimeout, 0, "state in late after direktiv.stateTimeout"},
      {"a catch of another error", timed_wait("", "  catch: [{error: other, transition: late}]"),
       TimerKind::kStateTimeout, 0, "end failed after direktiv.stateTimeout"},
      {"a catch without a transition", timed_wait("", "  catch: [{error: '*'}]"),
       TimerKind::kStateTimeout, 0, "end complete after direktiv.stateTimeout"},
      {"an attempt is left", timed_wait("", kOneMore), TimerKind::kStateTimeout, 0,
       "attempt in wait after direktiv.stateTimeout"},
      {"a policy for other errors",
       timed_wait("", "  retries: {max_attempts: 1, delay: PT5M, codes: [other]}"),
       TimerKind::kStateTimeout, 0, "end failed after direktiv.stateTimeout"},
      {"no attempt is left", timed_wait("", kOneMore), TimerKind::kStateTimeout, 2,
       "end failed after direktiv.retries.exceeded"},
      {"a catch of the error without attempts", timed_wait("", used_up), TimerKind::kStateTimeout,
       2, "state in late after direktiv.retries.exceeded"},
      {"Direktiv's policy comes after catch",
       timed_wait("", std::string(kOneMore) + "\n" + kCatchAll), TimerKind::kStateTimeout, 0,
       "state in late after direktiv.stateTimeout"},
      {"Temporal's policy comes before catch", timed_wait("", temporal), TimerKind::kStateTimeout,
       0, "attempt in wait after direktiv.stateTimeout"},
      {"Temporal's policy without attempts", timed_wait("", temporal), TimerKind::kStateTimeout, 2,
       "state in late after direktiv.stateTimeout"},
      {"the workflow begins another run", timed_wait(kOneMoreRun), TimerKind::kStateTimeout, 0,
       "run in wait after direktiv.stateTimeout"},
      {"a catch before another run", timed_wait(kOneMoreRun, kCatchAll), TimerKind::kStateTimeout,
       0, "state in late after direktiv.stateTimeout"},
      {"no run is left", timed_wait(kOneMoreRun), TimerKind::kStateTimeout, 2,
       "end failed after direktiv.retries.exceeded"},
      {"on_failure", timed_wait("on_failure: {state: late, when: any}"), TimerKind::kStateTimeout,
       0, "state in late after direktiv.stateTimeout"},
      {"on_failure is over", timed_wait("on_failure: {state: late, when: any}"),
       TimerKind::kStateTimeout, 1, "end failed after direktiv.stateTimeout"},
      {"on_failure of the execution timeout",
       timed_wait("timeout: 3h\non_failure: {state: late, when: timeout}"),
       TimerKind::kStateTimeout, 0, "end failed after direktiv.stateTimeout"},
  };
  for (const TimedCase& one : cases) expect_prediction(one);
}

TEST(AfterTimer, IsWhatTheEngineDoesAfterATimeoutOfTheInstance) {
  const std::string direktiv = "timeouts: {interrupt: 3h, kill: 9h}\n";
  const TimedCase cases[] = {
      {"an interrupt, which is not retried", timed_wait(direktiv + kOneMoreRun, kOneMore),
       TimerKind::kInterrupt, 0, "end failed after direktiv.cancels.timeout"},
      {"an interrupt that a catch matches", timed_wait(direktiv, kCatchAll), TimerKind::kInterrupt,
       0, "state in late after direktiv.cancels.timeout"},
      {"the kill timeout", timed_wait(direktiv, kCatchAll), TimerKind::kKill, 0,
       "end timedout after direktiv.cancels.timeout"},
      {"the run timeout",
       timed_wait("workflowRunTimeout: 3h\nretries: {maximumAttempts: 2}", kCatchAll),
       TimerKind::kRun, 0, "end timedout after millrace.timeout.run"},
      {"Temporal's execution timeout", timed_wait("workflowExecutionTimeout: 3h"),
       TimerKind::kExecution, 0, "end timedout after millrace.timeout.execution"},
      {"Zart's execution timeout", timed_wait("timeout: 3h"), TimerKind::kExecution, 0,
       "end failed after millrace.timeout.execution"},
      {"with on_failure", timed_wait("timeout: 3h\non_failure: late"), TimerKind::kExecution, 0,
       "state in late after millrace.timeout.execution"},
  };
  for (const TimedCase& one : cases) expect_prediction(one);
}

TEST(AfterTimer, IsWhatTheEngineDoesAfterADelayOrBeforeAnAttempt) {
  const std::string failed = R"(
id: timed
states:
- {id: note, type: error, error: out.of.stock, message: none, transition: pause}
- {id: pause, type: delay, duration: PT1H})";
  const std::string failed_wait = R"(
id: timed
states:
- {id: note, type: error, error: out.of.stock, message: none, transition: wait}
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: PT1H})";
  const std::string paused = R"(
id: timed
states:
- {id: pause, type: delay, duration: PT1H, transition: next}
- {id: next, type: consumeEvent, event: {type: paid}})";
  const TimedCase cases[] = {
      {"a delay", paused, TimerKind::kDelay, 0, "state in next"},
      {"a delay at the end", "{id: timed, states: [{id: pause, type: delay, duration: PT1H}]}",
       TimerKind::kDelay, 0, "end complete"},
      {"a delay after an error", failed, TimerKind::kDelay, 0, "end failed after out.of.stock"},
      {"a timeout after an error", failed_wait, TimerKind::kStateTimeout, 0,
       "end failed after out.of.stock"},
      {"the next attempt", timed_wait("", kOneMore), TimerKind::kRetry, 1, "attempt in wait"},
      {"the next run", timed_wait(kOneMoreRun), TimerKind::kRetry, 1, "run in wait"},
  };
  for (const TimedCase& one : cases) expect_prediction(one);
}

/// The consequence for an instance of timed_wait() with that timer, an hour after its start.
std::string predicted(TimerKind kind, const std::string& definition, Instance instance) {
  const auto workflow = load_right_workflow(definition);
  const Timer timer{kind, run_start() + std::chrono::hours(1)};
  instance.timers.push_back(timer);
  instance.runs_from = instance.state_from = run_start();
  return text_of(after_timer(timer, TimedInstance(instance), *workflow));
}

TEST(AfterTimer, ClaimsNothingThatTheDataOrAnotherTimeoutDecides) {
  const std::string evaluated =
      timed_wait("", "  retries: {max_attempts: 1, codes: ['*'], delay: jq(.pause)}");
  const Instance ends_before{
      .timers = {{TimerKind::kExecution, run_start() + std::chrono::minutes(65)}}};
  const Instance ends_later{
      .timers = {{TimerKind::kExecution, run_start() + std::chrono::minutes(66)}}};
  const std::string unknown = "depends after direktiv.stateTimeout";
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, evaluated, {}), unknown);
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, evaluated, {.attempt = 2}),
            "end failed after direktiv.retries.exceeded");
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait("", kOneMore), ends_before), unknown);
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait("", kOneMore), ends_later),
            "attempt in wait after direktiv.stateTimeout");
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait(kOneMoreRun), ends_before), unknown);
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait(""), {.state = 9}), "depends")
      << "no such state";
}

TEST(AfterTimer, NamesNoStateOfARunWithTheNewestRevision) {
  const std::string again = "  catch: [{error: '*', continueAsNew: jq(.)}]";
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait("", again), {}),
            "run after direktiv.stateTimeout");
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, timed_wait("", again),
                      {.error = Error{"out.of.stock", "none"}}),
            "end failed after out.of.stock")
      << "an instance that will end with an error begins no run";
}

TEST(AfterTimer, IsTheEndOfAStartThatWaitsTooLong) {
  const std::string any = timed_wait(kOneMoreRun);
  EXPECT_EQ(predicted(TimerKind::kQueue, any, {}), "end failed after millrace.concurrency.timeout");
  EXPECT_EQ(predicted(TimerKind::kThrottle, any, {}), "end failed after millrace.throttle.timeout");
}

TEST(AfterTimer, OfCallsIsOneOfTheirAttemptsOrTimeouts) {
  EXPECT_EQ(predicted(TimerKind::kCalls, timed_wait(""), {}), "call");
  Instance called;
  called.calls.resize(1);
  EXPECT_EQ(predicted(TimerKind::kRetry, timed_wait(""), called), "call") << "store format 4";
}

TEST(AfterTimer, OfACancelledInstanceEndsItAsCancelled) {
  const Instance cancelled{.cancelling = true, .error = Error{"direktiv.cancels.api", "stop"}};
  const std::string any = timed_wait("", kCatchAll);
  EXPECT_EQ(predicted(TimerKind::kKill, any, cancelled),
            "end cancelled after direktiv.cancels.api");
  EXPECT_EQ(predicted(TimerKind::kExecution, any, cancelled),
            "end cancelled after direktiv.cancels.api");
  EXPECT_EQ(predicted(TimerKind::kStateTimeout, any, cancelled), "depends")
      << "it has no such timer";
}

TEST(AfterTimer, SaysThatTheCompensationsAreMadeBeforeTheEnd) {
  const auto workflow = load_right_workflow(R"(
id: undone
compensate: true
functions:
- {id: f, type: knative-namespace, service: f}
states:
- {id: pay, type: action, action: {function: f}, compensate: {function: f}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: PT1H}
)");
  const Timer timer{TimerKind::kStateTimeout, run_start()};
  Instance instance{.state = 1};
  EXPECT_FALSE(after_timer(timer, TimedInstance(instance), *workflow).compensates);
  instance.compensations = 1;
  const AfterTimer after = after_timer(timer, TimedInstance(instance), *workflow);
  EXPECT_EQ(text_of(after), "end failed after direktiv.stateTimeout");
  EXPECT_TRUE(after.compensates);
}

TEST(AfterTimer, OfASubflowMayLeadToAnotherAttemptOfTheCall) {
  const auto otherwise = default_policy(Vocabulary::kTemporal);
  ASSERT_TRUE(otherwise);
  const struct {
    const char* what;
    const char* of_action;
    const char* of_state;
    uint32_t attempt;
    bool has_default;
    std::optional<bool> retries;
  } cases[] = {
      {"no policy", "", "", 1, false, false},
      {"the policy of the namespace", "", "", 1, true, true},
      {"an attempt is left", ", retries: {max_attempts: 1, delay: PT1S, codes: ['*']}", "", 1,
       false, true},
      {"no attempt is left", ", retries: {max_attempts: 1, delay: PT1S, codes: ['*']}", "", 2, true,
       false},
      {"a policy for other errors", ", retries: {max_attempts: 1, delay: PT1S, codes: [other]}", "",
       1, false, false},
      {"a delay that the data decides",
       ", retries: {max_attempts: 1, delay: jq(.wait), codes: ['*']}", "", 1, false, std::nullopt},
      {"a catch comes first", ", retries: {max_attempts: 1, delay: PT1S, codes: ['*']}",
       ", catch: [{error: '*'}]", 1, false, std::nullopt},
  };
  for (const auto& one : cases) {
    const auto workflow = load_right_workflow(fmt::format(R"(
id: books
functions:
- {{id: leg, type: subflow, workflow: book-leg}}
states:
- {{id: book, type: action, action: {{function: leg{}}}{}}}
)",
                                                          one.of_action, one.of_state));
    Instance caller;
    caller.calls.resize(1);
    caller.calls[0].attempt = one.attempt;
    EXPECT_EQ(retries_call(*workflow, caller, 0, "direktiv.stateTimeout", run_start(),
                           one.has_default ? &*otherwise : nullptr),
              one.retries)
        << one.what;
  }
}

}  // namespace
}  // namespace millrace
