// Workflows with `throttle` through the whole engine: who waits, who begins when, and what
// restarts, pauses, cancels, deadlines and new revisions do to the starts that wait.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A workflow `send` whose instances end at once.
std::string throttled_send(const std::string& throttle, const std::string& more = "") {
  return fmt::format("id: send\nthrottle: {}\n{}states:\n- {{id: end, type: noop}}\n", throttle,
                     more);
}

/// A workflow `send` whose instances wait for the event `sent` of their order.
std::string throttled_wait(const std::string& throttle, const std::string& more = "") {
  return fmt::format(
      "id: send\nthrottle: {}\n{}states:\n"
      "- {{id: wait, type: consumeEvent, event: {{type: sent, context: {{order: jq(.order)}}}}}}\n",
      throttle, more);
}

constexpr const char* kOneAMinute = "{limit: 1, period: PT1M}";
constexpr const char* kTwoForACustomer = "{limit: 2, period: PT1M, key: jq(.customer)}";

class Throttles : public testing::Test {
 protected:
  std::string start(const std::string& order = "a", const std::string& customer = "c1",
                    int rank = 0) {
    return world.start("send", {{"order", order}, {"customer", customer}, {"rank", rank}})["id"];
  }
  Error refused(const Json& input) {
    return world.refusal(
        StartInstance{.ns = "default", .workflow = "send", .input = input, .idempotency_key = ""});
  }
  std::vector<std::string> statuses(const std::vector<std::string>& ids) {
    std::vector<std::string> all;
    for (const std::string& id : ids) all.push_back(world.status(id));
    return all;
  }
  std::vector<std::string> statuses_of(const std::string& workflow) {
    std::vector<std::string> all;
    for (const Json& instance : world.instances()) {
      if (instance["workflow"] == workflow) all.push_back(instance["status"]);
    }
    return all;
  }
  /// Ends the wait of the instance of the order.
  void sent(const std::string& order) {
    world.publish("sent", fmt::format("sent-{}", ++sent_), nullptr, {{"order", order}});
    world.run_until_idle();
  }
  static InstanceId number_of(const std::string& id) { return parse_instance_id(id).value(); }
  void cancel(const std::string& id) { world.must(CancelInstance{"default", number_of(id)}); }
  void pause(const std::string& id) { world.must(PauseInstance{"default", number_of(id)}); }
  void resume(const std::string& id) { world.must(ResumeInstance{"default", number_of(id)}); }
  void restart() {
    world.restart();
    world.run_until_idle();
  }
  std::string error_of(const std::string& id) { return world.instance(id)["error"]["code"]; }
  double queued() { return world.metric("millrace_starts_queued_total"); }
  double admitted() { return world.metric("millrace_starts_admitted_total"); }

  World world;
  int sent_ = 0;
};

TEST_F(Throttles, LetTheLimitBeginAtOnceAndTheOthersWait) {
  world.apply(throttled_send(kTwoForACustomer));
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(start());
  EXPECT_THAT(statuses(ids), ElementsAre("complete", "complete", "pending", "pending", "pending"));
  EXPECT_EQ(queued(), 3);
  EXPECT_THAT(world.history(ids[2]), ElementsAre("started", "throttled end"));
  world.run_for(Duration(59'999));
  EXPECT_THAT(statuses(ids), Contains("pending").Times(3)) << "never early";
  world.run_for(Duration(1));
  EXPECT_THAT(statuses(ids),
              ElementsAre("complete", "complete", "complete", "complete", "pending"));
  EXPECT_THAT(world.history(ids[2]), Contains("released end"));
  EXPECT_EQ(admitted(), 2);
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(ids[4]), "complete");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, CountEachStartForOnePeriod) {
  world.apply(throttled_send(kTwoForACustomer));
  start();
  world.run_for(seconds(40));
  start();
  const std::string third = start();
  const std::string fourth = start();
  world.run_for(seconds(20));
  EXPECT_EQ(world.status(third), "complete") << "a minute after the first";
  world.run_for(seconds(39));
  EXPECT_EQ(world.status(fourth), "pending");
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(fourth), "complete") << "a minute after the second";
}

