// TimerInputs: the effect of each kind of due timer, and the timers that an event may overtake.
#include "orchestrator/batch/timer_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "tests/unit/batch/batch_part_fixture.h"

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
class TimerInputsTest : public BatchPartTest {
 protected:
  static Event event(const std::string& type, const std::string& id = "1") {
    return {.id = id, .source = "/s", .type = type};
  }
  /// Starts an instance of the workflow and commits.
  InstanceId start_committed(const std::string& text) {
    const InstanceId id = start(define(text));
    commit_batch();
    return id;
  }
  TimerInput timer(const InstanceId& id, TimerKind kind, Duration after) const {
    return {now + after, TimerInput::OfInstance{.ns = ns, .instance = id, .kind = kind}};
  }
  Status try_take(const TimerInput& input) {
    TRY(inputs.apply_input(std::max(now, input.deadline), input));
    return try_commit_batch();
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
  /// Stores a delayed event with that number, which is due now, and commits.
  TimerInput store_delayed(uint64_t number, NamespaceNumber of) {
    write_delayed(*tx, number,
                  {.ns = of,
                   .instance = numbered_id(1),
                   .at = now,
                   .event = encode_json_event(event("told"))});
    commit();
    return {now, TimerInput::OfDelayedEvent{number}};
  }
  /// The first timer that is due by that time and belongs to an owner of type `Owner`.
  template <class Owner>
  TimerInput due_of(TimePoint by) {
    for (const TimerInput& one : due(by)) {
      if (std::holds_alternative<Owner>(one.owner)) return one;
    }
    ADD_FAILURE() << "no such timer is due";
    return {by, Owner()};
  }
  /// Offers one of the two events of a group; returns the timer of its lifespan.
  TimerInput group_event() {
    const WorkflowEntry& entry = define(kGroups);
    const Event one = event("one");
    const AppliedEvent applied{.event = one, .position = {1, 1}, .stamped = now};
    std::optional<Error> over;
    EXPECT_TRUE(groups.offer(now, applied, entry, *definition(entry), {0}, over));
    commit_batch();
    return due_of<TimerInput::OfGroupedEvent>(now + minutes(30));
  }
  /// Sets the schedule of a workflow; returns the timer of its first tick.
  TimerInput schedule_tick() {
    const WorkflowEntry& entry = define(kTicks);
    schedules.set(now, entry.number, std::nullopt, definition(entry)->start.cron);
    commit_batch();
    return due_of<TimerInput::OfSchedule>(now + hours(1));
  }
  /// Starts an instance and hands out the task of its call.
  StartTask hand_out_call() {
    start_committed(kPays);
    const StartTask task = actions_of<StartTask>(outcome).at(0);
    tasks.hand_out(task);
    return task;
  }
  Call call_of(const InstanceId& id) {
    const auto instance = read_live(*tx, ns, id);
    if (!instance || !*instance || (*instance)->calls.empty()) return {};
    return (*instance)->calls.front();
  }

  FanOuts fan_outs{batch, instances};
  Groups groups{batch, instances};
  Schedules schedules{batch, instances};
  TimerInputs inputs{batch, instances, fan_outs, groups, schedules};
};

TEST_F(TimerInputsTest, StepAnInstanceOnlyForATimerThatItHas) {
  const InstanceId id = start_committed(kWaitsAnHour);
  const TimerInput others[] = {timer(id, TimerKind::kStateTimeout, hours(2)),
                               timer(id, TimerKind::kKill, hours(1)),
                               timer(numbered_id(99), TimerKind::kStateTimeout, hours(1))};
  for (const TimerInput& other : others) {
    take(other);
    EXPECT_EQ(status_of(id), "waiting");
    EXPECT_EQ(outcome.counts.timers_fired, 1U) << "each timer is counted";
  }
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), SizeIs(1));
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), IsEmpty()) << "the instance has ended";
}

TEST_F(TimerInputsTest, SkipAnInstanceWithDamagedRows) {
  const InstanceId id = start_committed(kWaitsAnHour);
  damage(Table::kLive);
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(outcome.counts.instances_damaged, 1U);
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_THAT(actions_of<InstanceEnd>(outcome), IsEmpty());
}

TEST_F(TimerInputsTest, LeadToAWaitThatIgnoresEventsFromBeforeTheTimeout) {
  const InstanceId id = start_committed(kWaitsTwice);
  kept_events.keep(*tx, ns, event("go"), fingerprint({"1"}), {1, 1});
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "waiting") << "the event came before the second wait";
  EXPECT_EQ(read_live_head(*tx, ns, id).value()->listen_from.kept, kept_events.last());
  EXPECT_TRUE(waiting.listens(id));
}

