// Timeouts: when timers fire and how they end an instance. The effects of timeouts on calls are in
// tests/tables and in tests/model.
#include "orchestrator/engine/timeouts.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Timeouts, AreHeldForAPausedInstanceIfTheyBelongToTheStep) {
  const struct {
    TimerKind kind;
    bool is_held;
  } rows[] = {
      {TimerKind::kStateTimeout, true}, {TimerKind::kDelay, true},      {TimerKind::kRetry, true},
      {TimerKind::kCalls, true},        {TimerKind::kInterrupt, true},  {TimerKind::kKill, false},
      {TimerKind::kRun, false},         {TimerKind::kExecution, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(waits_for_resume(row.kind), row.is_held) << name_of(row.kind);
    const Timer timer{row.kind, run_start()};
    Instance live;
    arm(live, timer);
    EXPECT_THAT(live.timers, ElementsAre(timer));
    Instance paused{.paused = true};
    arm(paused, timer);
    EXPECT_EQ(paused.held_timers.size(), row.is_held ? 1u : 0u) << name_of(row.kind);
    EXPECT_EQ(paused.timers.size(), row.is_held ? 0u : 1u) << name_of(row.kind);
  }
}

TEST(Timeouts, AreNotArmedWithoutADuration) {
  Instance instance;
  arm(instance, TimerKind::kKill, std::nullopt, run_start());
  EXPECT_THAT(instance.timers, IsEmpty());
  arm(instance, TimerKind::kKill, *Span::parse("1h"), run_start());
  EXPECT_THAT(instance.timers, ElementsAre(Timer{TimerKind::kKill, run_start() + hours(1)}));
}

TEST(Timeouts, EndAnInstanceWithTheirStatusAndErrorCode) {
  const struct {
    std::string_view keys;
    std::string_view code;
    std::string_view status;
  } rows[] = {
      {"timeouts: {interrupt: 1h}", "direktiv.cancels.timeout", "failed"},
      {"timeouts: {kill: 1h}", "direktiv.cancels.timeout", "timedout"},
      {"workflowRunTimeout: 1h", "millrace.timeout.run", "timedout"},
      {"workflowExecutionTimeout: 1h", "millrace.timeout.execution", "timedout"},
      {"timeout: 1h", "millrace.timeout.execution", "failed"},
  };
  for (const auto& row : rows) {
    InstanceRun run(load_right_workflow("id: w\n" + std::string(row.keys) +
                                        "\nstates: [{id: wait, type: consumeEvent, event: {type: "
                                        "t}}]\n"));
    run.proceed();
    run.at(minutes(59));
    EXPECT_EQ(run.rows().back().status, "waiting") << row.keys;
    run.at(hours(1));
    EXPECT_EQ(run.rows().back().status, row.status) << row.keys;
    ASSERT_TRUE(run.instance().error) << row.keys;
    EXPECT_EQ(run.instance().error->code, row.code) << row.keys;
  }
}

TEST(Timeouts, FireWithTheExecutionTimeoutFirstIfSeveralAreDue) {
  InstanceRun run(load_right_workflow(R"(
id: w
workflowExecutionTimeout: 1h
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 1h, catch: [{error: "*"}]}
)"));
  run.proceed();
  run.set_time(run_start() + hours(1));
  run.fire(TimerKind::kStateTimeout, run_start() + hours(1));
  EXPECT_EQ(run.rows().back().status, "timedout");
  EXPECT_EQ(run.instance().error->code, "millrace.timeout.execution");
}

TEST(Timeouts, FireInsteadOfAnAttemptThatIsDueIfTheDeadlineHasPassed) {
  InstanceRun run(load_right_workflow(R"(
id: w
workflowExecutionTimeout: 90m
retries: fixed(9, 1h)
states:
- {id: a, type: error, error: e, message: no}
)"));
  run.proceed();
  ASSERT_TRUE(run.instance().awaits_run);
  run.set_time(run_start() + hours(2));
  run.fire(TimerKind::kRetry, run_start() + hours(1));
  EXPECT_EQ(run.rows().back().status, "timedout");
  EXPECT_EQ(run.instance().run, 1u);
}

constexpr const char* kTimedTask = R"(
id: w
functions:
- {id: f, type: knative-namespace, service: f}
states:
- {id: call, type: action, action: {function: f}, timeout: 1h}
)";

TEST(Timeouts, FireInsteadOfAcceptingAResultThatComesAtTheDeadline) {
  const auto workflow = load_right_workflow(kTimedTask);
  for (const TimePoint at : {run_start() + minutes(59), run_start() + hours(1)}) {
    Instance instance = new_instance(*workflow);
    step(*workflow, instance, Proceed{}, run_start(), TestLookup());
    const Caller call{.instance = instance.id, .entered = instance.entered, .attempt = 1};
    step(*workflow, instance, Returned{.call = call, .result = LazyJson(Json(7))}, at,
         TestLookup());
    const bool is_late = at == run_start() + hours(1);
    EXPECT_EQ(instance.status, is_late ? InstanceStatus::kFailed : InstanceStatus::kComplete);
    EXPECT_EQ(instance.error.has_value(), is_late);
  }
}

TEST(Timeouts, FireAtTheStimulusOverdueIfAnInstanceWaitsForCalls) {
  const auto workflow = load_right_workflow(kTimedTask);
  Instance instance = new_instance(*workflow);
  step(*workflow, instance, Proceed{}, run_start(), TestLookup());
  EXPECT_FALSE(
      step(*workflow, instance, Overdue{}, run_start() + minutes(59), TestLookup()).changed);
  EXPECT_TRUE(step(*workflow, instance, Overdue{}, run_start() + hours(1), TestLookup()).changed);
  EXPECT_EQ(instance.error->code, "direktiv.stateTimeout");
}

}  // namespace
}  // namespace millrace
