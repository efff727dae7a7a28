// LocalWhyDesk: for what the calls of an instance wait.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class WhyOfCallsTest : public LocalWhyDeskTest {
 protected:
  static constexpr const char* kAsks = R"(
id: asks
functions:
- {id: approve, type: knative-namespace, service: mail}
- {id: remind, type: subflow, workflow: reminders}
states:
- id: ask
  type: parallel
  mode: or
  actions: [{function: approve}, {function: remind}]
  transition: rest
- {id: rest, type: delay, duration: PT1H, transition: each}
- {id: each, type: foreach, array: jq(.all), action: {function: approve}}
)";

  WhyOfCallsTest() : asks(apply(kAsks)) {}

  static InstanceId task_id() { return numbered_id(70); }

  /// The instance 1, whose first call has the task, and whose second call has ended.
  Instance asking() const {
    Instance instance = waiting_instance(asks, 1);
    instance.calls.resize(2);
    instance.calls[0] = {
        .status = Call::Status::kRunning, .attempt = 1, .id = task_id(), .outside = true};
    instance.calls[1].status = Call::Status::kFailed;
    return instance;
  }
  /// Its task.
  StartTask task() const {
    return {.ns = ns,
            .task = task_id(),
            .caller = Caller{.instance = numbered_id(1), .index = 0, .attempt = 1},
            .by = numbered_id(1),
            .workflow = asks,
            .state = "ask",
            .function = "approve",
            .runs = NamedService{.name = "mail"},
            .input = Json(nullptr)};
  }
  void write(const StartTask& task) {
    write_task(*tx, task);
    commit();
  }
  Json waits() { return of_instance(1)["instance"]["waits"]; }
  /// `for` of the only call that has not ended.
  std::string awaited() {
    const Json found = waits();
    EXPECT_EQ(found.size(), 1U) << found;
    return found.empty() ? "" : found[0].value("for", "");
  }

  const WorkflowNumber asks;
};

TEST_F(WhyOfCallsTest, ShowACallThatWaitsForItsCallback) {
  Instance instance = asking();
  instance.calls[0].deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = now + hours(2);
  store(instance);
  StartTask accepted = task();
  accepted.deadline = now + hours(3);
  accepted.is_accepted = true;
  write(accepted);
  EXPECT_EQ(waits(), Json::array({{{"index", 0},
                                   {"function", "approve"},
                                   {"status", "scheduled"},
                                   {"attempt", 1},
                                   {"since", format_rfc3339(time_of(task_id()))},
                                   {"task", to_string(task_id())},
                                   {"for", "callback"},
                                   {"service", "mail"},
                                   {"deadline", format_rfc3339(now + hours(2))}}}));
  accepted.deadline = now + hours(1);
  write(accepted);
  EXPECT_EQ(waits()[0]["deadline"], format_rfc3339(now + hours(1)));
}

TEST_F(WhyOfCallsTest, SayWhetherAWorkerAServiceOrAPauseHoldsTheTask) {
  store(asking());
  EXPECT_EQ(awaited(), "answer") << "the row of its task is missing";
  write(task());
  EXPECT_EQ(awaited(), "worker") << "the settings do not name the service";
  set_settings({{"services", {{"mail", {{"queue", "millrace.tasks.default.post"}}}}}});
  EXPECT_EQ(awaited(), "worker");
  set_settings({{"services", {{"mail", {{"url", "http://mail/x"}}}}}});
  EXPECT_EQ(awaited(), "connection");
  set_settings({{"services", {{"mail", {{"request", "svc.mail"}}}}}});
  EXPECT_EQ(awaited(), "answer");
  set_settings({{"services", {{"mail", {{"url", "http://mail/x"}}}}}, {"paused", {"mail"}}});
  EXPECT_EQ(awaited(), "service");
  started.add(task_id());
  EXPECT_EQ(awaited(), "answer") << "a worker has started it before the pause";
}

TEST_F(WhyOfCallsTest, ShowNoEndThatThePauseOfTheServiceHolds) {
  Instance instance = asking();
  instance.calls[0].deadlines[static_cast<size_t>(TimeoutKind::kScheduleToClose)] =
      now + seconds(4);
  store(instance);
  StartTask bounded = task();
  bounded.deadline = now + seconds(4);
  write(bounded);
  EXPECT_EQ(waits()[0]["deadline"], format_rfc3339(now + seconds(4)));
  set_settings({{"paused", {"mail"}}});
  EXPECT_EQ(waits()[0]["for"], "service");
  EXPECT_FALSE(waits()[0].contains("deadline")) << waits();
  instance.timers = {{TimerKind::kKill, now + hours(1)}};
  store(instance);
  EXPECT_EQ(waits()[0]["deadline"], format_rfc3339(now + hours(1))) << "this timeout counts";
  set_settings(Json::object());
  instance.timers.clear();
  instance.paused = true;
  store(instance);
  EXPECT_FALSE(waits()[0].contains("deadline")) << "the pause of the instance holds it, too";
}