TEST_F(Throttles, CountEachKeyAlone) {
  world.apply(throttled_send(kTwoForACustomer));
  start("a", "c1");
  start("b", "c1");
  const std::string waits = start("c", "c1");
  const std::string passes = start("d", "c2");
  EXPECT_EQ(world.status(waits), "pending");
  EXPECT_EQ(world.status(passes), "complete") << "a key with room passes one without";
}

TEST_F(Throttles, AdmitByPriorityThenInTheOrderOfTheStarts) {
  world.apply(throttled_send(kOneAMinute, "priority: jq(.rank)\n"));
  start();
  const std::string low = start("low", "c1", -1);
  const std::string first = start("first", "c1", 5);
  const std::string second = start("second", "c1", 5);
  const std::string plain = start("plain", "c1", 0);
  std::vector<std::string> order;
  for (int i = 0; i < 4; ++i) {
    world.run_for(minutes(1));
    for (const std::string& id : {low, first, second, plain}) {
      const bool is_new = std::find(order.begin(), order.end(), id) == order.end();
      if (is_new && world.status(id) == "complete") order.push_back(id);
    }
  }
  EXPECT_THAT(order, ElementsAre(first, second, plain, low));
}

TEST_F(Throttles, LetNoNewStartPassThoseThatWait) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string waits = start();
  world.clock.advance(minutes(1));
  const std::string newest = start();
  EXPECT_EQ(world.status(waits), "complete");
  EXPECT_EQ(world.status(newest), "pending");
}

TEST_F(Throttles, RefuseAStartWhoseKeyIsTooLongOrWhosePriorityIsNoInteger) {
  world.apply(throttled_send(kTwoForACustomer, "priority: jq(.rank)\n"));
  EXPECT_EQ(refused({{"customer", std::string(600, 'x')}, {"rank", 1}}).code, "millrace.startKey");
  EXPECT_EQ(refused({{"customer", 1}, {"rank", "high"}}).code, "millrace.concurrency.priority");
  EXPECT_THAT(world.instances(), IsEmpty());
}

TEST_F(Throttles, HoldTheStartsOfEventsTicksAndGroups) {
  const std::string state = "states:\n- {id: end, type: noop}\n";
  const std::string one = "throttle: {limit: 1, period: P1D}\n";
  world.apply("id: by-event\n" + one + "start: {type: event, event: {type: begin}}\n" + state);
  world.apply("id: by-tick\n" + one + "start: {type: scheduled, cron: '@hourly'}\n" + state);
  world.apply("id: by-group\n" + one +
              "start: {type: eventsAnd, events: [{event: {type: x}}, {event: {type: y}}]}\n" +
              state);
  for (const char* const id : {"1", "2", "3"}) {
    world.publish("begin", id);
    world.publish("x", std::string("x") + id);
    world.publish("y", std::string("y") + id);
  }
  world.run_for(hours(2));
  EXPECT_THAT(statuses_of("by-event"), UnorderedElementsAre("complete", "pending", "pending"));
  EXPECT_THAT(statuses_of("by-group"), UnorderedElementsAre("complete", "pending", "pending"));
  EXPECT_THAT(statuses_of("by-tick"), UnorderedElementsAre("complete", "pending"));
  world.run_for(hours(23));
  EXPECT_THAT(statuses_of("by-event"), UnorderedElementsAre("complete", "complete", "pending"));
  EXPECT_THAT(statuses_of("by-group"), UnorderedElementsAre("complete", "complete", "pending"));
  EXPECT_THAT(statuses_of("by-tick"), Contains("complete").Times(2));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST_F(Throttles, HoldASubflow) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string caller = world.apply_order(R"(id: order
functions: [{id: f, type: subflow, workflow: send}]
states:
- {id: call, type: action, action: {function: f}}
)");
  EXPECT_EQ(world.status(caller), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(caller), "complete");
}

