// An instance that waits for a slot of its workflow: what changes it, and how its first run begins.
#include "orchestrator/engine/queueing.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;

constexpr const char* kQueuedWorkflow = R"(
id: w
concurrency: {limit: 1, timeout: 2h}
workflowRunTimeout: 3h
retries: fixed(9, 1h)
states:
- {id: wait, type: consumeEvent, event: {type: go}, timeout: 1h}
)";

class QueuedInstance : public testing::Test {
 protected:
  QueuedInstance() {
    hold_in_queue(instance, *workflow, {.number = 1, .is_queued = true}, run_start());
  }

  StepResult step(const Stimulus& stimulus, Duration at) {
    return millrace::step(*workflow, instance, stimulus, run_start() + at, lookup);
  }
  std::vector<TimerKind> timers() const {
    std::vector<TimerKind> kinds;
    for (const Timer& timer : instance.timers) kinds.push_back(timer.kind);
    std::sort(kinds.begin(), kinds.end());
    return kinds;
  }

  std::shared_ptr<const Workflow> workflow = load_right_workflow(kQueuedWorkflow);
  const TestLookup lookup;
  Instance instance = new_instance(*workflow);
};

TEST_F(QueuedInstance, DoesNotContinue) {
  EXPECT_THAT(timers(), ElementsAre(TimerKind::kQueue));
  EXPECT_FALSE(step(Proceed{}, minutes(1)).changed);
  EXPECT_EQ(instance.status, InstanceStatus::kPending);
  EXPECT_TRUE(is_queued(instance));
}

TEST_F(QueuedInstance, BeginsItsRunWhenItIsAdmitted) {
  const StepResult admitted = step(Admitted{7}, minutes(30));
  EXPECT_TRUE(admitted.changed);
  ASSERT_EQ(admitted.history.size(), 1U);
  EXPECT_EQ(admitted.history[0].kind, HistoryKind::kAdmitted);
  EXPECT_EQ(instance.slot, (Slot{.number = 7, .is_queued = false}));
  EXPECT_EQ(instance.runs_from, run_start() + minutes(30));
  EXPECT_THAT(timers(), ElementsAre(TimerKind::kStateTimeout, TimerKind::kRun));
  for (const Timer& timer : instance.timers) {
    const Duration length = timer.kind == TimerKind::kRun ? hours(3) : hours(1);
    EXPECT_EQ(timer.deadline, run_start() + minutes(30) + length);
  }
  EXPECT_FALSE(step(Admitted{8}, minutes(31)).changed) << "it does not wait any more";
  step(Proceed{}, minutes(31));
  EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
}

TEST_F(QueuedInstance, FailsWhenItsWaitEnds) {
  const StepResult ended = step(Fired{TimerKind::kQueue, run_start() + hours(2)}, hours(2));
  EXPECT_TRUE(ended.changed);
  EXPECT_EQ(instance.status, InstanceStatus::kFailed) << "the retries of the workflow do not apply";
  ASSERT_TRUE(instance.error);
  EXPECT_EQ(instance.error->code, "millrace.concurrency.timeout");
  EXPECT_EQ(instance.failed_state, "wait");
  EXPECT_THAT(timers(), ElementsAre());
}

TEST_F(QueuedInstance, IsCancelledAtOnce) {
  step(Cancel{.error = {"direktiv.cancels.api", "stop"}, .at_once = false}, minutes(1));
  EXPECT_EQ(instance.status, InstanceStatus::kCancelled);
}

TEST_F(QueuedInstance, StaysInTheQueueOverAPauseThatHoldsItsWait) {
  step(Pause{}, hours(1));
  EXPECT_EQ(instance.status, InstanceStatus::kPaused);
  EXPECT_THAT(timers(), ElementsAre());
  step(Resume{}, hours(9));
  EXPECT_EQ(instance.status, InstanceStatus::kPending);
  EXPECT_TRUE(is_queued(instance));
  ASSERT_THAT(timers(), ElementsAre(TimerKind::kQueue));
  EXPECT_EQ(instance.timers[0].deadline, run_start() + hours(11));
}