TEST_F(WhyOfCallsTest, TakeTheServicesOfTheNamespaceDefaultForAGlobalOne) {
  const NamespaceNumber home = ns;
  ns = create_namespace("shop");
  const WorkflowNumber shop_asks = apply(kAsks);
  Instance instance = asking();
  instance.ns = ns;
  instance.revision.workflow = shop_asks;
  store(instance);
  StartTask global = task();
  global.ns = ns;
  global.runs = NamedService{.name = "mail", .global = true};
  write(global);
  const auto of_shop = [&] {
    const Json found = shown(desk().of_instance("shop", numbered_id(1), std::nullopt, {}));
    return found["instance"]["waits"][0];
  };
  EXPECT_EQ(of_shop()["for"], "worker");
  EXPECT_EQ(of_shop()["global"], true);
  const NamespaceNumber shop = std::exchange(ns, home);
  set_settings({{"services", {{"mail", {{"url", "http://mail/x"}}}}}, {"paused", {"mail"}}});
  EXPECT_EQ(of_shop()["for"], "connection") << "a pause concerns the calls of its own namespace";
  ns = shop;
  set_settings({{"paused", {"mail"}}});
  EXPECT_EQ(of_shop()["for"], "service");
}

TEST_F(WhyOfCallsTest, SayThatACallWaitsForTheThrottleOfItsService) {
  store(asking());
  StartTask limited = task();
  const StartLimit rate{.limit = 1, .period = Span::parse("PT1M").value(), .key = {}};
  limited.throttle = TaskThrottle{.rate = rate, .timeout = {}, .number = 4};
  write(limited);
  EXPECT_EQ(awaited(), "worker") << "the throttle has let it pass";
  const CallSlotKey key = call_throttle_key_of(limited);
  const CallPlace place{.kind = waiting_kind(key), .number = 4};
  write_call_counts(*tx, key, {.service = slot_service_of(limited), .queued = 1});
  write_call_place(*tx, key, place,
                   {.task = task_id(),
                    .since = now,
                    .limit = 1,
                    .period = rate.period,
                    .until = now + hours(2)});
  const TimePoint at = now + hours(1);
  ASSERT_TRUE(write_start_rate(*tx, call_rate_place(tx->seal().id_key(), ns, key.key),
                               {.ns = ns,
                                .ends = at,
                                .listed = at,
                                .use = {{{.first = at - minutes(1), .last = at - minutes(1)}}}},
                               true));
  commit();
  EXPECT_EQ(awaited(), "throttle");
  const auto waiting = [&] { return of_instance(1)["instance"]["waitingCalls"][0]["throttled"]; };
  EXPECT_EQ(waiting()["nextAt"], format_rfc3339(now + hours(1)));
  EXPECT_EQ(waiting()["until"], format_rfc3339(now + hours(2)));
  EXPECT_FALSE(waiting().contains("servicePaused"));
  set_settings({{"paused", {"mail"}}});
  EXPECT_EQ(awaited(), "service") << "no call passes its throttle";
  EXPECT_EQ(waiting()["servicePaused"], true);
  EXPECT_FALSE(waiting().contains("nextAt")) << "the rate alone permits no call";
  EXPECT_FALSE(waiting().contains("until")) << "a pause of the service holds the timeout";
}

TEST_F(WhyOfCallsTest, SayThatACallWaitsForASlot) {
  store(asking());
  StartTask limited = task();
  limited.slot = TaskSlot{.limit = 1, .number = 4};
  write(limited);
  EXPECT_EQ(awaited(), "worker") << "it has no place any more";
  const CallSlotKey key = call_slot_key_of(limited);
  CallPlace place{.kind = QueueRow::kCallWaiting, .number = 4};
  write_call_counts(*tx, key, {.service = slot_service_of(limited), .queued = 1});
  write_call_place(*tx, key, place, {.task = task_id(), .since = now});
  commit();
  write_call_place(*tx, key, {.kind = QueueRow::kCallHolder, .number = 3},
                   {.task = numbered_id(71), .since = now});
  commit();
  EXPECT_EQ(awaited(), "slot");
  EXPECT_EQ(of_instance(1)["instance"]["waitingCalls"].size(), 1U);
  EXPECT_EQ(of_instance(1)["instance"]["waitingCalls"][0]["slot"]["holders"],
            Json::array({{{"task", to_string(numbered_id(71))}, {"since", format_rfc3339(now)}}}));
  set_settings({{"paused", {"mail"}}});
  EXPECT_EQ(awaited(), "service") << "no call gets a slot";
  EXPECT_EQ(of_instance(1)["instance"]["waitingCalls"][0]["slot"]["servicePaused"], true);
  set_settings(Json::object());
  erase_call_place(*tx, key, place);
  place.kind = QueueRow::kCallHolder;
  write_call_place(*tx, key, place, {.task = task_id(), .since = now});
  commit();
  EXPECT_EQ(awaited(), "worker");
}

