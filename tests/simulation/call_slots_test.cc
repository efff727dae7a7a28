// Calls of a service with `concurrency` through the whole engine: which task is handed out, who is
// next, and what retries, timeouts, cancels, pauses, restarts and crashes do to the slots.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/timeout_policy.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow that calls the service `bank` once, with its input.
std::string paying(const std::string& id, const std::string& keys_of_function,
                   const std::string& keys_of_action = "", const std::string& keys_of_state = "") {
  return fmt::format(
      "id: {}\n"
      "functions: [{{id: pay, type: service, service: bank{}}}]\n"
      "states:\n"
      "- {{id: pay, type: action{}, action: {{function: pay{}}}}}\n",
      id, keys_of_function, keys_of_state, keys_of_action);
}

constexpr const char* kOneCall = ", concurrency: {limit: 1}";

class CallSlotsTest : public testing::Test {
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
  void report(const std::string& order, const decltype(TaskReport::what)& what) {
    world.functions.report({task_of(order), what});
    world.run_until_idle();
  }
  void answer(const std::string& order) {
    world.functions.answer(task_of(order), Json::object());
    world.run_until_idle();
  }
  void fail_call(const std::string& order) {
    report(order, TaskEnded{.result = tl::unexpected(Error{"bank.busy", "busy"})});
  }
  double queued_now() {
    return world.metric("millrace_namespace_queued_calls{namespace=\"default\"}");
  }

  World world;
};

TEST_F(CallSlotsTest, HandsOutNoMoreCallsThanTheLimit) {
  world.apply(paying("pay", kOneCall));
  const std::string first = start("a");
  const std::string second = start("b");
  start("c");
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  EXPECT_EQ(world.status(second), "waiting");
  EXPECT_EQ(world.metric("millrace_calls_queued_total"), 2);
  EXPECT_EQ(queued_now(), 2);
  answer("a");
  EXPECT_EQ(world.status(first), "complete");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  answer("b");
  EXPECT_EQ(world.status(second), "complete");
  answer("c");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(world.metric("millrace_calls_admitted_total"), 2);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallSlotsTest, CountsTheCallsOfAllWorkflowsForTheService) {
  world.apply(paying("pay", kOneCall));
  world.apply(paying("refund", kOneCall));
  world.apply(
      "id: ship\nfunctions: [{id: f, type: service, service: ships, concurrency: {limit: 1}}]\n"
      "states:\n- {id: a, type: action, action: {function: f}}\n");
  start("a");
  start("b", "refund");
  start("c", "ship");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "another service has slots of its own";
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

TEST_F(CallSlotsTest, GivesEachKeySlotsOfItsOwn) {
  world.apply(paying("pay", ", concurrency: {limit: 1, key: jq(.customer)}"));
  start("a");
  start("b");
  start("c", "pay", "c2");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "a key with room passes one without";
  answer("c");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "the slot of another key";
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

TEST_F(CallSlotsTest, AdmitsByPriorityThenInTheOrderOfTheCalls) {
  world.apply(paying("pay", ", concurrency: {limit: 1}, priority: jq(.rank)"));
  start("a");
  start("low", "pay", "c1", -1);
  start("first", "pay", "c1", 5);
  start("second", "pay", "c1", 5);
  start("plain");
  for (const char* const order : {"a", "first", "second", "plain"}) answer(order);
  EXPECT_THAT(handed_out(), ElementsAre("a", "first", "second", "plain", "low"));
}

TEST_F(CallSlotsTest, TakesTheLimitOfTheActionBeforeThatOfItsFunction) {
  world.apply(paying("pay", kOneCall, ", concurrency: {limit: 2}"));
  for (const char* const order : {"a", "b", "c"}) start(order);
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, GoesByTheOwnLimitOfEachCallAgainstTheCommonCount) {
  world.apply(paying("one", kOneCall));
  world.apply(paying("three", ", concurrency: {limit: 3}"));
  start("a", "one");
  start("b", "three");
  start("c", "three");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"));
  start("d", "one");
  start("e", "three");
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"))
      << "no call overtakes one that is before it";
  answer("b");
  answer("c");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(CallSlotsTest, FreesTheSlotBetweenTwoAttempts) {
  world.apply(paying("pay", kOneCall, ", retries: {max_attempts: 3, delay: PT1M, codes: ['*']}"));
  const std::string first = start("a");
  start("b");
  fail_call("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  world.run_for(minutes(2));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b")) << "the second attempt waits for a slot again";
  answer("b");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "a"));
  answer("a");
  EXPECT_EQ(world.status(first), "complete");
}

