// How long calls wait for a slot or the throttle of their service, through the whole engine: the
// timeouts of these waits, what pauses, restarts and retries do to them, and what their errors say.
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
using testing::HasSubstr;

/// A workflow that calls the service `bank` once, with its input.
std::string banking(const std::string& id, const std::string& keys_of_function,
                    const std::string& keys_of_action = "", const std::string& keys_of_state = "") {
  return fmt::format(
      "id: {}\n"
      "functions: [{{id: pay, type: service, service: bank{}}}]\n"
      "states:\n"
      "- {{id: pay, type: action{}, action: {{function: pay{}}}}}\n",
      id, keys_of_function, keys_of_state, keys_of_action);
}

constexpr const char* kTenMinutes = ", concurrency: {limit: 1, key: jq(.customer), timeout: PT10M}";

class CallWaitsTest : public testing::Test {
 protected:
  std::string start(const std::string& order, const std::string& workflow = "pay") {
    return world.start(workflow, {{"order", order}, {"customer", "c1"}})["id"];
  }
  /// The orders of the tasks that were handed out, in order, each task once.
  std::vector<std::string> handed_out() {
    std::vector<std::string> orders;
    for (const Task& task : world.functions.tasks()) {
      orders.push_back(parse_own_json(task.input).value()["order"].get<std::string>());
    }
    return orders;
  }
  void answer(size_t which) {
    world.functions.answer(world.functions.tasks()[which].id, Json::object());
    world.run_until_idle();
  }
  void restart() {
    world.restart();
    world.run_until_idle();
  }
  void pause_bank(bool paused = true) {
    world.must(PauseService{.ns = "default", .name = "bank", .paused = paused});
  }
  static InstanceId number_of(const std::string& id) { return parse_instance_id(id).value(); }
  std::string code_of(const std::string& id) { return world.instance(id)["error"]["code"]; }
  std::string message_of(const std::string& id) { return world.instance(id)["error"]["msg"]; }

  World world;
};