TEST_F(TimerInputsTest, DeliverKeptEventsWhenAnInstanceComesToWait) {
  const InstanceId id = start_committed(kPays);
  ASSERT_TRUE(kept_events.wants(ns, "go"));
  kept_events.keep(*tx, ns, event("go"), fingerprint({"1"}), {1, 1});
  take(timer(id, TimerKind::kCalls, seconds(10)));
  EXPECT_EQ(status_of(id), "complete");
  EXPECT_EQ(outcome.counts.instances_woken, 1U);
}

TEST_F(TimerInputsTest, DeliverAFanOutToAnInstanceBeforeTheTimeoutOfTheInstanceFires) {
  const InstanceId id = start_committed(kWaitsAnHour);
  kept_events.keep(*tx, ns, event("go"), fingerprint({"1"}), {1, 1});
  ASSERT_TRUE(fan_outs.begin(waiting.match("default", Attributes(event("go"))).instances));
  commit_batch();
  take(timer(id, TimerKind::kStateTimeout, hours(1)));
  EXPECT_EQ(status_of(id), "complete");
}

TEST_F(TimerInputsTest, WaitWhileAnEventIsUndecidedForTheirOwner) {
  const InstanceId id = start_committed(kWaitsAnHour);
  const TimerInput timeout = timer(id, TimerKind::kStateTimeout, hours(1));
  const auto hold_an_event = [&] {
    kept_events.keep(*tx, ns, event("other"), fingerprint({"1"}), {1, 1});
    ASSERT_TRUE(kept_events.hold(kept_events.last()));
  };
  hold_an_event();
  kept_events.undecided().add(id);
  take(timeout);
  EXPECT_EQ(status_of(id), "waiting");
  EXPECT_EQ(outcome.counts.timers_fired, 0U);
  kept_events.undecided().remove(id);
  take(timeout);
  EXPECT_EQ(status_of(id), "failed");

  const TimerInput lifespan = group_event();
  const WorkflowNumber groups_of = catalog.find_workflow(ns, "groups")->number;
  hold_an_event();
  kept_events.undecided().add(groups_of);
  take(lifespan);
  EXPECT_EQ(outcome.counts.groups_expired, 0U);
  EXPECT_THAT(kept_events.undecided().take_lifespans(groups_of),
              ElementsAre(std::get<TimerInput::OfGroupedEvent>(lifespan.owner).number));
  EXPECT_THAT(kept_events.undecided().take_lifespans(groups_of), IsEmpty());
  kept_events.undecided().remove(groups_of);
  take(lifespan);
  EXPECT_EQ(outcome.counts.groups_expired, 1U);
}

TEST_F(TimerInputsTest, PublishADelayedEventOnce) {
  const TimerInput delayed = store_delayed(5, ns);
  take(delayed);
  EXPECT_EQ(outcome.counts.published, 1U);
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.events.default.told"));
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);
  take(delayed);
  EXPECT_EQ(outcome.counts.published, 0U);
}

