// Calls of a service with `throttle` through the whole engine: which task is handed out when, who
// is next, and what retries, timeouts, cancels, pauses, restarts and crashes do to the calls that
// wait.
#include <algorithm>
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
using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow that calls the service `bank` once, with its input.
std::string paced_call(const std::string& id, const std::string& keys_of_function,
                       const std::string& keys_of_action = "") {
  return fmt::format(
      "id: {}\n"
      "functions: [{{id: pay, type: service, service: bank{}}}]\n"
      "states:\n"
      "- {{id: pay, type: action, action: {{function: pay{}}}}}\n",
      id, keys_of_function, keys_of_action);
}

constexpr const char* kOneCallAMinute = ", throttle: {limit: 1, period: PT1M}";

class CallThrottlesTest : public testing::Test {
 protected:
  std::string start(const std::string& order, const std::string& workflow = "pay",
                    const std::string& customer = "c1", int rank = 0) {
    return world.start(workflow, {{"order", order}, {"customer", customer}, {"rank", rank}})["id"];
  }
  static std::string order_of(const Task& task) {
    return parse_own_json(task.input).value()["order"].get<std::string>();
  }
  /// The orders of the tasks that were handed out, in order, each task once.
  std::vector<std::string> handed_out() {
    std::vector<std::string> orders;
    for (const Task& task : world.functions.tasks()) orders.push_back(order_of(task));
    return orders;
  }
  /// The newest task of the order.
  InstanceId task_of(const std::string& order) {
    const auto& tasks = world.functions.tasks();
    const auto found = std::find_if(tasks.rbegin(), tasks.rend(),
                                    [&](const Task& task) { return order_of(task) == order; });
    if (found != tasks.rend()) return found->id;
    ADD_FAILURE() << "no task of " << order << " was handed out";
    return {};
  }
  void answer(const std::string& order) {
    world.functions.answer(task_of(order), Json::object());
    world.run_until_idle();
  }
  void fail_call(const std::string& order) {
    world.functions.report(
        {task_of(order), TaskEnded{.result = tl::unexpected(Error{"bank.busy", "busy"})}});
    world.run_until_idle();
  }
  void restart() {
    world.restart();
    world.run_until_idle();
  }
  static InstanceId number_of(const std::string& id) { return parse_instance_id(id).value(); }
  std::string error_of(const std::string& id) { return world.instance(id)["error"]["code"]; }
  double queued_now() {
    return world.metric("millrace_namespace_queued_calls{namespace=\"default\"}");
  }

  World world;
};