TEST_F(CallSlotsTest, EndsACallThatHasWaitedUntilItsDeadline) {
  world.apply(paying("pay", kOneCall,
                     ", scheduleToStartTimeout: 10m, startToCloseTimeout: 5h, "
                     "retries: {maximumAttempts: 1}"));
  start("a");
  report("a", TaskStarted{});
  const std::string waits = start("b");
  world.run_for(minutes(11));
  EXPECT_EQ(world.status(waits), "failed");
  EXPECT_EQ(world.instance(waits)["error"]["code"],
            std::string(error_code(TimeoutKind::kScheduleToStart)));
  start("c");
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
}

TEST_F(CallSlotsTest, FreesTheSlotOfACallThatTimesOut) {
  world.apply(paying("pay", kOneCall, ", startToCloseTimeout: 10m, retries: {maximumAttempts: 1}"));
  const std::string first = start("a");
  report("a", TaskStarted{});
  start("b");
  world.run_for(minutes(11));
  EXPECT_EQ(world.status(first), "failed");
  EXPECT_THAT(world.functions.stopped(), Contains(task_of("a")));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, FreesTheSlotOfACallWhoseHeartbeatsEnd) {
  world.apply(paying("pay", kOneCall,
                     ", startToCloseTimeout: 5h, heartbeatTimeout: 1m, "
                     "retries: {maximumAttempts: 1}"));
  start("a");
  report("a", TaskStarted{});
  start("b");
  world.run_for(minutes(2));
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, FreesTheSlotOfACancelledInstance) {
  world.apply(paying("pay", kOneCall));
  const std::string holder = start("a");
  const std::string waits = start("b");
  start("c");
  world.must(CancelInstance{"default", parse_instance_id(waits).value()});
  EXPECT_EQ(world.status(waits), "cancelled") << "a call that waits is not made any more";
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.must(CancelInstance{"default", parse_instance_id(holder).value()});
  EXPECT_THAT(handed_out(), ElementsAre("a")) << "the task of a cancelled instance may finish";
  world.must(CancelInstance{"default", parse_instance_id(holder).value(), true});
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  answer("c");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallSlotsTest, HoldsTheSlotOfAnAcceptedCallUntilItsAnswer) {
  world.apply(paying("pay", kOneCall));
  start("a");
  start("b");
  report("a", TaskAccepted{});
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, CountsDetachedCallsToo) {
  world.apply(paying("pay", kOneCall, "", ", async: true"));
  const std::string first = start("a");
  const std::string second = start("b");
  EXPECT_EQ(world.status(first), "complete");
  EXPECT_EQ(world.status(second), "complete");
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, LeavesOutTheCallsOfAPausedInstance) {
  world.apply(paying("pay", kOneCall));
  start("a");
  const std::string paused = start("b");
  start("c");
  world.must(PauseInstance{"default", parse_instance_id(paused).value()});
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  world.restart();
  world.run_until_idle();
  world.must(ResumeInstance{"default", parse_instance_id(paused).value()});
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "the call waits again";
  start("d");
  answer("c");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b")) << "it has kept its place";
  answer("b");
  EXPECT_EQ(world.status(paused), "complete");
}

TEST_F(CallSlotsTest, GivesNoSlotAwayWhileTheServiceIsPaused) {
  world.apply(paying("pay", kOneCall));
  start("a");
  start("b");
  world.must(PauseService{.ns = "default", .name = "bank", .paused = true});
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.must(PauseService{.ns = "default", .name = "bank", .paused = false});
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
}

