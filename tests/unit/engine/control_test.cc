// Control: commands for a live instance. The commands that start another run of an ended instance
// are in runs_test.cc.
#include <algorithm>
#include <string>
#include <vector>

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

constexpr const char* kTask = R"(
id: w
functions:
- {id: f, type: knative-namespace, service: f}
states:
- {id: call, type: action, action: {function: f}, transition: next}
- {id: next, type: noop}
)";

/// An instance of the workflow after its first step.
Instance started(const Workflow& workflow) {
  Instance instance = new_instance(workflow);
  step(workflow, instance, Proceed{}, run_start(), TestLookup());
  return instance;
}

Caller call_of(const Instance& instance) {
  return {.instance = instance.id, .entered = instance.entered, .index = 0, .attempt = 1};
}

size_t stopped_tasks(const StepResult& result) {
  return static_cast<size_t>(
      std::count_if(result.effects.begin(), result.effects.end(),
                    [](const Effect& effect) { return std::holds_alternative<StopTask>(effect); }));
}

TEST(Control, CancelsAnInstanceAtOnceAndStopsItsTasks) {
  const auto workflow = load_right_workflow(kTask);
  Instance instance = started(*workflow);
  const StepResult result =
      step(*workflow, instance, Cancel{.error = {"a", "b"}}, run_start(), TestLookup());
  EXPECT_EQ(instance.status, InstanceStatus::kCancelled);
  EXPECT_EQ(instance.error, (Error{"a", "b"}));
  EXPECT_EQ(stopped_tasks(result), 1u);
}

TEST(Control, WaitsForTheEndOfTheTasksIfACancelIsNotAtOnce) {
  const auto workflow = load_right_workflow(kTask);
  Instance instance = started(*workflow);
  const Caller call = call_of(instance);
  const StepResult cancelled =
      step(*workflow, instance, Cancel{.error = {"a", "b"}, .at_once = false}, run_start(),
           TestLookup());
  EXPECT_TRUE(instance.cancelling);
  EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
  EXPECT_EQ(stopped_tasks(cancelled), 0u);

  // While a cancel waits for the tasks, a pause and a second such cancel have no effect.
  EXPECT_FALSE(step(*workflow, instance, Pause{}, run_start(), TestLookup()).changed);
  EXPECT_FALSE(step(*workflow, instance, Cancel{.error = {"c", "d"}, .at_once = false}, run_start(),
                    TestLookup())
                   .changed);

  step(*workflow, instance, Returned{.call = call, .result = LazyJson(Json{{"x", 1}})},
       run_start() + hours(1), TestLookup());
  EXPECT_EQ(instance.status, InstanceStatus::kCancelled);
  EXPECT_EQ(instance.error, (Error{"a", "b"}));
  EXPECT_EQ(instance.data.text(), "{}") << "the result is recorded in the history only";
}

TEST(Control, StopsATaskThatMissedItsHeartbeatWhileACancelWaitsForThatTask) {
  const auto workflow = load_right_workflow(kTask);
  Instance instance = started(*workflow);
  const Caller call = call_of(instance);
  step(*workflow, instance, Cancel{.error = {"a", "b"}, .at_once = false}, run_start(),
       TestLookup());
  const StepResult silent =
      step(*workflow, instance, HeartbeatMissed{call}, run_start() + hours(1), TestLookup());
  EXPECT_EQ(instance.status, InstanceStatus::kCancelled);
  EXPECT_EQ(stopped_tasks(silent), 1u);
}

TEST(Control, EndsATaskWhoseTimeoutPassedInAPauseWhenTheInstanceIsCancelled) {
  InstanceRun run(load_right_workflow(R"(
id: w
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: call, type: action, action: {function: f, scheduleToCloseTimeout: 1h}}
)"));
  run.proceed();
  run.give("pause", Pause{});
  EXPECT_THAT(run.instance().timers, IsEmpty());
  run.at(minutes(90));
  run.give("cancel", Cancel{.error = {"a", "b"}, .at_once = false});
  EXPECT_THAT(run.instance().timers, ElementsAre(Timer{TimerKind::kCalls, run_start() + hours(1)}))
      << "it is due at once";
  run.fire(TimerKind::kCalls, run_start() + hours(1));
  EXPECT_EQ(run.instance().status, InstanceStatus::kCancelled);
}

TEST(Control, HoldsTheStateTimeoutOfAPausedInstanceAndStartsItAgainAtTheResume) {
  InstanceRun run(load_right_workflow(R"(
id: w
timeouts: {kill: 10h}
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 1h}
)"));
  run.proceed();
  const Timer kill{TimerKind::kKill, run_start() + hours(10)};
  const Timer timeout{TimerKind::kStateTimeout, run_start() + hours(1)};
  run.give("pause", Pause{});
  EXPECT_EQ(run.rows().back().status, "paused");
  EXPECT_THAT(run.instance().timers, ElementsAre(kill));
  EXPECT_THAT(run.instance().held_timers, ElementsAre(timeout));
  run.at(minutes(90));
  run.give("resume", Resume{});
  EXPECT_EQ(run.rows().back().status, "waiting");
  EXPECT_THAT(run.instance().held_timers, IsEmpty());
  EXPECT_THAT(run.instance().timers,
              ElementsAre(kill, Timer{TimerKind::kStateTimeout, run_start() + minutes(150)}));
}