TEST_F(Throttles, ComeAfterDebounce) {
  world.apply(throttled_send(kOneAMinute, "debounce: {period: PT10S, key: jq(.customer)}\n"));
  start("a", "c1");
  start("b", "c2");
  world.run_for(seconds(10));
  EXPECT_THAT(statuses_of("send"), UnorderedElementsAre("complete", "pending"));
  world.run_for(seconds(59));
  EXPECT_THAT(statuses_of("send"), UnorderedElementsAre("complete", "pending"));
  world.run_for(seconds(1));
  EXPECT_THAT(statuses_of("send"), UnorderedElementsAre("complete", "complete"));
}

TEST_F(Throttles, ComeAfterConcurrencyWhoseSlotTheStartHolds) {
  world.apply(throttled_wait(kOneAMinute, "concurrency: {limit: 1}\n"));
  start("a");
  const std::string second = start("b");
  const std::string third = start("c");
  world.run_for(seconds(10));
  sent("a");
  EXPECT_EQ(world.status(second), "pending");
  EXPECT_THAT(world.history(second),
              ElementsAre("started", "queued wait", "admitted wait", "throttled wait"));
  restart();
  world.run_for(seconds(49));
  EXPECT_EQ(world.status(second), "pending");
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(second), "waiting");
  EXPECT_EQ(world.status(third), "pending") << "the second holds the slot";
  sent("b");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(third), "waiting");
  sent("c");
  EXPECT_EQ(world.status(third), "complete");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, LetTheSlotOfACancelledStartGo) {
  world.apply(throttled_wait(kOneAMinute, "concurrency: {limit: 1}\n"));
  start("a");
  const std::string second = start("b");
  const std::string third = start("c");
  sent("a");
  EXPECT_EQ(queued(), 3) << "two for the slot, and the second for the throttle, too";
  cancel(second);
  EXPECT_EQ(world.status(second), "cancelled");
  EXPECT_THAT(world.history(third), Contains("throttled wait"));
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(third), "waiting");
}

TEST_F(Throttles, TakeACancelledStartOutOfTheOrder) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string cancelled = start();
  const std::string next = start();
  cancel(cancelled);
  EXPECT_EQ(world.status(cancelled), "cancelled");
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(next), "complete");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, EndAStartWhoseWaitTimesOut) {
  world.apply(throttled_send("{limit: 1, period: PT1H, timeout: PT10M}"));
  start();
  const std::string late = start();
  world.run_for(minutes(9));
  EXPECT_EQ(world.status(late), "pending");
  world.run_for(minutes(2));
  EXPECT_EQ(world.status(late), "failed");
  EXPECT_EQ(error_of(late), "millrace.throttle.timeout");
  EXPECT_EQ(world.metric("millrace_start_waits_timed_out_total"), 1);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, CountTheTimeoutsOfTheRunFromItsBegin) {
  world.apply(throttled_wait("{limit: 1, period: PT50M}", "workflowRunTimeout: PT1H\n"));
  start("a");
  const std::string second = start("b");
  world.run_for(minutes(50));
  EXPECT_EQ(world.status(second), "waiting");
  world.run_for(minutes(50));
  EXPECT_EQ(world.status(second), "waiting");
  world.run_for(minutes(11));
  EXPECT_EQ(world.status(second), "timedout");
}

TEST_F(Throttles, LetNoStartBeginWhileTheWorkflowIsPaused) {
  world.apply(throttled_send("{limit: 1, period: PT1M, timeout: PT1H}"));
  start();
  const std::string first = start();
  world.must(PauseWorkflow{.ns = "default", .id = "send"});
  const std::string second = start();
  EXPECT_THAT(statuses({first, second}), Each("paused"));
  world.run_for(hours(2));
  EXPECT_THAT(statuses({first, second}), Each("paused")) << "neither its time nor its deadline";
  restart();
  world.must(PauseWorkflow{.ns = "default", .id = "send", .paused = false});
  EXPECT_THAT(statuses({first, second}), ElementsAre("complete", "pending"))
      << "what came in the pause does not begin at once";
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(second), "complete");
}