TEST_F(CallThrottlesTest, HandsOutTheLimitAndLetsTheOthersWait) {
  world.apply(paced_call("pay", ", throttle: {limit: 2, period: PT1M}"));
  for (const char* const order : {"a", "b", "c", "d"}) start(order);
  const std::string last = start("e");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  EXPECT_EQ(world.status(last), "waiting");
  EXPECT_EQ(world.metric("millrace_calls_queued_total"), 3);
  EXPECT_EQ(queued_now(), 3);
  world.run_for(Duration(59'999));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b")) << "never early";
  world.run_for(Duration(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(queued_now(), 1);
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(world.metric("millrace_calls_admitted_total"), 3);
  EXPECT_EQ(world.rows_of("queues"), 0U);
  answer("e");
  EXPECT_EQ(world.status(last), "complete");
}

TEST_F(CallThrottlesTest, CountsEachCallForOnePeriod) {
  world.apply(paced_call("pay", ", throttle: {limit: 2, period: PT1M}"));
  start("a");
  answer("a");
  world.run_for(seconds(40));
  start("b");
  start("c");
  start("d");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b")) << "a call that has ended counts, too";
  world.run_for(seconds(20));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"));
  world.run_for(seconds(40));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c", "d"));
}

TEST_F(CallThrottlesTest, CountsTheCallsOfAllWorkflowsForTheService) {
  world.apply(paced_call("pay", kOneCallAMinute));
  world.apply(paced_call("refund", kOneCallAMinute));
  world.apply(
      "id: ship\n"
      "functions: [{id: f, type: service, service: ships, throttle: {limit: 1, period: PT1M}}]\n"
      "states:\n- {id: a, type: action, action: {function: f}}\n");
  start("a");
  start("b", "refund");
  start("c", "ship");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "another service counts for itself";
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

TEST_F(CallThrottlesTest, LetsAKeyWithRoomPass) {
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1M, key: jq(.customer)}"));
  start("a");
  start("b");
  start("c", "pay", "c2");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

TEST_F(CallThrottlesTest, HandsOutByPriorityThenInTheOrderOfTheCalls) {
  world.apply(paced_call("pay", std::string(kOneCallAMinute) + ", priority: jq(.rank)"));
  start("a");
  start("low", "pay", "c1", -1);
  start("first", "pay", "c1", 5);
  start("second", "pay", "c1", 5);
  start("plain");
  for (int i = 0; i < 4; ++i) world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "first", "second", "plain", "low"));
}

TEST_F(CallThrottlesTest, TakesTheThrottleOfTheActionBeforeThatOfItsFunction) {
  world.apply(paced_call("pay", kOneCallAMinute, ", throttle: {limit: 2, period: PT1M}"));
  for (const char* const order : {"a", "b", "c"}) start(order);
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallThrottlesTest, CountsEachAttempt) {
  world.apply(paced_call("pay", kOneCallAMinute,
                         ", retries: {max_attempts: 3, delay: PT1S, codes: ['*']}"));
  const std::string first = start("a");
  fail_call("a");
  world.run_for(seconds(2));
  EXPECT_THAT(handed_out(), ElementsAre("a")) << "the second attempt waits";
  start("b");
  world.run_for(seconds(58));
  EXPECT_THAT(handed_out(), ElementsAre("a", "a"));
  answer("a");
  EXPECT_EQ(world.status(first), "complete");
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "a", "b"));
}

TEST_F(CallThrottlesTest, CountsDetachedCallsToo) {
  world.apply(
      "id: pay\n"
      "functions: [{id: pay, type: service, service: bank, "
      "throttle: {limit: 1, period: PT1M, timeout: PT90S}}]\n"
      "states:\n- {id: pay, type: action, async: true, action: {function: pay}}\n");
  start("a");
  EXPECT_EQ(world.status(start("b")), "complete");
  start("c");
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  world.run_for(minutes(2));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b")) << "the wait of the third call has ended";
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallThrottlesTest, TakesTheSlotFirstAndHoldsItInTheWait) {
  world.apply(paced_call("pay", std::string(kOneCallAMinute) + ", concurrency: {limit: 1}"));
  for (const char* const order : {"a", "b", "c"}) start(order);
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a")) << "the second call has its slot, and waits";
  EXPECT_EQ(queued_now(), 2);
  restart();
  EXPECT_EQ(queued_now(), 2);
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  answer("b");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"));
  answer("c");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallThrottlesTest, EndsACallWhoseWaitTimesOut) {
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1H, timeout: PT10M}"));
  start("a");
  const std::string waits = start("b");
  restart();
  world.run_for(Duration(599'999));
  EXPECT_EQ(world.status(waits), "waiting");
  world.run_for(Duration(1));
  EXPECT_EQ(world.status(waits), "failed");
  EXPECT_EQ(error_of(waits), "millrace.throttle.timeout");
  EXPECT_EQ(world.metric("millrace_call_waits_timed_out_total"), 1);
  EXPECT_EQ(world.rows_of("queues"), 0U);
  world.run_for(hours(1));
  EXPECT_THAT(handed_out(), ElementsAre("a"));
}

TEST_F(CallThrottlesTest, TakesTheCallOfACancelledInstanceOutOfTheOrder) {
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1H}"));
  start("a");
  const std::string waits = start("b");
  start("c");
  world.must(CancelInstance{"default", number_of(waits)});
  EXPECT_EQ(world.status(waits), "cancelled") << "a call that waits is not made any more";
  EXPECT_EQ(queued_now(), 1);
  world.run_for(hours(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallThrottlesTest, LeavesOutTheCallsOfAPausedInstance) {
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1M, timeout: PT5M}"));
  start("a");
  const std::string paused = start("b");
  start("c");
  world.must(PauseInstance{"default", number_of(paused)});
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  restart();
  world.run_for(minutes(10));
  EXPECT_EQ(world.status(paused), "paused") << "a pause holds the timeout";
  start("d");
  start("e");
  world.must(ResumeInstance{"default", number_of(paused)});
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "d"));
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "d", "b")) << "it has kept its place";
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "d", "b", "e"));
}