TEST_F(TimerInputsTest, SkipADelayedEventThatIsDamagedOrOfADeletedNamespace) {
  take(store_delayed(5, NamespaceNumber(77)));
  EXPECT_EQ(outcome.counts.published, 0U);
  EXPECT_EQ(rows_of(Table::kDelayed), 0U);

  const TimerInput damaged = store_delayed(6, ns);
  damage(Table::kDelayed);
  take(damaged);
  EXPECT_EQ(outcome.counts.published, 0U);
  EXPECT_EQ(rows_of(Table::kDelayed), 1U) << "the row is left for analysis";
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(TimerInputsTest, DropAnExpiredEventOfAGroupAndStartAnInstanceAtATick) {
  take(group_event());
  EXPECT_EQ(outcome.counts.groups_expired, 1U);
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
  take(schedule_tick());
  EXPECT_EQ(outcome.counts.instances_started, 1U);
}

TEST_F(TimerInputsTest, AskTheRunnerOnceBeforeAScheduleToStartTimeoutFires) {
  const StartTask task = hand_out_call();
  const TimerInput overdue = timer(task.by, TimerKind::kCalls, seconds(10));
  for (int i = 0; i < 2; ++i) {
    take(overdue);
    EXPECT_THAT(runner.looked_for, ElementsAre(task.task));
    EXPECT_EQ(call_of(task.by).status, Call::Status::kRunning);
    EXPECT_EQ(rows_of(Table::kTasks), 1U);
  }
  tasks.start_checked(task.task);
  take(overdue);
  EXPECT_EQ(rows_of(Table::kTasks), 0U) << "no worker started the task";
  EXPECT_THAT(actions_of<StopTask>(outcome), SizeIs(1));
  EXPECT_TRUE(waiting.listens(task.by)) << "the state catches the timeout";
}

TEST_F(TimerInputsTest, FireAScheduleToStartTimeoutAtOnceIfTheRunnerCannotCheckTheStart) {
  runner.can_look = false;
  const StartTask task = hand_out_call();
  take(timer(task.by, TimerKind::kCalls, seconds(10)));
  EXPECT_THAT(runner.looked_for, SizeIs(1));
  EXPECT_EQ(rows_of(Table::kTasks), 0U);
}

TEST_F(TimerInputsTest, MayBeOvertakenByAnEventOnlyIfTheEventCouldChangeTheirEffect) {
  const InstanceId waits = start_committed(kWaitsAnHour);
  const InstanceId pays = start_committed(kPays);
  const InstanceId evaluates = start_committed(kEvaluates);
  const InstanceId evaluates_input = start_committed(kEvaluatesInput);
  ASSERT_EQ(status_of(evaluates), "running");
  ASSERT_EQ(status_of(evaluates_input), "running");
  const struct {
    const char* what;
    TimerInput input;
    bool may;
  } cases[] = {
      {"the timeout of a wait", timer(waits, TimerKind::kStateTimeout, hours(1)), true},
      {"the kill timer of a waiting instance", timer(waits, TimerKind::kKill, hours(1)), true},
      {"a delay", timer(waits, TimerKind::kDelay, hours(1)), false},
      {"a retry", timer(waits, TimerKind::kRetry, hours(1)), false},
      {"the kill timer of an instance that evaluates its event filter",
       timer(evaluates, TimerKind::kKill, hours(1)), true},
      {"the kill timer of an instance that evaluates an input",
       timer(evaluates_input, TimerKind::kKill, hours(1)), false},
      {"a timer of an instance that waits for a call", timer(pays, TimerKind::kCalls, hours(1)),
       false},
      {"a timer of an unknown instance", timer(numbered_id(99), TimerKind::kKill, hours(1)), false},
      {"a lifespan", {now, TimerInput::OfGroupedEvent{1}}, true},
      {"a delayed event", {now, TimerInput::OfDelayedEvent{1}}, false},
      {"a schedule", {now, TimerInput::OfSchedule{WorkflowNumber(1)}}, false},
  };
  for (const auto& [what, input, may] : cases) EXPECT_EQ(may_be_overtaken(input), may) << what;
}

TEST_F(TimerInputsTest, FireOnceDespiteFailedReads) {
  const InstanceId id = start_committed(kWaitsAnHour);
  const TimerInput each[] = {timer(id, TimerKind::kStateTimeout, hours(1)), store_delayed(5, ns),
                             group_event(), schedule_tick()};
  for (const TimerInput& one : each) {
    SCOPED_TRACE("timer " + std::to_string(one.owner.index()));
    const auto before = rows();
    const uint64_t failed = fail_each_read([&] { return try_take(one); },
                                           [&] {
                                             lose_batch();
                                             EXPECT_EQ(rows(), before);
                                           });
    EXPECT_GE(failed, 1U);
    EXPECT_EQ(outcome.counts.timers_fired, 1U);
  }
  EXPECT_EQ(status_of(id), "failed");
  EXPECT_THAT(outbox_subjects(), SizeIs(1));
  EXPECT_EQ(rows_of(Table::kGroups), 0U);
  EXPECT_THAT(stored_live(), SizeIs(1)) << "the tick started one instance";
}

TEST_F(TimerInputsTest, ReportAReadThatFailsDuringTheCheckWhetherAnEventMayOvertakeATimer) {
  const TimerInput kill = timer(start_committed(kEvaluates), TimerKind::kKill, hours(1));
  const auto ask = [&]() -> Status {
    const bool may = TRY(inputs.may_be_overtaken(now, kill));
    TRY(tx->status());
    EXPECT_TRUE(may);
    return {};
  };
  EXPECT_GE(fail_each_read(ask, [&] { lose_batch(); }), 1U);
}

}  // namespace
}  // namespace millrace
