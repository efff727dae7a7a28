// TimerInputs: what a due timer does to what it belongs to, and which timers an event may overtake.
#include "orchestrator/batch/timer_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "tests/unit/batch/draft_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaitsAnHour = R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";
constexpr const char* kWaitsTwice = R"(
id: waits-twice
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: never}
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: {type: go}}
)";
constexpr const char* kPays = R"(
id: pays
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge, scheduleToStartTimeout: 10s, startToCloseTimeout: 1m, retries: {maximumAttempts: 1}}
  catch: [{error: 'millrace.timeout.*', transition: wait}]
- {id: wait, type: consumeEvent, event: {type: go}}
)";
constexpr const char* kEvaluates = R"(
id: evaluates
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {a: 'jq([.b | limit(1; .[])])'}}}
)";
constexpr const char* kEvaluatesInput = R"(
id: evaluates-input
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge, input: 'jq([.b | limit(1; .[])])'}}
)";
constexpr const char* kGroups = R"(
id: groups
start: {type: eventsAnd, lifespan: PT30M, events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)";
class TimerInputsTest : public DraftTest {
 protected:
  static Event event(const std::string& type, const std::string& id = "1") {
    return {.id = id, .source = "/s", .type = type};
  }
  /// An instance of that workflow, committed.
  InstanceId begin(const std::string& text) {
    const InstanceId id = start(define(text));
    commit_draft();
    return id;
  }
  TimerInput timer(const InstanceId& id, TimerKind kind, Duration after) const {
    return {now + after, TimerInput::OfInstance{.space = space, .instance = id, .kind = kind}};
  }
  Status try_take(const TimerInput& input) {
    TRY(inputs.take(std::max(now, input.deadline), input));
    return try_commit_draft();
  }
  void take(const TimerInput& input) {
    const Status done = try_take(input);
    ASSERT_TRUE(done) << done.error().message;
  }
  bool may_be_overtaken(const TimerInput& input) {
    const Result<bool> may = inputs.may_be_overtaken(now, input);
    EXPECT_TRUE(may) << may.error().message;
    return may.value_or(false);
  }
  /// An event of that number that is to be published now, committed.
  TimerInput delay_event(uint64_t number, NamespaceNumber of) {
    write_delayed(*tx, number,
                  {.space = of,
                   .instance = numbered_id(1),
                   .at = now,
                   .event = encode_json_event(event("told"))});
    commit();
    return {now, TimerInput::OfDelayedEvent{number}};
  }
  /// The first timer of that kind that is due by then.
  template <class Owner>
  TimerInput due_of(TimePoint by) {
    for (const TimerInput& one : due(by)) {
      if (std::holds_alternative<Owner>(one.owner)) return one;
    }
    ADD_FAILURE() << "no such timer is due";
    return {by, Owner()};
  }
  /// One of the two events of a group has come, and its lifespan is over.
  TimerInput group_event() {
    const WorkflowEntry& entry = define(kGroups);
    EXPECT_TRUE(groups.offer(now, 1, event("one"), entry, *definition(entry), {0}));
    commit_draft();
    return due_of<TimerInput::OfGroupedEvent>(now + minutes(30));
  }
  /// The schedule of a workflow is set, and its first tick has come.
  TimerInput schedule_tick() {
    const WorkflowEntry& entry = define(kTicks);
    schedules.set(now, entry.number, std::nullopt, definition(entry)->start.cron);
    commit_draft();
    return due_of<TimerInput::OfSchedule>(now + hours(1));
  }
  /// The call of a new instance, whose task has been handed out.
  StartTask hand_out_call() {
    begin(kPays);
    const StartTask task = actions_of<StartTask>(outcome).at(0);
    tasks.hand_out(task);
    return task;
  }
  Call call_of(const InstanceId& id) {
    const auto instance = read_living(*tx, space, id);
    if (!instance || !*instance || (*instance)->calls.empty()) return {};
    return (*instance)->calls.front();
  }

