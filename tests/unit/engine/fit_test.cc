// Fit: the engine accepts the stored instances that it writes itself, and refuses stored instances
// that it cannot have written.
#include "orchestrator/engine/fit.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::years;
using testing::HasSubstr;

constexpr const char* kFunctions = "functions: [{id: f, type: subflow, workflow: other}]\n";

/// An instance that waits in the first state of a workflow; `state` has the keys of that state.
class Waiter {
 public:
  explicit Waiter(const std::string& state)
      : workflow(load_right_workflow("id: w\n" + std::string(kFunctions) +
                                     "states:\n- {id: wait, " + state + "}\n")),
        instance(new_instance(*workflow, Json::object({{"list", {1, 2, 3}}}))) {
    step(*workflow, instance, Proceed{}, run_start(), TestLookup());
    EXPECT_EQ(instance.phase, Phase::kWaiting);
    EXPECT_EQ(unfit(), "");
  }

  /// Why the instance does not fit its workflow; empty: it fits.
  std::string unfit() const {
    const Status fits = check_fit(*workflow, instance, run_start());
    if (fits) return "";
    EXPECT_EQ(fits.error().code, "instance.unfit");
    return fits.error().message;
  }

  std::shared_ptr<const Workflow> workflow;
  Instance instance;
};

Waiter consuming() { return Waiter("type: consumeEvent, event: {type: a}"); }
Waiter delaying() { return Waiter("type: delay, duration: PT1H"); }
Waiter calling() { return Waiter("type: action, action: {function: f}"); }

TEST(Fit, AcceptsAnInstanceThatWaitsInAStateOfAnyTypeThatCanWait) {
  for (const char* const state : {
           "type: consumeEvent, event: {type: a}, timeout: PT1H",
           "type: eventAnd, events: [{type: a}, {type: b}]",
           "type: eventXor, events: [{event: {type: a}}, {event: {type: b}}]",
           "type: delay, duration: PT1H",
           "type: action, action: {function: f}",
           "type: foreach, array: jq(.list), action: {function: f}",
           "type: parallel, actions: [{function: f}, {function: f}]",
       }) {
    SCOPED_TRACE(state);
    EXPECT_EQ(Waiter(state).unfit(), "");
  }
}

TEST(Fit, AcceptsANewAndAnEndedInstance) {
  const auto workflow = load_right_workflow("id: w\nstates: [{id: one, type: noop}]");
  Instance instance = new_instance(*workflow);
  EXPECT_TRUE(check_fit(*workflow, instance, run_start()));
  step(*workflow, instance, Proceed{}, run_start(), TestLookup());
  ASSERT_EQ(instance.phase, Phase::kEnded);
  EXPECT_TRUE(check_fit(*workflow, instance, run_start()));
}

TEST(Fit, RefusesAStateThatTheWorkflowDoesNotHave) {
  Waiter waiter = consuming();
  waiter.instance.state = 1;
  EXPECT_EQ(waiter.unfit(),
            "the instance is in state 1 (counted from 0), and its workflow has 1 states");
}

TEST(Fit, RefusesAnExitThatTheStateDoesNotHave) {
  Waiter waiter("type: eventXor, events: [{event: {type: a}}, {event: {type: b}}]");
  waiter.instance.listeners.clear();
  const size_t exits = waiter.workflow->states[0]->common().exits.size();
  waiter.instance.phase = Phase::kLeaving;
  waiter.instance.exit = exits - 1;
  EXPECT_EQ(waiter.unfit(), "");
  waiter.instance.exit = exits;
  EXPECT_THAT(waiter.unfit(),
              HasSubstr("the instance leaves state \"wait\" of type eventXor by exit"));
  waiter.instance.phase = Phase::kEnded;
  EXPECT_EQ(waiter.unfit(), "") << "the exit is checked only while the instance leaves a state";
}

TEST(Fit, RefusesListenersInAStateThatDoesNotListen) {
  const Listener listener = consuming().instance.listeners.at(0);
  Waiter delay = delaying();
  delay.instance.listeners = {listener};
  EXPECT_EQ(delay.unfit(),
            "the instance listens for event 0 (counted from 0), and state \"wait\" of type delay "
            "waits for 0 events");
  for (const Phase phase : {Phase::kEntering, Phase::kLeaving, Phase::kEnded}) {
    Waiter consumer = consuming();
    consumer.instance.phase = phase;
    EXPECT_EQ(consumer.unfit(), "the instance listens for events, but does not wait");
  }
}

