#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;

class CheckWaitsTest : public CheckTest {
 protected:
  /// An instance of a workflow whose only state has these keys; it waits.
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

TEST_F(CheckWaitsTest, TellsAReadThatFailsAndNothingThatMayFollowFromIt) {
  wait_in("type: action, action: {function: f, startToCloseTimeout: PT1H}");
  EXPECT_GT(expect_each_read_to_count(), 30U);
}

TEST_F(CheckWaitsTest, HoldsTimersAgainstWhatTheInstanceDoes) {
  const InstanceId id = wait_for_event();
  const Timer kill{TimerKind::kKill, now + hours(1)};
  expect_only(timers("it has two timers of one kind"), head(id, [&](Instance& one) {
                one.timers = {kill, kill};
              }));
  expect_among(timers("it has a timer of a delay or a retry, and does not wait"),
               head(id, [&](Instance& one) {
                 one.phase = Phase::kLeaving;
                 one.timers = {{TimerKind::kDelay, now + hours(1)}};
               }));
  expect_only(timers("it has a timer for calls, and no call"), head(id, [&](Instance& one) {
                one.timers = {{TimerKind::kCalls, now + hours(1)}};
              }));
  expect_among(timers("it awaits its next run, and has no timer for it"),
               head(id, [](Instance& one) { one.awaits_run = true; }));
  expect_only(timers("it has timers that a pause holds, and is not paused"),
              head(id, [&](Instance& one) { one.held_timers = {kill}; }));
  expect_only("instance.stuck " + where_ + "it waits for no event, no timer and no call",
              head(id, [](Instance& one) { one.listeners.clear(); }));
}

TEST_F(CheckWaitsTest, HoldsTheTimerOfItsStateAgainstItsTimeout) {
  const InstanceId id = wait_in("type: consumeEvent, timeout: PT1H, event: {type: go}");
  expect_only(timers("its state has a timeout of PT1H, and it has no timer of it"),
              head(id, [](Instance& one) { drop(one, TimerKind::kStateTimeout); }));
  for (const Duration by : {Duration(1), Duration(-1)}) {
    expect_only(timers("its state timeout is at"),
                head(id, [=](Instance& one) { move(one, TimerKind::kStateTimeout, by); }));
  }
}

TEST_F(CheckWaitsTest, FindsATimeoutThatItsStateDoesNotHave) {
  const InstanceId id = wait_for_event();
  expect_only(timers("it has a state timeout, and nothing that could time out"),
              head(id, [this](Instance& one) {
                one.timers = {{TimerKind::kStateTimeout, now + hours(1)}};
              }));
}

TEST_F(CheckWaitsTest, HoldsTheTimersOfItsRunAgainstItsDefinition) {
  const InstanceId id =
      wait_in("type: consumeEvent, event: {type: go}", "timeouts: {interrupt: PT1H, kill: PT2H}");
  for (const auto& [kind, name] :
       {std::pair(TimerKind::kInterrupt, "interrupt"), std::pair(TimerKind::kKill, "kill")}) {
    expect_only(timers(fmt::format("its timer `{}`, due at", name)),
                head(id, [kind = kind](Instance& one) { drop(one, kind); }));
    expect_only(timers(fmt::format("its timer `{}` is at", name)),
                head(id, [kind = kind](Instance& one) { move(one, kind, Duration(1)); }));
  }
  expect_only(timers("it has a timer `run`, and its definition has no such timeout"),
              head(id, [this](Instance& one) {
                one.timers.push_back({TimerKind::kRun, now + hours(1)});
              }));
}

TEST_F(CheckWaitsTest, HoldsADelayAgainstItsState) {
  const InstanceId id = wait_in("type: delay, duration: PT1H");
  expect_only(timers("its delay is over at"),
              head(id, [](Instance& one) { move(one, TimerKind::kDelay, Duration(-1)); }));
  expect_only(timers("its delay is over at"),
              head(id, [](Instance& one) { move(one, TimerKind::kDelay, Duration(1)); }));
  expect_among("it has no timer of its delay", head(id, [](Instance& one) {
                 drop(one, TimerKind::kDelay);
                 one.listeners.push_back({.filter = {.type = "go"}});
               }));
}

TEST_F(CheckWaitsTest, HoldsARetryAgainstItsHistory) {
  // The second raise is of the second attempt.
  define(R"(
id: w
states:
- {id: wait, type: error, error: e, message: m}
retries: {maximumAttempts: 3, initialInterval: PT1H}
)");
  const InstanceId id = start("w");
  ASSERT_TRUE(read_living(*tx, space, id).value());
  expect_sound();
  where_ = fmt::format("live/default/{} head: ", to_string(id));
  expect_only(timers("its retry is due at"),
              head(id, [](Instance& one) { move(one, TimerKind::kRetry, Duration(1)); }));
  expect_among(timers("its history tells of its next run, and it does not await one"),
               head(id, [](Instance& one) { one.awaits_run = false; }));
}

// Listeners.

TEST_F(CheckWaitsTest, HoldsListenersAgainstItsState) {
  const InstanceId id = wait_in(
      "type: consumeEvent, event: {type: go, context: {source: '^a', customerId: jq(.from)}}");
  expect_only(listeners("it listens for entry 0 other"),
              head(id, [](Instance& one) { one.listeners.at(0).filter.type = "other"; }));
  expect_only(listeners("it listens for entry 0 go"),
              head(id, [](Instance& one) { one.listeners.push_back(one.listeners.at(0)); }));
  expect_among("with another text of an attribute than its state makes of its data",
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

TEST_F(CheckWaitsTest, HoldsSlotsAndListenersAgainstEachOther) {
  const InstanceId id = wait_in("type: eventAnd, events: [{type: one}, {type: two}]");
  publish({.id = "1", .source = "/s", .type = "one"});
  expect_sound();
  expect_among("its state gathers 2 events, and its slots (part 3) are 3", [&](Transaction& in) {
    in.put(Table::kLive, part(id, Part::kSlots),
           encode_slots({LazyJson(1), std::nullopt, std::nullopt}));
  });
  expect_only(
      listeners("it listens for entry 1 two, and its state for entry 0 one"), [&](Transaction& in) {
        in.put(Table::kLive, part(id, Part::kSlots), encode_slots({std::nullopt, LazyJson(1)}));
      });
}

// Calls.

TEST_F(CheckWaitsTest, HoldsCallsAgainstWhatTheStateMakes) {
  const InstanceId id = wait_in(
      "type: action, action: {function: f, startToCloseTimeout: PT1H, "
      "scheduleToStartTimeout: PT1H, scheduleToCloseTimeout: PT2H}");
  const std::string key = part(id, Part::kCall) + std::string(4, '\0');
  const auto call = [&](const std::function<void(Call&)>& change) {
    return [=](Transaction& in) {
      edit<Call>(in, Table::kLive, key, decode_call, encode_call, change);
    };
  };
  expect_among("its function has a timeout, and the deadline",
               call([](Call& one) { one.deadlines.fill(std::nullopt); }));
  expect_among(timers("something of its calls is due before its timer, or without one"),
               head(id, [](Instance& one) { drop(one, TimerKind::kCalls); }));
  expect_among(timers("something of its calls is due before its timer, or without one"),
               head(id, [](Instance& one) { move(one, TimerKind::kCalls, Duration(1)); }));
  expect_among("it is a subflow, and its function runs outside",
               call([](Call& one) { one.outside = false; }));
}

TEST_F(CheckWaitsTest, HoldsATaskAgainstTheCallThatItsStateMakes) {
  const InstanceId id = wait_in("type: action, action: {function: f, input: jq(.from)}");
  const InstanceId task = read_living(*tx, space, id).value()->calls.at(0).id;
  const struct {
    const char* what;
    void (*change)(StartTask&);
  } table[] = {
      {"state", [](StartTask& one) { one.state = "other"; }},
      {"function", [](StartTask& one) { one.function = "other"; }},
      {"service or container", [](StartTask& one) { one.runs = NamedService{"other"}; }},
      {"attempt", [](StartTask& one) { one.attempt = 2; }},
      {"input", [](StartTask& one) { one.input = LazyJson("other"); }},
  };
  for (const auto& row : table) {
    expect_only(fmt::format("task.caller tasks/{}: its {} is not that of call 0 of {}",
                            to_string(task), row.what, to_string(id)),
                [&](Transaction& in) {
                  edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode,
                                  row.change);
                });
  }
}

}  // namespace
}  // namespace millrace
