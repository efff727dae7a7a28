#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;

class CheckWaitsTest : public CheckTest {
 protected:
  /// Starts an instance that waits in the only state of its workflow. `state` has the keys of the
  /// state, `keys` those of the workflow.
  InstanceId wait_in(const std::string& state, const std::string& keys = "") {
    define("id: w\n" + keys +
           "\nfunctions: [{id: f, type: knative-namespace, service: f}]\n"
           "states: [{id: wait, " +
           state + "}]");
    const InstanceId id = start("w");
    expect_sound();
    where_ = fmt::format("live/default/{} head: ", to_string(id));
    return id;
  }
  InstanceId wait_for_event() { return wait_in("type: consumeEvent, event: {type: go}"); }
  Change head(const InstanceId& id, const std::function<void(Instance&)>& change) {
    return [=, this](Transaction&) { edit_head(id, change); };
  }
  static void drop(Instance& one, TimerKind kind) {
    std::erase_if(one.timers, [&](const Timer& timer) { return timer.kind == kind; });
  }
  static void move(Instance& one, TimerKind kind, Duration by) {
    for (Timer& timer : one.timers) {
      if (timer.kind == kind) timer.deadline += by;
    }
  }
  std::string timers(const std::string& text) const { return "instance.timers " + where_ + text; }
  std::string listeners(const std::string& text) const {
    return "instance.listeners " + where_ + text;
  }

  std::string where_;
};

// Timers.