TEST(Fit, AcceptsListenersOfAnInstanceThatTakesEarlyEventsInSeveralSteps) {
  const struct {
    const char* state;
    bool fits;
  } rows[] = {
      {"type: eventAnd, events: [{type: a, lookback: PT5M}, {type: b}]", true},
      {"type: eventAnd, events: [{type: a}, {type: b}]", false},
      {"type: eventXor, events: [{event: {type: a, lookback: PT5M}}, {event: {type: b}}]", false},
      {"type: consumeEvent, event: {type: a, lookback: PT5M}", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.state);
    Waiter waiter(row.state);
    waiter.instance.phase = Phase::kEntering;
    EXPECT_EQ(waiter.unfit(), row.fits ? "" : "the instance listens for events, but does not wait");
    waiter.instance.phase = Phase::kLeaving;
    EXPECT_EQ(waiter.unfit(), "the instance listens for events, but does not wait");
  }
}

TEST(Fit, RefusesAListenerOfAnEntryThatTheStateDoesNotHave) {
  Waiter waiter("type: eventXor, events: [{event: {type: a}}, {event: {type: b}}]");
  waiter.instance.listeners.back().entry = 2;
  EXPECT_EQ(waiter.unfit(),
            "the instance listens for event 2 (counted from 0), and state \"wait\" of type "
            "eventXor waits for 2 events");
}

TEST(Fit, RefusesMoreOrFewerEventSlotsThanTheStateHasEntries) {
  Waiter waiter("type: eventAnd, events: [{type: a}, {type: b}]");
  ASSERT_EQ(waiter.instance.slots.size(), 2U);
  waiter.instance.slots.pop_back();
  EXPECT_EQ(waiter.unfit(),
            "the instance has slots for 1 events, and state \"wait\" of type eventAnd waits for 2 "
            "events");
  waiter.instance.slots.resize(3);
  EXPECT_THAT(waiter.unfit(), HasSubstr("the instance has slots for 3 events"));
}

TEST(Fit, RefusesAListenerForAnEventThatHasCome) {
  Waiter waiter("type: eventAnd, events: [{type: a}, {type: b}]");
  waiter.instance.slots[1] = LazyJson(1);
  EXPECT_EQ(waiter.unfit(), "the instance listens for event 1 (counted from 0), which has arrived");
  std::erase_if(waiter.instance.listeners, [](const Listener& one) { return one.entry == 1; });
  EXPECT_EQ(waiter.unfit(), "");
}