TEST_F(CallSlotsTest, GoesOnAfterARestart) {
  world.apply(paying("pay", ", concurrency: {limit: 1}, priority: jq(.rank)"));
  start("a");
  start("b", "pay", "c1", 1);
  start("c", "pay", "c1", 2);
  for (int i = 0; i < 2; ++i) {
    world.restart();
    world.run_until_idle();
    EXPECT_THAT(handed_out(), ElementsAre("a"));
    EXPECT_EQ(queued_now(), 2);
  }
  answer("a");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  answer("c");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "b"));
}

TEST_F(CallSlotsTest, LosesNoSlotIfTheProcessDiesWhenOneBecomesFree) {
  world.apply(paying("pay", kOneCall));
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(start(std::to_string(i)));
  for (size_t i = 0; i < ids.size(); ++i) {
    world.functions.answer(task_of(std::to_string(i)), Json::object());
    world.restart_at(static_cast<int>(i));
    world.run_until_idle();
    EXPECT_EQ(world.status(ids[i]), "complete") << i;
    EXPECT_EQ(handed_out().size(), std::min(i + 2, ids.size())) << i;
  }
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

// One process for each number of turns after which it dies, in the middle of starts and answers.
TEST(CallSlotsAfterCrashes, AreNeitherLostNorHeldTwice) {
  constexpr size_t kCalls = 5;
  constexpr size_t kLimit = 2;
  for (int turns = 0; turns < 14; ++turns) {
    World world;
    world.apply(paying("pay", ", concurrency: {limit: 2}"));
    for (size_t i = 0; i < kCalls; ++i) {
      world.command(StartInstance{.ns = "default",
                                  .workflow = "pay",
                                  .input = Json{{"order", i}},
                                  .idempotency_key = std::to_string(i)});
    }
    std::set<InstanceId> answered;
    const auto answer_one = [&] {
      for (const Task& task : world.functions.tasks()) {
        if (!answered.insert(task.id).second) continue;
        world.functions.answer(task.id, Json::object());
        return true;
      }
      return false;
    };
    for (int i = 0; i < turns; ++i) {
      world.step(1);
      answer_one();
    }
    world.restart_at(turns);
    // A command of which the process had no commit is sent again.
    for (size_t i = 0; i < kCalls; ++i) {
      world.start("pay", {{"order", i}}, std::to_string(i));
    }
    do {
      world.run_until_idle();
      EXPECT_LE(world.functions.tasks().size() - answered.size(), kLimit) << turns;
    } while (answer_one());
    EXPECT_EQ(world.functions.tasks().size(), kCalls) << turns;
    for (const Json& one : world.instances()) EXPECT_EQ(one["status"], "complete") << turns;
    EXPECT_EQ(world.instances().size(), kCalls) << turns;
    EXPECT_EQ(world.rows_of("queues"), 0U) << turns;
  }
}

TEST_F(CallSlotsTest, AdmitsManyCallsInBoundedPortions) {
  world.apply(paying("one", kOneCall));
  world.apply(paying("many", ", concurrency: {limit: 1000}"));
  start("holder", "one");
  const std::string head = start("head", "one");
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) start(std::to_string(i), "many");
  EXPECT_THAT(handed_out(), ElementsAre("holder"));
  world.must(CancelInstance{"default", parse_instance_id(head).value()});
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_calls_admitted_total"), kMany);
  EXPECT_EQ(handed_out().size(), kMany + 1U);
}