TEST_F(WhyOfCallsTest, MarkAKeyThatTheListsDoNotFind) {
  Instance instance = asking();
  store(instance);
  StartTask limited = task();
  limited.slot = TaskSlot{.limit = 1, .key = R"("c-1")", .number = 4};
  write(limited);
  const CallSlotKey key = call_slot_key_of(limited);
  CallSlotCounts counts{.service = slot_service_of(limited), .queued = 1};
  counts.key = R"("c-1")";
  write_call_counts(*tx, key, counts);
  write_call_place(*tx, key, {.kind = QueueRow::kCallWaiting, .number = 4},
                   {.task = task_id(), .since = now});
  commit();
  const auto slot = [&] { return of_instance(1)["instance"]["waitingCalls"][0]["slot"]; };
  EXPECT_EQ(slot()["key"], "c-1");
  EXPECT_FALSE(slot().contains("keySealed"));
  counts.sealed = true;
  write_call_counts(*tx, key, counts);
  commit();
  EXPECT_EQ(slot()["keySealed"], true);
  counts.sealed = {};
  write_call_counts(*tx, key, counts);
  instance.calls[0].sealed = true;
  store(instance);
  EXPECT_EQ(slot()["key"], "(sealed)");
  EXPECT_EQ(slot()["keySealed"], true);
}

TEST_F(WhyOfCallsTest, SayWhenTheNextAttemptIsAndWhyTheLastOneFailed) {
  Instance instance = asking();
  instance.calls[0].status = Call::Status::kBetween;
  instance.calls[0].retry_at = now + seconds(5);
  instance.calls[0].last_error = {.error = {"mail.down", "4711"}, .at = now};
  store(instance);
  const Json call = waits()[0];
  EXPECT_EQ(call["for"], "attempt");
  EXPECT_EQ(call["nextRetryAt"], format_rfc3339(now + seconds(5)));
  EXPECT_EQ(call["lastError"],
            (Json{{"code", "mail.down"}, {"message", "4711"}, {"at", format_rfc3339(now)}}));
  EXPECT_FALSE(call.contains("service"));
  instance.calls[0].sealed = true;
  instance.paused = true;
  instance.status = InstanceStatus::kPaused;
  store(instance);
  EXPECT_EQ(waits()[0]["for"], "resume");
  EXPECT_EQ(waits()[0]["lastError"]["message"], "(sealed)");
}

TEST_F(WhyOfCallsTest, NameTheSubflowAndTheCallsThatWaitForOthers) {
  Instance instance = asking();
  instance.calls[0].status = Call::Status::kFailed;
  instance.calls[1] = {.status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(71)};
  store(instance);
  const Json call = waits()[0];
  EXPECT_EQ(call["for"], "subflow");
  EXPECT_EQ(call["workflow"], "reminders");
  EXPECT_EQ(call["instance"], to_string(numbered_id(71)));

  Instance many = waiting_instance(asks, 1);
  many.state = 2;
  many.calls.resize(25);
  store(many);
  const Json why = of_instance(1)["instance"];
  EXPECT_EQ(why["waits"].size(), 20U);
  EXPECT_EQ(why["waits"][19]["for"], "others");
  EXPECT_EQ(why["moreWaits"], 5);
  many.paused = true;
  many.status = InstanceStatus::kPaused;
  store(many);
  EXPECT_EQ(waits()[0]["for"], "resume");
}

TEST_F(WhyOfCallsTest, SayUntilWhenADelayIs) {
  Instance instance = waiting_instance(asks, 1);
  instance.state = 1;
  instance.timers = {{TimerKind::kDelay, now + hours(1)}};
  store(instance);
  EXPECT_EQ(waits(), Json::array({{{"until", format_rfc3339(now + hours(1))},
                                   {"what", "delay"},
                                   {"causes", "state"},
                                   {"then", "each"}}}));
  EXPECT_FALSE(of_instance(1)["instance"].contains("moreWaits"));
}

TEST_F(WhyOfCallsTest, ShowTheCallsIfTheSettingsAndTheTaskAreDamaged) {
  store(asking());
  write(task());
  damage_settings();
  EXPECT_EQ(awaited(), "worker");
  damage(Table::kTasks, rows::key_of(task_id()));
  EXPECT_EQ(awaited(), "answer");
}

}  // namespace
}  // namespace millrace