TEST_F(CallThrottlesTest, LetsNoCallPassWhileTheServiceIsPaused) {
  world.apply(paced_call("pay", kOneCallAMinute));
  world.must(PauseService{.ns = "default", .name = "bank", .paused = true});
  start("a");
  start("b");
  world.run_for(minutes(5));
  restart();
  EXPECT_THAT(handed_out(), IsEmpty());
  world.must(PauseService{.ns = "default", .name = "bank", .paused = false});
  EXPECT_THAT(handed_out(), ElementsAre("a")) << "the others come at the permitted rate";
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallThrottlesTest, GoesOnAfterARestart) {
  world.apply(paced_call("pay", std::string(kOneCallAMinute) + ", priority: jq(.rank)"));
  start("a");
  start("b", "pay", "c1", 1);
  start("c", "pay", "c1", 2);
  for (int i = 0; i < 2; ++i) {
    restart();
    EXPECT_THAT(handed_out(), ElementsAre("a")) << "what was handed out counts after a restart";
    EXPECT_EQ(queued_now(), 2);
  }
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  restart();
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

// One process for each number of turns after which it dies, in the middle of starts and hand-outs.
TEST(CallThrottlesAfterCrashes, HandOutEachCallOnceAndNotEarly) {
  constexpr size_t kCalls = 5;
  for (int turns = 0; turns < 14; ++turns) {
    World world;
    world.apply(paced_call("pay", ", throttle: {limit: 2, period: PT1M}"));
    for (size_t i = 0; i < kCalls; ++i) {
      world.command(StartInstance{.ns = "default",
                                  .workflow = "pay",
                                  .input = Json{{"order", i}},
                                  .idempotency_key = std::to_string(i)});
    }
    for (int i = 0; i < turns; ++i) world.step(1);
    world.restart_at(turns);
    // A command of which the process had no commit is sent again.
    for (size_t i = 0; i < kCalls; ++i) {
      world.start("pay", {{"order", i}}, std::to_string(i));
    }
    world.run_until_idle();
    EXPECT_EQ(world.functions.tasks().size(), 2U) << turns;
    for (const size_t expected : {size_t{4}, kCalls}) {
      world.run_for(minutes(1));
      EXPECT_EQ(world.functions.tasks().size(), expected) << turns;
    }
    for (const Task& task : world.functions.tasks()) {
      world.functions.answer(task.id, Json::object());
    }
    world.run_until_idle();
    for (const Json& one : world.instances()) EXPECT_EQ(one["status"], "complete") << turns;
    EXPECT_EQ(world.instances().size(), kCalls) << turns;
    EXPECT_EQ(world.rows_of("queues"), 0U) << turns;
  }
}

TEST_F(CallThrottlesTest, HandsOutManyCallsInBoundedPortions) {
  world.apply(paced_call("one", ", throttle: {limit: 1, period: PT1M}"));
  world.apply(paced_call("many", ", throttle: {limit: 1000, period: PT1M}"));
  start("first", "one");
  const std::string head = start("head", "one");
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) start(std::to_string(i), "many");
  EXPECT_THAT(handed_out(), ElementsAre("first")) << "no call overtakes one that is before it";
  world.must(CancelInstance{"default", number_of(head)});
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_calls_admitted_total"), kMany);
  EXPECT_EQ(handed_out().size(), kMany + 1U);
}

TEST_F(CallThrottlesTest, BoundsTheKeysByAQuota) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"startKeys": 1}})")});
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1M, key: jq(.customer)}"));
  start("a");
  const std::string other = start("b", "pay", "c2");
  EXPECT_EQ(world.status(other), "failed");
  EXPECT_EQ(error_of(other), "millrace.quota.startKeys");
  world.run_for(minutes(2));
  start("c", "pay", "c2");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "rows that count no more are erased first";
}

TEST_F(CallThrottlesTest, FailsACallWhoseKeyIsTooLong) {
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1M, key: jq(.customer)}"));
  EXPECT_EQ(error_of(start("a", "pay", std::string(600, 'x'))), "millrace.throttle.key");
  EXPECT_THAT(handed_out(), IsEmpty());
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallThrottlesTest, LeaveNoRowsOfADeletedNamespace) {
  world.must(CreateNamespace{.name = "other"});
  world.apply(paced_call("pay", ", throttle: {limit: 1, period: PT1M, timeout: PT2M}"), "other");
  for (const char* const order : {"a", "b"}) {
    world.must(StartInstance{
        .ns = "other", .workflow = "pay", .input = Json{{"order", order}}, .idempotency_key = ""});
  }
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.must(DeleteNamespace{.name = "other", .cancel = true});
  world.run_until_idle();
  EXPECT_EQ(world.rows_of("queues"), 0U);
  world.run_for(minutes(3));
  EXPECT_THAT(handed_out(), ElementsAre("a"));
}

TEST_F(CallThrottlesTest, SaysForWhatACallWaits) {
  world.apply(
      paced_call("pay", ", throttle: {limit: 1, period: PT1M, key: jq(.customer), timeout: PT5M}"));
  const TimePoint from = world.clock.now();
  start("a");
  const InstanceId waits = number_of(start("b"));
  const std::string next = format_rfc3339(from + minutes(1));
  const Snapshot view = Snapshot::take(world.environment()).value();
  const Json calls = world.queries().instance_calls(view, "default", waits, 10, "").value();
  EXPECT_EQ(calls["items"][0]["throttled"], (Json{{"service", "bank"},
                                                  {"key", "c1"},
                                                  {"limit", 1},
                                                  {"period", "PT1M"},
                                                  {"priority", 0},
                                                  {"waiting", 1},
                                                  {"until", format_rfc3339(from + minutes(5))},
                                                  {"nextAt", next}}));
  const Json queues = world.queries().queues(view, "default", 10, "", "").value();
  ASSERT_EQ(queues["items"].size(), 1U);
  const Json& queue = queues["items"][0];
  EXPECT_EQ(queue["kind"], "calls");
  EXPECT_EQ(queue["reason"], "throttle");
  EXPECT_EQ(queue["service"], "bank");
  EXPECT_EQ(queue["key"], "c1");
  EXPECT_EQ(queue["limit"], 1);
  EXPECT_EQ(queue["period"], "PT1M");
  EXPECT_EQ(queue["queued"], 1);
  EXPECT_EQ(queue["nextAt"], next);
  EXPECT_EQ(queue["next"]["instance"], to_string(waits));
  EXPECT_FALSE(queue.contains("held"));
  EXPECT_FALSE(queue.contains("holder"));
}

}  // namespace
}  // namespace millrace