TEST_F(CallSlotsTest, FailsACallWhoseKeyIsTooLongOrWhosePriorityIsNoInteger) {
  world.apply(paying("pay", ", concurrency: {limit: 1, key: jq(.customer)}, priority: jq(.rank)"));
  const auto code_with = [&](const Json& input) -> std::string {
    return world.instance(world.start("pay", input)["id"])["error"]["code"];
  };
  EXPECT_EQ(code_with({{"customer", std::string(600, 'x')}, {"rank", 1}}),
            "millrace.concurrency.key");
  EXPECT_EQ(code_with({{"customer", 1}, {"rank", "high"}}), "millrace.concurrency.priority");
  EXPECT_THAT(handed_out(), IsEmpty());
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallSlotsTest, DoesNotRetryACallWhoseKeyOrPriorityCannotBeEvaluated) {
  const std::string retries = ", retries: {max_attempts: 3, delay: PT10S, codes: ['*']}";
  const std::string keys = ", key: jq(.customer)}, priority: jq(.rank)";
  world.apply(paying("slot", ", concurrency: {limit: 1" + keys, retries));
  world.apply(paying("throttle", ", throttle: {limit: 1, period: PT1M" + keys, retries));
  const auto ended = [&](const std::string& workflow, const Json& input) -> std::string {
    const std::string id = world.start(workflow, input)["id"];
    return world.status(id) + " " + world.instance(id)["error"].value("code", "");
  };
  const Json too_long{{"customer", std::string(600, 'x')}, {"rank", 1}};
  const Json no_integer{{"customer", 1}, {"rank", 1.5}};
  EXPECT_EQ(ended("slot", too_long), "failed millrace.concurrency.key");
  EXPECT_EQ(ended("slot", no_integer), "failed millrace.concurrency.priority");
  EXPECT_EQ(ended("throttle", too_long), "failed millrace.throttle.key");
  EXPECT_EQ(ended("throttle", no_integer), "failed millrace.concurrency.priority");
}

TEST_F(CallSlotsTest, RetriesASubflowWhoseOwnCallHasNoKey) {
  world.apply(paying("pay", ", concurrency: {limit: 1, key: jq(.customer)}"));
  world.apply(
      "id: outer\nfunctions: [{id: pay, type: subflow, workflow: pay}]\nstates:\n"
      "- {id: pay, type: action, action: {function: pay, retries: {max_attempts: 1, delay: PT10S, "
      "codes: ['^millrace']}}}\n");
  const std::string id = world.start("outer", {{"customer", std::string(600, 'x')}})["id"];
  EXPECT_EQ(world.status(id), "waiting") << "the definition of the subflow may be corrected";
}

TEST_F(CallSlotsTest, LeaveNoRowsOfADeletedNamespace) {
  world.must(CreateNamespace{.name = "other"});
  world.apply(paying("pay", kOneCall), "other");
  for (const char* const order : {"a", "b"}) {
    world.must(StartInstance{
        .ns = "other", .workflow = "pay", .input = Json{{"order", order}}, .idempotency_key = ""});
  }
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.must(DeleteNamespace{.name = "other", .cancel = true});
  world.run_until_idle();
  EXPECT_EQ(world.rows_of("queues"), 0U);
  EXPECT_THAT(handed_out(), ElementsAre("a"));
}

TEST_F(CallSlotsTest, SaysForWhichSlotACallWaits) {
  world.apply(paying("pay", ", concurrency: {limit: 1, key: jq(.customer)}"));
  start("a");
  const InstanceId waits = parse_instance_id(start("b")).value();
  const Snapshot view = Snapshot::take(world.environment()).value();
  const Json calls = world.queries().instance_calls(view, "default", waits, 10, "").value();
  Json slot = calls["items"][0]["slot"];
  ASSERT_EQ(slot["holders"].size(), 1U);
  EXPECT_EQ(slot["holders"][0]["task"], to_string(world.functions.tasks().back().id));
  slot.erase("holders");
  EXPECT_EQ(slot, (Json{{"service", "bank"},
                        {"key", "c1"},
                        {"limit", 1},
                        {"priority", 0},
                        {"queued", true},
                        {"held", 1},
                        {"waiting", 1}}));
  const Json queues = world.queries().queues(view, "default", 10, "", "").value();
  ASSERT_EQ(queues["items"].size(), 1U);
  const Json& queue = queues["items"][0];
  EXPECT_EQ(queue["kind"], "calls");
  EXPECT_EQ(queue["service"], "bank");
  EXPECT_EQ(queue["key"], "c1");
  EXPECT_EQ(queue["queued"], 1);
  EXPECT_EQ(queue["next"]["instance"], to_string(waits));
  EXPECT_EQ(queue["holder"]["task"], to_string(task_of("a")));
}

}  // namespace
}  // namespace millrace