TEST_F(CallWaitsTest, EndAnAttemptThatHasWaitedForASlotTooLong) {
  world.apply(banking("pay", kTenMinutes));
  start("a");
  const TimePoint from = world.clock.now();
  const std::string waits = start("b");
  restart();
  world.run_for(Duration(599'999));
  EXPECT_EQ(world.status(waits), "waiting");
  world.run_for(Duration(1));
  EXPECT_EQ(world.status(waits), "failed");
  EXPECT_EQ(code_of(waits), "millrace.concurrency.timeout");
  EXPECT_EQ(
      message_of(waits),
      fmt::format("the call waited for a slot of service \"bank\" (limit 1, key \"c1\") until "
                  "{}, which is as long as `concurrency.timeout` permits",
                  format_rfc3339(from + minutes(10))));
  start("c");
  answer(0);
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "the call has left the queue";
  answer(1);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallWaitsTest, DoNotCountTheTimeWithTheSlot) {
  world.apply(banking("pay", kTenMinutes));
  start("a");
  const std::string waits = start("b");
  world.run_for(minutes(9));
  answer(0);
  world.run_for(hours(1));
  EXPECT_EQ(world.status(waits), "waiting");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  answer(1);
  EXPECT_EQ(world.status(waits), "complete");
}

TEST_F(CallWaitsTest, AreRetriedAsOtherErrors) {
  world.apply(
      banking("pay", kTenMinutes,
              ", retries: {maximumAttempts: 2, initialInterval: 1m, backoffCoefficient: 1}"));
  start("a");
  const std::string waits = start("b");
  world.run_for(minutes(20));
  EXPECT_EQ(world.status(waits), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(code_of(waits), "millrace.concurrency.timeout") << "the second attempt waits in full";
  const std::string other = start("c");
  world.run_for(minutes(10) + seconds(30));
  answer(0);
  world.run_for(minutes(1));
  EXPECT_THAT(handed_out(), ElementsAre("a", "c"));
  answer(1);
  EXPECT_EQ(world.status(other), "complete");
}

TEST_F(CallWaitsTest, BeginAgainWhenTheInstanceIsResumed) {
  world.apply(banking("pay", kTenMinutes));
  world.apply(banking("pace", ", throttle: {limit: 1, period: PT5H, timeout: PT10M}"));
  start("a");
  start("a", "pace");
  for (const char* const workflow : {"pay", "pace"}) {
    const std::string held = start("b", workflow);
    const std::string shortly = start("c", workflow);
    for (const std::string& id : {held, shortly}) {
      world.must(PauseInstance{"default", number_of(id)});
    }
    world.run_for(minutes(9));
    world.must(ResumeInstance{"default", number_of(shortly)});
    restart();
    world.run_for(minutes(9));
    EXPECT_EQ(world.status(shortly), "waiting") << workflow;
    world.run_for(minutes(1));
    EXPECT_EQ(world.status(shortly), "failed") << workflow;
    EXPECT_EQ(world.status(held), "paused") << workflow;
    world.must(ResumeInstance{"default", number_of(held)});
    world.run_for(minutes(10) - Duration(1));
    EXPECT_EQ(world.status(held), "waiting") << workflow;
    world.run_for(Duration(1));
    EXPECT_EQ(world.status(held), "failed") << workflow;
  }
}

TEST_F(CallWaitsTest, BeginAgainWhenTheServiceIsResumed) {
  world.apply(banking("pay", kTenMinutes));
  world.apply(banking("pace", ", throttle: {limit: 1, period: PT5H, timeout: PT10M}"));
  start("a");
  start("a", "pace");
  const std::string for_slot = start("b");
  const std::string for_throttle = start("c", "pace");
  pause_bank();
  world.run_for(minutes(35));
  restart();
  world.run_for(minutes(35));
  for (const std::string& id : {for_slot, for_throttle}) EXPECT_EQ(world.status(id), "waiting");
  pause_bank(false);
  world.run_for(minutes(10) - Duration(1));
  for (const std::string& id : {for_slot, for_throttle}) EXPECT_EQ(world.status(id), "waiting");
  world.run_for(Duration(1));
  EXPECT_EQ(code_of(for_slot), "millrace.concurrency.timeout");
  EXPECT_EQ(code_of(for_throttle), "millrace.throttle.timeout");
  EXPECT_THAT(handed_out(), ElementsAre("a", "a"));
}

TEST_F(CallWaitsTest, EndDetachedCallsToo) {
  world.apply(banking("pay", kTenMinutes, "", ", async: true"));
  start("a");
  EXPECT_EQ(world.status(start("b")), "complete");
  pause_bank();
  world.run_for(minutes(25));
  pause_bank(false);
  world.run_for(minutes(4));
  EXPECT_EQ(world.rows_of("queues"), 3U) << "counts, a holder and one that waits";
  world.run_for(minutes(1));
  EXPECT_EQ(world.rows_of("queues"), 2U);
  answer(0);
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallWaitsTest, EndWhileNoProcessIsThere) {
  world.apply(banking("pace", ", throttle: {limit: 1, period: PT15M, timeout: PT10M}"));
  start("a", "pace");
  const std::string waits = start("b", "pace");
  world.crash();
  world.clock.advance(minutes(20));
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(code_of(waits), "millrace.throttle.timeout") << "the throttle permits it since then";
  EXPECT_THAT(handed_out(), ElementsAre("a"));
}

// The end of the call with the slot gives it to the next one, whose time is over, too.
TEST_F(CallWaitsTest, GiveNoTurnToACallWhoseTimeIsOver) {
  constexpr const char* kTimeouts =
      ", scheduleToStartTimeout: 10m, startToCloseTimeout: 5h, retries: {maximumAttempts: 1}";
  constexpr const char* kLimits = ", concurrency: {limit: 1}, throttle: {limit: 2, period: PT5H}";
  world.apply(banking("slot", kLimits, kTimeouts));
  for (const char* const order : {"a", "b", "c"}) start(order, "slot");
  world.run_for(minutes(10));
  start("d", "slot");
  EXPECT_THAT(handed_out(), ElementsAre("a", "d")) << "the throttle counts none of the others";
  answer(1);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(CallWaitsTest, GiveNoTurnToACallOfAStateWhoseTimeIsOver) {
  constexpr const char* kLimits = ", concurrency: {limit: 1}, throttle: {limit: 2, period: PT5H}";
  world.apply(banking("slot", kLimits, "", ", timeout: PT10M"));
  for (const char* const order : {"a", "b", "c"}) start(order, "slot");
  world.run_for(minutes(10));
  start("d", "slot");
  EXPECT_THAT(handed_out(), ElementsAre("a", "d")) << "the throttle counts none of the others";
}

// The end of a call that waits for the throttle lets the next one ask it, whose time is over, too.
TEST_F(CallWaitsTest, LetNoCallPassTheThrottleWhoseTimeIsOver) {
  constexpr const char* kTimeouts =
      ", scheduleToStartTimeout: 10m, startToCloseTimeout: 5h, retries: {maximumAttempts: 1}";
  world.apply(banking("pace", ", throttle: {limit: 1, period: PT10M}", kTimeouts));
  for (const char* const order : {"a", "b", "c"}) start(order, "pace");
  world.run_for(minutes(10));
  start("d", "pace");
  EXPECT_THAT(handed_out(), ElementsAre("a", "d"));
}

// The instance of the next call asks the runner of its other task whether a worker has started it.
TEST_F(CallWaitsTest, GiveNoTurnToACallWhoseTimeIsOverWhileItsInstanceAsksARunner) {
  constexpr const char* kTimeouts =
      ", scheduleToStartTimeout: 10m, startToCloseTimeout: 5h, retries: {maximumAttempts: 1}";
  world.apply(banking("slot", ", concurrency: {limit: 1}", kTimeouts));
  world.apply(
      fmt::format("id: both\n"
                  "functions:\n"
                  "- {{id: post, type: service, service: mail}}\n"
                  "- {{id: pay, type: service, service: bank, concurrency: {{limit: 1}}}}\n"
                  "states:\n"
                  "- {{id: both, type: parallel, actions: [{{function: post{0}}}, "
                  "{{function: pay{0}}}]}}\n",
                  kTimeouts));
  start("a", "slot");
  start("b", "both");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b"));
  world.run_for(minutes(10));
  start("c", "slot");
  EXPECT_THAT(handed_out(), ElementsAre("a", "b", "c"));
}

TEST_F(CallWaitsTest, AreNamedByAScheduleToStartTimeout) {
  constexpr const char* kTimeouts =
      ", scheduleToStartTimeout: 10m, startToCloseTimeout: 5h, retries: {maximumAttempts: 1}";
  world.apply(banking("pay", ", concurrency: {limit: 1, key: jq(.customer)}", kTimeouts));
  world.apply(banking("pace", ", throttle: {limit: 1, period: PT1H}", kTimeouts));
  start("a");
  world.functions.report({world.functions.tasks()[0].id, TaskStarted{}});
  const std::string for_slot = start("b");
  start("c", "pace");
  const std::string not_taken = start("c", "pace");
  world.run_for(minutes(11));
  EXPECT_EQ(message_of(for_slot),
            "attempt 1 of function \"pay\" did not start within 10m: it waited for a slot of "
            "service \"bank\" (limit 1, key \"c1\")");
  EXPECT_EQ(message_of(not_taken),
            "attempt 1 of function \"pay\" did not start within 10m: it waited for the throttle of "
            "service \"bank\" (limit 1 in PT1H)");
}

TEST_F(CallWaitsTest, DoNotShowAKeyThatMayBeASecret) {
  world.must(PutSecret{"default", "account", "4711"});
  world.apply(
      "id: pay\n"
      "functions: [{id: pay, type: service, service: bank, "
      "concurrency: {limit: 1, key: jq(.account), timeout: PT10M}}]\n"
      "states:\n"
      "- {id: pay, type: action, action: {function: pay, secrets: [account], "
      "input: {order: jq(.order), account: jq(.secrets.account)}}}\n");
  world.evaluator.define("{\"account\":.secrets.account,\"order\":.order}",
                         [](const Json&) -> QueryResult { return Json(nullptr); });
  start("a");
  const std::string waits = start("b");
  world.run_for(minutes(10));
  EXPECT_THAT(message_of(waits), HasSubstr("service \"bank\" (limit 1, key (sealed))"));
}

TEST_F(CallWaitsTest, LeaveNoCallBehindThatOfAPausedInstance) {
  world.apply(banking("one", ", concurrency: {limit: 1}"));
  world.apply(banking("two", ", concurrency: {limit: 2}"));
  start("a", "two");
  const std::string paused = start("b", "one");
  start("c", "two");
  EXPECT_THAT(handed_out(), ElementsAre("a"));
  world.must(PauseInstance{"default", number_of(paused)});
  EXPECT_THAT(handed_out(), ElementsAre("a", "c")) << "the lowest limit waits no more";
  world.apply(banking("slow", ", throttle: {limit: 1, period: PT1H}"));
  world.apply(banking("fast", ", throttle: {limit: 2, period: PT1H}"));
  start("d", "fast");
  const std::string held = start("e", "slow");
  start("f", "fast");
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "d"));
  world.must(PauseInstance{"default", number_of(held)});
  EXPECT_THAT(handed_out(), ElementsAre("a", "c", "d", "f"));
}

TEST_F(CallWaitsTest, SayUntilWhenACallWaitsForItsSlot) {
  world.apply(banking("pay", kTenMinutes));
  start("a");
  const TimePoint from = world.clock.now();
  const InstanceId waits = number_of(start("b"));
  const Snapshot view = Snapshot::take(world.environment()).value();
  const Json calls = world.queries().instance_calls(view, "default", waits, 10, "").value();
  const Json& slot = calls["items"][0]["slot"];
  EXPECT_EQ(slot["until"], format_rfc3339(from + minutes(10)));
  EXPECT_EQ(slot["queued"], true);
}

}  // namespace
}  // namespace millrace