TEST_F(Throttles, LetOthersPassAPausedStart) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string paused = start();
  const std::string next = start();
  const std::string last = start();
  pause(paused);
  world.run_for(minutes(1));
  EXPECT_THAT(statuses({paused, next, last}), ElementsAre("paused", "complete", "pending"));
  restart();
  resume(paused);
  EXPECT_EQ(world.status(paused), "pending");
  world.run_for(minutes(1));
  EXPECT_THAT(statuses({paused, last}), ElementsAre("complete", "pending"))
      << "it has its old place";
}

TEST_F(Throttles, HoldAPausedStartThatGetsItsSlot) {
  world.apply(throttled_wait(kOneAMinute, "concurrency: {limit: 1}\n"));
  start("a");
  const std::string paused = start("b");
  pause(paused);
  sent("a");
  world.run_for(minutes(5));
  EXPECT_EQ(world.status(paused), "paused");
  restart();
  resume(paused);
  EXPECT_EQ(world.status(paused), "waiting");
  EXPECT_THAT(world.history(paused), Contains("released wait"));
}

TEST_F(Throttles, EndAPausedStartThatGotItsSlotOnceItsWaitTimesOutAfterTheResume) {
  world.apply(
      throttled_wait("{limit: 1, period: PT1H, timeout: PT1M}", "concurrency: {limit: 1}\n"));
  start("a");
  const std::string paused = start("b");
  pause(paused);
  sent("a");
  EXPECT_THAT(world.history(paused), Contains("throttled wait")) << "it has got its slot";
  world.run_for(minutes(5));
  restart();  // checks the timers of the store
  resume(paused);
  world.run_for(seconds(59));
  EXPECT_EQ(world.status(paused), "pending");
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(paused)["error"]["code"], "millrace.throttle.timeout");
}

TEST_F(Throttles, GoOnAfterARestartAndNotEarly) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string second = start();
  const std::string third = start();
  for (int i = 0; i < 3; ++i) {
    restart();
    world.run_for(seconds(19));
    EXPECT_THAT(statuses({second, third}), Each("pending"));
  }
  EXPECT_EQ(world.metric("millrace_namespace_queued_starts{namespace=\"default\"}"), 2);
  world.crash();
  world.clock.advance(minutes(10));
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(statuses({second, third}), ElementsAre("complete", "pending"));
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(third), "complete");
}

TEST_F(Throttles, ApplyANewRevisionToTheStartsThatWait) {
  world.apply(throttled_send("{limit: 1, period: PT1H}"));
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(start());
  world.apply(throttled_send("{limit: 3, period: PT1H}"));
  EXPECT_THAT(statuses(ids), ElementsAre("complete", "complete", "complete", "pending", "pending"));
  world.apply(throttled_send("{limit: 1, period: PT1M}"));
  world.run_for(minutes(1));
  EXPECT_EQ(world.status(ids[3]), "complete");
  world.apply("id: send\nstates:\n- {id: end, type: noop}\n");
  EXPECT_EQ(world.status(ids[4]), "complete") << "without `throttle` no start waits";
}