TEST_F(QueuedInstance, WaitsForTheResumeWhenItIsAdmittedDuringAPause) {
  step(Pause{}, hours(1));
  step(Admitted{7}, hours(2));
  EXPECT_FALSE(is_queued(instance));
  EXPECT_EQ(instance.status, InstanceStatus::kPaused);
  EXPECT_FALSE(step(Proceed{}, hours(2)).changed);
  step(Resume{}, hours(3));
  EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
}

constexpr const char* kThrottledWorkflow = R"(
id: w
throttle: {limit: 1, period: 1h, timeout: 2h}
workflowRunTimeout: 3h
states:
- {id: wait, type: consumeEvent, event: {type: go}, timeout: 1h}
)";

class ThrottledInstance : public testing::Test {
 protected:
  ThrottledInstance() {
    instance.throttled = Throttled{.key = "5", .priority = 2};
    hold_for_throttle(instance, *workflow, 4, run_start());
  }

  StepResult step(const Stimulus& stimulus, Duration at) {
    return millrace::step(*workflow, instance, stimulus, run_start() + at, lookup);
  }

  std::shared_ptr<const Workflow> workflow = load_right_workflow(kThrottledWorkflow);
  const TestLookup lookup;
  Instance instance = new_instance(*workflow);
};

TEST_F(ThrottledInstance, DoesNotContinue) {
  EXPECT_EQ(instance.timers, (std::vector<Timer>{{TimerKind::kThrottle, run_start() + hours(2)}}));
  EXPECT_FALSE(step(Proceed{}, minutes(1)).changed);
  EXPECT_EQ(instance.status, InstanceStatus::kPending);
  EXPECT_TRUE(waits_to_start(instance));
  EXPECT_FALSE(is_queued(instance));
}

TEST_F(ThrottledInstance, BeginsItsRunWhenTheThrottlePermitsIt) {
  const StepResult released = step(Released{}, minutes(30));
  EXPECT_TRUE(released.changed);
  ASSERT_EQ(released.history.size(), 1U);
  EXPECT_EQ(released.history[0].kind, HistoryKind::kReleased);
  EXPECT_FALSE(instance.throttled);
  EXPECT_EQ(instance.runs_from, run_start() + minutes(30));
  EXPECT_FALSE(step(Released{}, minutes(31)).changed) << "it does not wait any more";
  step(Proceed{}, minutes(31));
  EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
}

TEST_F(ThrottledInstance, FailsWhenItsWaitEnds) {
  EXPECT_TRUE(step(Fired{TimerKind::kThrottle, run_start() + hours(2)}, hours(2)).changed);
  EXPECT_EQ(instance.status, InstanceStatus::kFailed);
  ASSERT_TRUE(instance.error);
  EXPECT_EQ(instance.error->code, "millrace.throttle.timeout");
}

TEST_F(ThrottledInstance, WaitsAgainAfterAPauseThatHoldsItsWait) {
  step(Pause{}, hours(1));
  EXPECT_EQ(instance.status, InstanceStatus::kPaused);
  EXPECT_THAT(instance.timers, testing::IsEmpty());
  step(Resume{}, hours(9));
  EXPECT_EQ(instance.status, InstanceStatus::kPending);
  EXPECT_EQ(instance.timers, (std::vector<Timer>{{TimerKind::kThrottle, run_start() + hours(11)}}));
}

TEST_F(ThrottledInstance, WaitsForTheThrottleWhenItHasItsSlot) {
  instance.throttled->number = 0;
  instance.slot = Slot{.number = 1, .is_queued = true};
  const StepResult admitted = step(Admitted{.number = 7, .throttled = 8}, minutes(5));
  ASSERT_EQ(admitted.history.size(), 2U);
  EXPECT_EQ(admitted.history[0].kind, HistoryKind::kAdmitted);
  EXPECT_EQ(admitted.history[1].kind, HistoryKind::kThrottled);
  EXPECT_EQ(admitted.history[1].detail.value(), (Json{{"key", "5"}, {"priority", 2}}));
  EXPECT_EQ(instance.slot, (Slot{.number = 7, .is_queued = false}));
  EXPECT_EQ(instance.throttled->number, 8U);
  EXPECT_EQ(instance.status, InstanceStatus::kPending);
  EXPECT_FALSE(step(Proceed{}, minutes(6)).changed);
}

}  // namespace
}  // namespace millrace
