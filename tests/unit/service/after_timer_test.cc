// After a timer: the state that follows, as far as the definition decides it.
#include "orchestrator/service/after_timer.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

/// With these further lines of the definition, and of its state `wait`.
std::shared_ptr<const Workflow> timed_workflow(const std::string& lines = "",
                                               const std::string& of_wait = "") {
  const auto loaded = load_stored(lines + R"(
id: timed
states:
- {id: pause, type: delay, duration: PT1H, transition: wait}
- id: wait
  type: consumeEvent
  event: {type: paid}
  timeout: PT1H
  transition: end
)" + of_wait + R"(
- {id: late, type: noop}
- {id: end, type: noop}
)");
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded.value_or(nullptr);
}

/// The state after the timer of an instance in the state with that index; empty: none is known.
std::string after(TimerKind kind, const Workflow& workflow, Instance instance, size_t state = 1) {
  instance.state = state;
  return state_after(kind, TimedInstance(instance), workflow).value_or("");
}

TEST(AfterTimer, ATimeoutLeadsToTheStateOfACatch) {
  const auto caught =
      timed_workflow("", "  catch: [{error: \"*.stateTimeout\", transition: late}]");
  ASSERT_TRUE(caught);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *caught, {}), "late");
  EXPECT_EQ(after(TimerKind::kInterrupt, *caught, {}), "") << "the code is another one";
  EXPECT_EQ(after(TimerKind::kStateTimeout, *caught, {.cancelling = true}), "");
  EXPECT_EQ(after(TimerKind::kStateTimeout, *caught, {}, 9), "") << "no such state";
  const auto any = timed_workflow("", "  catch: [{error: \"*\", transition: late}]");
  ASSERT_TRUE(any);
  EXPECT_EQ(after(TimerKind::kInterrupt, *any, {}), "late");
  EXPECT_EQ(after(TimerKind::kKill, *any, {}), "");
  EXPECT_EQ(after(TimerKind::kRun, *any, {}), "");
  const auto ends = timed_workflow("", "  catch: [{error: \"*\"}]");
  ASSERT_TRUE(ends);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *ends, {}), "") << "the instance ends";
}

TEST(AfterTimer, ARetryPolicyDecidesFirst) {
  const auto again = timed_workflow(
      "",
      "  retries: {max_attempts: 3, codes: ['*']}\n  catch: [{error: \"*\", transition: late}]");
  ASSERT_TRUE(again);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *again, {}), "");
  EXPECT_EQ(after(TimerKind::kInterrupt, *again, {}), "late") << "an interrupt is not retried";
}

TEST(AfterTimer, AnErrorThatNothingCatchesLeadsToOnFailure) {
  const auto any = timed_workflow("on_failure: {state: late, when: any}");
  ASSERT_TRUE(any);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *any, {}), "late");
  EXPECT_EQ(after(TimerKind::kInterrupt, *any, {}), "late");
  EXPECT_EQ(after(TimerKind::kStateTimeout, *any, {.failing = true}), "");
  const auto late = timed_workflow("timeout: 1h\non_failure: {state: late, when: timeout}");
  ASSERT_TRUE(late);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *late, {}), "");
  EXPECT_EQ(after(TimerKind::kExecution, *late, {}), "late");
  EXPECT_EQ(after(TimerKind::kExecution, *late, {.failing = true}), "");
  const auto plain = timed_workflow();
  ASSERT_TRUE(plain);
  EXPECT_EQ(after(TimerKind::kStateTimeout, *plain, {}), "");
  EXPECT_EQ(after(TimerKind::kExecution, *plain, {}), "");
}

TEST(AfterTimer, DelaysAndAttemptsHaveTheirStates) {
  const auto workflow = timed_workflow();
  ASSERT_TRUE(workflow);
  EXPECT_EQ(after(TimerKind::kDelay, *workflow, {}, 0), "wait");
  EXPECT_EQ(after(TimerKind::kRetry, *workflow, {}), "wait");
  EXPECT_EQ(after(TimerKind::kRetry, *workflow, {.awaits_run = true}), "pause");
  EXPECT_EQ(after(TimerKind::kCalls, *workflow, {}), "");
}

}  // namespace
}  // namespace millrace