TEST_F(CheckWaitsTest, ReportsAFailedReadAsTheOnlyFinding) {
  wait_in("type: action, action: {function: f, startToCloseTimeout: PT1H}");
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

TEST_F(CheckWaitsTest, ChecksTimersAgainstThePhaseOfTheInstance) {
  const InstanceId id = wait_for_event();
  const Timer kill{TimerKind::kKill, now + hours(1)};
  expect_only(timers("the instance has two timers of one kind"), head(id, [&](Instance& one) {
                one.timers = {kill, kill};
              }));
  expect_among(timers("the instance has a timer for a delay or a retry, but does not wait"),
               head(id, [&](Instance& one) {
                 one.phase = Phase::kLeaving;
                 one.timers = {{TimerKind::kDelay, now + hours(1)}};
               }));
  expect_only(timers("the instance has a timer for calls, but no calls"),
              head(id, [&](Instance& one) {
                one.timers = {{TimerKind::kCalls, now + hours(1)}};
              }));
  expect_among(timers("the instance waits for its next run, but has no timer for that run"),
               head(id, [](Instance& one) { one.awaits_run = true; }));
  expect_only(timers("the instance has timers that only a paused instance has, but is not paused"),
              head(id, [&](Instance& one) { one.held_timers = {kill}; }));
  expect_only("instance.stuck " + where_ + "the instance waits for no event, no timer and no call",
              head(id, [](Instance& one) { one.listeners.clear(); }));
}

TEST_F(CheckWaitsTest, RefusesATimerForARetryOfAnInstanceThatWaitsInItsState) {
  const auto retry = [this](Instance& one) {
    one.timers.push_back({TimerKind::kRetry, now + hours(1)});
  };
  const std::string found = "the instance has a timer for a retry, but waits in its state";
  const InstanceId listens = wait_for_event();
  expect_only(timers(found), head(listens, retry));
  const InstanceId naps = wait_in("type: delay, duration: PT1H");
  expect_only(timers(found), head(naps, retry));
  expect_only(timers("the instance waits for another attempt or run, but its history has no record "
                     "`retrying`"),
              head(naps, [](Instance& one) { one.timers.at(0).kind = TimerKind::kRetry; }));
}

TEST_F(CheckWaitsTest, ChecksWhichTimersAPauseHolds) {
  const InstanceId id =
      wait_in("type: consumeEvent, timeout: PT1H, event: {type: go}", "timeouts: {kill: PT2H}");
  run_command(PauseInstance{"default", id});
  expect_sound();
  expect_only(timers("the instance is paused, but its delay or its state timeout is not held"),
              head(id, [](Instance& one) {
                one.timers.insert(one.timers.end(), one.held_timers.begin(), one.held_timers.end());
                one.held_timers.clear();
              }));
  expect_only(timers("the instance holds a timer that counts during a pause, too"),
              head(id, [](Instance& one) {
                one.held_timers.push_back(one.timers.at(0));
                one.timers.clear();
              }));
}

TEST_F(CheckWaitsTest, RefusesATimerOfARunThatHasFailed) {
  define(R"(
id: w
states:
- {id: wait, type: error, error: e, message: m}
retries: {maximumAttempts: 3, initialInterval: PT1H}
timeouts: {kill: PT2H}
)");
  const InstanceId next = start("w");
  expect_sound();
  where_ = fmt::format("live/default/{} head: ", to_string(next));
  expect_only(timers("the instance waits for its next run, but has a timer of a run"),
              head(next, [](Instance& one) {
                one.timers.push_back({TimerKind::kKill, one.started_at + hours(2)});
              }));
}

TEST_F(CheckWaitsTest, ChecksTheTimerOfAStateTimeout) {
  const InstanceId id = wait_in("type: consumeEvent, timeout: PT1H, event: {type: go}");
  expect_only(
      timers("the state has a timeout of PT1H, but the instance has no timer for this timeout"),
      head(id, [](Instance& one) { drop(one, TimerKind::kStateTimeout); }));
  for (const Duration by : {Duration(1), Duration(-1)}) {
    expect_only(timers("the state timeout is at"),
                head(id, [=](Instance& one) { move(one, TimerKind::kStateTimeout, by); }));
  }
}

TEST_F(CheckWaitsTest, BoundsAStateTimeoutByTheEntryOrTheEndOfAPause) {
  const InstanceId id = wait_in("type: consumeEvent, timeout: PT1H, event: {type: go}");
  const auto later =
      head(id, [](Instance& one) { move(one, TimerKind::kStateTimeout, Duration(1)); });
  now += hours(3);
  start("w");
  expect_sound();
  expect_only(timers("the state timeout is at"), later);
  run_command(PauseInstance{"default", id});
  now += hours(3);
  run_command(ResumeInstance{"default", id});
  now += hours(3);
  start("w");
  expect_sound();
  expect_only(timers("the state timeout is at"), later);
}

TEST_F(CheckWaitsTest, FindsATimerForATimeoutThatTheStateDoesNotHave) {
  const InstanceId id = wait_for_event();
  expect_only(timers("the instance has a timer for a state timeout, but no state timeout applies"),
              head(id, [this](Instance& one) {
                one.timers = {{TimerKind::kStateTimeout, now + hours(1)}};
              }));
}

TEST_F(CheckWaitsTest, ChecksTheTimersOfARunAgainstTheDefinition) {
  const InstanceId id =
      wait_in("type: consumeEvent, event: {type: go}", "timeouts: {interrupt: PT1H, kill: PT2H}");
  for (const auto& [kind, name] :
       {std::pair(TimerKind::kInterrupt, "interrupt"), std::pair(TimerKind::kKill, "kill")}) {
    expect_only(timers(fmt::format("the timer `{}`, due at", name)),
                head(id, [kind = kind](Instance& one) { drop(one, kind); }));
    expect_only(timers(fmt::format("the timer `{}` is at", name)),
                head(id, [kind = kind](Instance& one) { move(one, kind, Duration(1)); }));
  }
  expect_only(timers("the instance has a timer `run`, but its definition has no such timeout"),
              head(id, [this](Instance& one) {
                one.timers.push_back({TimerKind::kRun, now + hours(1)});
              }));
}

TEST_F(CheckWaitsTest, ChecksADelayAgainstTheState) {
  const InstanceId id = wait_in("type: delay, duration: PT1H");
  expect_only(timers("the delay ends at"),
              head(id, [](Instance& one) { move(one, TimerKind::kDelay, Duration(-1)); }));
  expect_only(timers("the delay ends at"),
              head(id, [](Instance& one) { move(one, TimerKind::kDelay, Duration(1)); }));
  expect_among("the state has a delay, but the instance has no timer for the delay",
               head(id, [](Instance& one) {
                 drop(one, TimerKind::kDelay);
                 one.listeners.push_back({.filter = {.type = "go"}});
               }));
}

TEST_F(CheckWaitsTest, BoundsADelayByTheEntryIntoTheState) {
  const InstanceId id = wait_in("type: delay, duration: PT9H");
  run_command(PauseInstance{"default", id});
  now += hours(3);
  run_command(ResumeInstance{"default", id});
  expect_sound();
  expect_only(timers("the delay ends at"),
              head(id, [](Instance& one) { move(one, TimerKind::kDelay, Duration(1)); }));
}

TEST_F(CheckWaitsTest, ChecksARetryAgainstTheHistory) {
  // The state raises its error again in the second attempt.
  define(R"(
id: w
states:
- {id: wait, type: error, error: e, message: m}
retries: {maximumAttempts: 3, initialInterval: PT1H}
)");
  const InstanceId id = start("w");
  ASSERT_TRUE(read_live(*tx, ns, id).value());
  expect_sound();
  where_ = fmt::format("live/default/{} head: ", to_string(id));
  expect_only(timers("the retry of the instance is due at"),
              head(id, [](Instance& one) { move(one, TimerKind::kRetry, Duration(1)); }));
  expect_among(
      timers(
          "the history says that the instance waits for its next run, but the instance does not"),
      head(id, [](Instance& one) { one.awaits_run = false; }));
}

// Listeners.

TEST_F(CheckWaitsTest, ChecksListenersAgainstTheState) {
  const InstanceId id = wait_in(
      "type: consumeEvent, event: {type: go, context: {source: '^a', customerId: jq(.from)}}");
  expect_only(listeners("the instance listens for entry 0 other"),
              head(id, [](Instance& one) { one.listeners.at(0).filter.type = "other"; }));
  expect_only(listeners("the instance listens for entry 0 go"),
              head(id, [](Instance& one) { one.listeners.push_back(one.listeners.at(0)); }));
  expect_among("but the text of an attribute is not the one that its state computes from its data",
               head(id, [](Instance& one) {
                 for (Predicate& predicate : one.listeners.at(0).filter.predicates) {
                   if (predicate.kind != Predicate::Kind::kPattern) predicate.text = "other";
                 }
               }));
  expect_among("with a pattern that is not a regular expression", head(id, [](Instance& one) {
                 for (Predicate& predicate : one.listeners.at(0).filter.predicates) {
                   if (predicate.kind == Predicate::Kind::kPattern) predicate.text = "(";
                 }
               }));
}

TEST_F(CheckWaitsTest, ChecksSlotsAgainstListenersInAStateOfTypeEventAnd) {
  const InstanceId id = wait_in("type: eventAnd, events: [{type: one}, {type: two}]");
  publish({.id = "1", .source = "/s", .type = "one"});
  expect_sound();
  expect_among("the state waits for 2 events, but the instance has 3 slots (part 3)",
               [&](Transaction& in) {
                 in.put(Table::kLive, part(id, Part::kSlots),
                        encode_slots({LazyJson(1), std::nullopt, std::nullopt}));
               });
  expect_only(
      listeners("the instance listens for entry 1 two, but its state listens for entry 0 one"),
      [&](Transaction& in) {
        in.put(Table::kLive, part(id, Part::kSlots), encode_slots({std::nullopt, LazyJson(1)}));
      });
}

// Calls.

TEST_F(CheckWaitsTest, ChecksCallsAgainstTheState) {
  const InstanceId id = wait_in(
      "type: action, action: {function: f, startToCloseTimeout: PT1H, "
      "scheduleToStartTimeout: PT1H, scheduleToCloseTimeout: PT2H}");
  const std::string key = part(id, Part::kCall) + std::string(4, '\0');
  const auto call = [&](const std::function<void(Call&)>& change) {
    return [=](Transaction& in) {
      edit<Call>(in, Table::kLive, key, decode_call, encode_call, change);
    };
  };
  expect_among("the function has a timeout, but the deadline",
               call([](Call& one) { one.deadlines.fill(std::nullopt); }));
  expect_among(timers("a deadline or retry of a call is earlier than the timer for calls, or that "
                      "timer is missing"),
               head(id, [](Instance& one) { drop(one, TimerKind::kCalls); }));
  expect_among(timers("a deadline or retry of a call is earlier than the timer for calls, or that "
                      "timer is missing"),
               head(id, [](Instance& one) { move(one, TimerKind::kCalls, Duration(1)); }));
  expect_among("the call started a subflow, but its function runs outside millrace",
               call([](Call& one) { one.outside = false; }));
}

TEST_F(CheckWaitsTest, ChecksATaskAgainstTheActionOfTheState) {
  const InstanceId id = wait_in("type: action, action: {function: f, input: jq(.from)}");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  expect_task_compared(task, 0, id);
}

}  // namespace
}  // namespace millrace