TEST(Fit, RefusesTimersBeforeTheStartOfTheInstanceOrMoreThan200YearsAhead) {
  const TimePoint farthest = run_start() + std::chrono::duration_cast<Duration>(years(200));
  const struct {
    TimePoint deadline;
    bool fits;
  } rows[] = {{run_start(), true},
              {run_start() - milliseconds(1), false},
              {farthest, true},
              {farthest + milliseconds(1), false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(shown_time(row.deadline));
    for (const auto timers : {&Instance::timers, &Instance::held_timers}) {
      Waiter waiter = consuming();
      (waiter.instance.*timers).push_back({TimerKind::kKill, row.deadline});
      EXPECT_EQ(waiter.unfit().empty(), row.fits) << waiter.unfit();
      if (!row.fits) {
        EXPECT_EQ(waiter.unfit(),
                  "a timer at " + format_rfc3339(row.deadline) +
                      " is before the start of the instance or more than 200 years ahead");
      }
    }
  }
}

TEST(Fit, RefusesADelayTimerInAnInstanceThatDoesNotWaitInADelayState) {
  const Timer timer{TimerKind::kDelay, run_start() + hours(1)};
  Waiter consumer = consuming();
  consumer.instance.timers = {timer};
  EXPECT_EQ(consumer.unfit(),
            "the instance has the timer of a delay, and does not wait for a delay in state "
            "\"wait\" of type "
            "consumeEvent");
  Waiter delay = delaying();
  EXPECT_THAT(delay.instance.timers, testing::ElementsAre(timer));
  delay.instance.phase = Phase::kEntering;
  EXPECT_THAT(delay.unfit(), HasSubstr("the instance has the timer of a delay"));
}

TEST(Fit, RefusesARetryTimerInAnInstanceThatDoesNotWaitForARetry) {
  Waiter waiter = consuming();
  waiter.instance.timers = {{TimerKind::kRetry, run_start() + hours(1)}};
  EXPECT_EQ(waiter.unfit(), "the instance has the timer of a retry, but does not wait for one");
  waiter.instance.listeners.clear();
  EXPECT_EQ(waiter.unfit(), "");
  waiter.instance.phase = Phase::kLeaving;
  EXPECT_EQ(waiter.unfit(), "the instance has the timer of a retry, but does not wait for one");
}

TEST(Fit, RefusesCallsInAStateThatMakesNoCalls) {
  const Call call = calling().instance.calls.at(0);
  Waiter consumer = consuming();
  consumer.instance.calls = {call};
  EXPECT_EQ(consumer.unfit(),
            "the instance has 1 calls, and state \"wait\" of type consumeEvent makes 0");
  Waiter caller = calling();
  caller.instance.phase = Phase::kEnded;
  EXPECT_EQ(caller.unfit(), "the instance has calls, but does not wait");
}

TEST(Fit, RefusesACallInAnActionThatDoesNotWaitForItsResult) {
  const auto workflow = load_right_workflow(
      "id: w\n" + std::string(kFunctions) +
      "states: [{id: send, type: action, async: true, action: {function: f}}]\n");
  Instance instance = calling().instance;
  const Status fits = check_fit(*workflow, instance, run_start());
  ASSERT_FALSE(fits);
  EXPECT_EQ(fits.error().message,
            "the instance has 1 calls, and state \"send\" of type action makes 0");
  instance.calls.clear();
  EXPECT_TRUE(check_fit(*workflow, instance, run_start()));
}

TEST(Fit, AcceptsCallsOfAStateThatIsLeftOnlyIfTheyHaveEnded) {
  Waiter two("type: parallel, actions: [{function: f}, {function: f}]");
  two.instance.phase = Phase::kLeaving;
  EXPECT_EQ(two.unfit(), "call 0: the call has not ended, but the instance leaves its state");
  for (Call& call : two.instance.calls) {
    call.status = Call::Status::kDone;
    call.deadlines = {};
  }
  EXPECT_EQ(two.unfit(), "");
  two.instance.calls.pop_back();
  EXPECT_EQ(two.unfit(), "") << "an earlier step has removed the other call";
}

TEST(Fit, RefusesMoreOrFewerCallsThanTheStateMakes) {
  Waiter one = calling();
  one.instance.calls.push_back(one.instance.calls.front());
  EXPECT_EQ(one.unfit(), "the instance has 2 calls, and state \"wait\" of type action makes 1");
  Waiter two("type: parallel, actions: [{function: f}, {function: f}]");
  two.instance.calls.pop_back();
  EXPECT_EQ(two.unfit(), "the instance has 1 calls, and state \"wait\" of type parallel makes 2");
  two.instance.calls.clear();
  EXPECT_EQ(two.unfit(), "") << "an instance that waits for its next attempt has no calls";
  Waiter many("type: foreach, array: jq(.list), action: {function: f}");
  many.instance.calls.resize(kMostCalls + 1, many.instance.calls.front());
  EXPECT_EQ(many.unfit(),
            "the instance has 10001 calls, and state \"wait\" of type foreach makes 1 to 10000");
  many.instance.calls.pop_back();
  EXPECT_EQ(many.unfit(), "");
}

TEST(Fit, ChecksTheStatusOfACallAgainstItsTimesAndAttempts) {
  using Status = Call::Status;
  const TimePoint later = run_start() + hours(1);
  const TimePoint early = run_start() - hours(1);
  const struct {
    Status status;
    uint32_t attempt;
    std::optional<TimePoint> retry_at;
    std::optional<TimePoint> deadline;
    std::string_view says;  ///< the error; empty: the instance fits
  } rows[] = {
      {Status::kQueued, 0, {}, {}, ""},
      {Status::kQueued, 0, {}, later, ""},
      {Status::kQueued, 0, later, {}, "the time of the next attempt"},
      {Status::kRunning, 1, {}, later, ""},
      {Status::kRunning, 0, {}, {}, "the call is running or between two attempts"},
      {Status::kRunning, 1, later, {}, "the time of the next attempt"},
      {Status::kRunning, 1, {}, early, "a deadline at "},
      {Status::kBetween, 1, later, later, ""},
      {Status::kBetween, 1, {}, {}, "the time of the next attempt"},
      {Status::kBetween, 1, early, {}, "an attempt at "},
      {Status::kBetween, 0, later, {}, "the call is running or between two attempts"},
      {Status::kDone, 1, {}, {}, ""},
      {Status::kDone, 1, {}, later, "the call has ended, but has a deadline"},
      {Status::kFailed, 1, {}, {}, ""},
      {Status::kFailed, 1, {}, later, "the call has ended, but has a deadline"},
      {Status::kFailed, 1, later, {}, "the time of the next attempt"},
  };
  for (const auto& row : rows) {
    Waiter waiter("type: parallel, actions: [{function: f}, {function: f}]");
    Call& call = waiter.instance.calls[1];
    call.status = row.status;
    call.attempt = row.attempt;
    call.retry_at = row.retry_at;
    call.deadlines.fill(std::nullopt);
    call.deadlines.back() = row.deadline;
    const std::string what = std::to_string(&row - rows);
    if (row.says.empty()) {
      EXPECT_EQ(waiter.unfit(), "") << what;
    } else {
      EXPECT_THAT(waiter.unfit(), HasSubstr("call 1: " + std::string(row.says))) << what;
    }
  }
}

}  // namespace
}  // namespace millrace