  FanOuts fan_outs{draft, instances};
  Groups groups{draft, instances};
  Schedules schedules{draft, instances};
  TimerInputs inputs{draft, instances, fan_outs, groups, schedules};
};

TEST_F(TimerInputsTest, StepTheInstanceThatHasJustThatTimer) {
  const InstanceId id = begin(kWaitsAnHour);
  const TimerInput others[] = {timer(id, TimerKind::kStateTimeout, hours(2)),
                               timer(id, TimerKind::kKill, hours(1)),
                               timer(numbered_id(99), TimerKind::kStateTimeout, hours(1))};
  for (const TimerInput& other : others) {
    take(other);
    EXPECT_EQ(status_of(id), "waiting");
    EXPECT_EQ(outcome.counts.timers_fired, 1U) << "it is counted all the same";
  }
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(1));
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), IsEmpty()) << "it has ended";
}

TEST_F(TimerInputsTest, PassOverAnInstanceWhoseRowsAreDamaged) {
  const InstanceId id = begin(kWaitsAnHour);
  damage(Table::kLive);
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(outcome.counts.instances_damaged, 1U);
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), IsEmpty());
}

TEST_F(TimerInputsTest, HaveWhoTimesOutListenForWhatComesBehind) {
  const InstanceId id = begin(kWaitsTwice);
  recent.keep(*tx, space, event("go"), fingerprint({"1"}));
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "waiting") << "the event came before it waited for one";
  EXPECT_EQ(read_living_head(*tx, space, id).value()->listen_from, recent.last());
  EXPECT_TRUE(waiting.listens(id));
}

TEST_F(TimerInputsTest, GiveAnInstanceOnItsWayWhatWasKeptForIt) {
  const InstanceId id = begin(kPays);
  ASSERT_TRUE(recent.wants(space, "go"));
  recent.keep(*tx, space, event("go"), fingerprint({"1"}));
  take(timer(id, TimerKind::kCalls, seconds(10)));
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
}

TEST_F(TimerInputsTest, GiveTheTargetOfAFanOutItsEventBeforeItsTimeout) {
  const InstanceId id = begin(kWaitsAnHour);
  recent.keep(*tx, space, event("go"), fingerprint({"1"}));
  ASSERT_TRUE(fan_outs.begin(waiting.match("default", Attributes(event("go"))).instances));
  commit_draft();
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TimerInputsTest, PublishADelayedEventOnce) {
  const TimerInput delayed = delay_event(5, space);
  take(delayed);
  EXPECT_EQ(outcome.counts.published, 1U);
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.events.default.told"));
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);
  take(delayed);
  EXPECT_EQ(outcome.counts.published, 0U);
}