TEST(Control, AppliesAnEventToAPausedInstanceAndContinuesAtItsResume) {
  InstanceRun run(load_right_workflow(R"(
id: w
states:
- {id: wait, type: consumeEvent, event: {type: t}, transition: next}
- {id: next, type: noop}
)"));
  run.proceed();
  run.give("pause", Pause{});
  run.event({.id = "e", .source = "s", .type = "t", .data = "7"});
  EXPECT_EQ(run.rows().back().state, "wait");
  EXPECT_EQ(run.rows().back().status, "paused");
  EXPECT_EQ(run.instance().data.text(), R"({"t":7})");
  run.give("resume", Resume{});
  EXPECT_EQ(run.rows().back().status, "complete");
}

TEST(Control, ArmsNoStepTimerWhileTheInstanceIsPaused) {
  const auto workflow = load_right_workflow(R"(
id: w
retries: fixed(9, 1h)
functions:
- {id: f, type: subflow, workflow: other}
states:
- {id: call, type: action, action: {function: f}, catch: [{error: known, transition: wait}]}
- {id: wait, type: consumeEvent, event: {type: never}, timeout: 1h}
)");
  for (const char* const code : {"known", "unknown"}) {
    InstanceRun run(workflow);
    run.proceed();
    run.give("pause", Pause{});
    run.returned(0, 0, tl::unexpected(Error{code, "no"}));
    EXPECT_EQ(run.rows().back().status, "paused") << code;
    EXPECT_TRUE(run.instance().timers.empty()) << code;
    run.at(hours(2));
    EXPECT_EQ(run.rows().back().status, "paused") << code;
    run.give("resume", Resume{});
    EXPECT_EQ(run.rows().back().status, "waiting") << code;
    EXPECT_EQ(run.instance().timers.size(), 1u) << code;
  }
}

TEST(Control, DropsTheInterruptTimerOfAnInstanceWhoseCancelWaitsForItsTasks) {
  const auto workflow = load_right_workflow(R"(
id: w
timeouts: {interrupt: 1h}
functions:
- {id: f, type: knative-namespace, service: f}
states:
- {id: call, type: action, action: {function: f}, catch: [{error: '*', transition: wait}]}
- {id: wait, type: consumeEvent, event: {type: never}}
)");
  TestLookup lookup;
  Instance instance = new_instance(*workflow);
  step(*workflow, instance, Proceed{}, run_start(), lookup);
  step(*workflow, instance, Cancel{.error = {"a", "b"}, .at_once = false}, run_start(), lookup);
  ASSERT_TRUE(instance.cancelling);
  EXPECT_TRUE(instance.timers.empty());
  EXPECT_EQ(instance.state, 0u);
}

TEST(Control, StartsNeitherAnotherRunNorTheOnFailureStateOfAnAbandonedInstance) {
  const auto workflow = load_right_workflow(R"(
id: w
retries: fixed(9, 1h)
on_failure: {state: wait, when: any}
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)");
  InstanceRun run(workflow);
  run.proceed();
  run.give("abandon", Abandon{{"millrace.poison", "it died"}});
  EXPECT_EQ(run.rows().back().status, "failed");
}

TEST(Control, WritesTheDataOfAnAbandonedInstanceNotAgainIfItShouldWriteLittle) {
  const auto workflow = load_right_workflow(R"(
id: w
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)");
  for (const bool writes_little : {false, true}) {
    InstanceRun run(workflow);
    run.proceed();
    run.give("abandon", Abandon{{"millrace.quota.storeBytes", "full"}, writes_little});
    EXPECT_EQ(run.rows().back().status, "failed");
    EXPECT_EQ(run.instance().failed_state, "wait");
    EXPECT_EQ(run.instance().failed_data.has_value(), !writes_little);
  }
}

TEST(Control, ForgetsWhatALeftStateHadFoundIfTheInstanceIsCancelled) {
  InstanceRun run(load_right_workflow(R"(
id: w
states: [{id: wait, type: consumeEvent, event: {type: t}, transform: 'jq(first(.t.a))'}]
)"),
                  Json::object());
  run.proceed();
  run.event({.id = "e", .source = "s", .type = "t", .data = R"({"a":[1]})"});
  ASSERT_TRUE(run.instance().found_data) << "a jq worker has to evaluate the transform";
  run.cancel({"a", "b"});
  EXPECT_EQ(run.instance().status, InstanceStatus::kCancelled);
  EXPECT_FALSE(run.instance().found_data);
}

}  // namespace
}  // namespace millrace