TEST_F(Throttles, AdmitManyKeysInBoundedPortions) {
  world.apply(throttled_send("{limit: 1, period: PT1M, key: jq(.customer)}"));
  constexpr int kMany = 300;
  for (int i = 0; i < 2 * kMany; ++i) start("a", std::to_string(i % kMany));
  EXPECT_EQ(queued(), kMany);
  world.run_for(minutes(1));
  EXPECT_EQ(admitted(), kMany);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, LetNoStartBeginWhileTheWorkflowIsDeleted) {
  world.apply(throttled_send(kOneAMinute));
  start();
  const std::string waits = start();
  world.must(DeleteWorkflow{.ns = "default", .id = "send", .cancel = true});
  EXPECT_EQ(world.status(waits), "cancelled");
  world.run_for(minutes(2));
  EXPECT_EQ(admitted(), 0);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, DoNotHoldARestartOrANextRun) {
  world.apply(
      "id: send\nthrottle: {limit: 1, period: PT1H}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: sent}, continueAsNew: '{}'}\n");
  const std::string id = start();
  cancel(id);
  world.must(RestartInstance{"default", number_of(id)});
  EXPECT_EQ(world.status(id), "waiting");
  const int run = world.instance(id)["run"];
  sent("any");
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_EQ(world.instance(id)["run"], run + 1);
  EXPECT_EQ(queued(), 0);
}

TEST_F(Throttles, BoundTheStartsThatWaitAndTheKeysByQuotas) {
  world.must(CreateNamespace{
      .name = "default",
      .settings = Json::parse(R"({"quotas": {"queuedStarts": 1, "startKeys": 2}})")});
  world.apply(throttled_send("{limit: 1, period: PT1M, key: jq(.customer)}"));
  start("a", "c1");
  start("b", "c1");
  EXPECT_EQ(refused({{"customer", "c1"}}).code, "millrace.quota.queuedStarts");
  start("c", "c2");
  EXPECT_EQ(refused({{"customer", "c3"}}).code, "millrace.quota.startKeys");
  world.run_for(minutes(3));
  EXPECT_THAT(start("d", "c3"), SizeIs(36));
}

TEST_F(Throttles, BeginEachStartOnceAndNotEarlyIfTheProcessDies) {
  world.apply(
      "id: send\nthrottle: {limit: 2, period: PT10S, key: jq(.begin.customer)}\n"
      "start: {type: event, event: {type: begin}}\nstates:\n- {id: end, type: noop}\n");
  const TimePoint first = world.clock.now();
  int deaths = 0;
  const auto die_at_each_step = [&] {
    for (int steps = 0; steps < 6 && world.step(); ++steps) world.restart_at(deaths++);
    world.run_until_idle();
  };
  for (int i = 0; i < 26; ++i) {
    if (i < 12) {
      world.publish("begin", fmt::format("e-{}", i), {{"customer", i % 2 == 0 ? "c-0" : "c-1"}});
    }
    die_at_each_step();
    world.clock.advance(seconds(1));
  }
  EXPECT_GT(deaths, 12);
  std::map<std::string, std::vector<int64_t>> ends;
  for (const Json& one : world.instances()) {
    ASSERT_EQ(one["status"], "complete");
    const TimePoint end = parse_rfc3339(one["endedAt"].get<std::string>()).value();
    ends[one["input"]["begin"]["customer"]].push_back((end - first) / seconds(1));
  }
  for (auto& [customer, times] : ends) std::sort(times.begin(), times.end());
  EXPECT_THAT(ends["c-0"], ElementsAre(0, 2, 10, 12, 20, 22));
  EXPECT_THAT(ends["c-1"], ElementsAre(1, 3, 11, 13, 21, 23));
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(Throttles, LoseNoStartThatWaitsForBothIfTheProcessDies) {
  world.apply(
      "id: send\nconcurrency: {limit: 1}\nthrottle: {limit: 1, period: PT10S}\n"
      "start: {type: event, event: {type: begin}}\nstates:\n- {id: nap, type: delay, duration: "
      "PT4S}\n");
  int deaths = 0;
  for (int i = 0; i < 4; ++i) world.publish("begin", fmt::format("e-{}", i));
  for (int i = 0; i < 36; ++i) {
    for (int steps = 0; steps < 4 && world.step(); ++steps) world.restart_at(deaths++);
    world.run_until_idle();
    world.clock.advance(seconds(1));
  }
  EXPECT_GT(deaths, 8);
  EXPECT_THAT(statuses_of("send"), ElementsAre("complete", "complete", "complete", "complete"));
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

}  // namespace
}  // namespace millrace