TEST_F(TimerInputsTest, DropADelayedEventOfADeletedNamespaceAndLeaveOneThatIsDamaged) {
  take(delay_event(5, NamespaceNumber(77)));
  EXPECT_EQ(outcome.counts.published, 0U);
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);

  const TimerInput damaged = delay_event(6, space);
  damage(Table::kDelayed);
  take(damaged);
  EXPECT_EQ(outcome.counts.published, 0U);
  EXPECT_EQ(rows_of(Table::kDelayed), 1U) << "somebody may want to look at it";
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(TimerInputsTest, ExpireAnEventOfAGroupAndTickASchedule) {
  take(group_event());
  EXPECT_EQ(outcome.counts.groups_expired, 1U);
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
  take(schedule_tick());
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(TimerInputsTest, AskTheRunnerOnceBeforeAScheduleToStartTimeoutCounts) {
  const StartTask task = hand_out_call();
  const TimerInput overdue = timer(task.by, TimerKind::kCalls, seconds(10));
  for (int i = 0; i < 2; ++i) {
    take(overdue);
    EXPECT_THAT(runner.looked_for, ElementsAre(task.task));
    EXPECT_EQ(call_of(task.by).status, Call::Status::kRunning);
    EXPECT_EQ(rows_of(Table::kTasks), 1U);
  }
  tasks.looked(task.task);
  take(overdue);
  EXPECT_EQ(rows_of(Table::kTasks), 0U) << "nobody has begun with it";
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
  EXPECT_TRUE(waiting.listens(task.by)) << "the timeout is caught";
}

TEST_F(TimerInputsTest, CountAScheduleToStartTimeoutAtOnceWhereTheRunnerCannotLook) {
  runner.can_look = false;
  const StartTask task = hand_out_call();
  take(timer(task.by, TimerKind::kCalls, seconds(10)));
  EXPECT_THAT(runner.looked_for, SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(TimerInputsTest, MayBeOvertakenWhereAnEventWouldHaveComeFirst) {
  const InstanceId listens = begin(kWaitsAnHour);
  const InstanceId pays = begin(kPays);
  const InstanceId evaluates = begin(kEvaluates);
  const InstanceId evaluates_input = begin(kEvaluatesInput);
  ASSERT_EQ(status_of(evaluates), "running");
  ASSERT_EQ(status_of(evaluates_input), "running");
  const struct {
    const char* what;
    TimerInput input;
    bool may;
  } cases[] = {
      {"the timeout of a wait", timer(listens, TimerKind::kStateTimeout, hours(1)), true},
      {"the end of who waits", timer(listens, TimerKind::kKill, hours(1)), true},
      {"a delay", timer(listens, TimerKind::kDelay, hours(1)), false},
      {"another attempt", timer(listens, TimerKind::kRetry, hours(1)), false},
      {"who evaluates what to wait for", timer(evaluates, TimerKind::kKill, hours(1)), true},
      {"who evaluates something else", timer(evaluates_input, TimerKind::kKill, hours(1)), false},
      {"who waits for a call", timer(pays, TimerKind::kCalls, hours(1)), false},
      {"who is not there", timer(numbered_id(99), TimerKind::kKill, hours(1)), false},
      {"a lifespan", {now, TimerInput::OfGroupedEvent{1}}, true},
      {"a delayed event", {now, TimerInput::OfDelayedEvent{1}}, false},
      {"a schedule", {now, TimerInput::OfSchedule{WorkflowNumber(1)}}, false},
  };
  for (const auto& [what, input, may] : cases) EXPECT_EQ(may_be_overtaken(input), may) << what;
}

TEST_F(TimerInputsTest, FireOnceThoughReadsFailBefore) {
  const InstanceId id = begin(kWaitsAnHour);
  const TimerInput each[] = {timer(id, TimerKind::kStateTimeout, hours(1)), delay_event(5, space),
                             group_event(), schedule_tick()};
  for (const TimerInput& one : each) {
    SCOPED_TRACE("timer " + std::to_string(one.owner.index()));
    const auto before = rows();
    const uint64_t failed = fail_each_read([&] { return try_take(one); },
                                           [&] {
                                             lose_draft();
                                             EXPECT_EQ(rows(), before);
                                           });
    EXPECT_GE(failed, 1U);
    EXPECT_EQ(outcome.counts.timers_fired, 1U);
  }
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_THAT(outbox_subjects(), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
  EXPECT_THAT(stored_living(), SizeIs(1)) << "the tick has started one";
}

TEST_F(TimerInputsTest, SayThatAReadFailedWhereItDecidesWhetherATimerWaits) {
  const TimerInput kill = timer(begin(kEvaluates), TimerKind::kKill, hours(1));
  const auto ask = [&]() -> Status {
    const bool may = TRY(inputs.may_be_overtaken(now, kill));
    TRY(tx->status());
    EXPECT_TRUE(may);
    return {};
  };
  EXPECT_GE(fail_each_read(ask, [&] { lose_draft(); }), 1U);
}

}  // namespace
}  // namespace millrace
