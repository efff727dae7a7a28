// Deadlines: late results, a millrace that was down at a deadline, and an unreachable broker. Only
// timeouts of waits for events are held until the event stream is read.
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
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A workflow with one call of `charge`, with further keys of the action, the state and the
/// workflow.
std::string timed_order(std::string_view action, std::string_view state = "",
                        std::string_view workflow = "") {
  return fmt::format(R"(
id: order
{}
functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- id: pay
  type: action
  action: {{function: charge{}}}
  catch: [{{error: 'direktiv.stateTimeout', transition: late}}]
{}
  transition: ship
- {{id: ship, type: noop}}
- {{id: late, type: noop}}
)",
                     workflow, action, state);
}

/// A timeout of one minute that bounds a call, and the status of the instance after this timeout.
struct Bound {
  std::string definition;
  std::string status;
};

std::vector<Bound> bounds() {
  return {
      {timed_order(", startToCloseTimeout: 1m, retries: {maximumAttempts: 1}"), "failed"},
      {timed_order(", scheduleToCloseTimeout: 1m"), "failed"},
      {timed_order(", timeout: 1m, retry: 'fixed(5, 1s)'"), "failed"},
      {timed_order(", deadline: 1m"), "cancelled"},
      {timed_order("", "  timeout: 1m"), "complete"},
      {timed_order("", "", "workflowExecutionTimeout: 1m"), "timedout"},
      {timed_order("", "", "workflowRunTimeout: 1m"), "timedout"},
      {timed_order("", "", "timeouts: {kill: 1m}"), "timedout"},
      {timed_order("", "", "timeouts: {interrupt: 1m}"), "failed"},
      {timed_order("", "", "timeout: 1m"), "failed"},
  };
}

/// Reports that a worker has started the attempt.
void begin(World& world) {
  world.functions.report({world.functions.tasks()[0].id, TaskStarted{}});
  world.run_until_idle();
}

void expect_too_late(World& world, const std::string& id, const Bound& bound) {
  const Json instance = world.instance(id);
  EXPECT_EQ(instance["status"], bound.status) << bound.definition;
  EXPECT_FALSE(instance["output"].contains("return")) << bound.definition;
  EXPECT_THAT(world.history(id), Not(Contains("entered ship"))) << bound.definition;
}

TEST(Deadlines, PreventTheRepetitionOfACallThatExpiredWhileMillraceWasDown) {
  for (const Bound& bound : bounds()) {
    World world;
    const std::string id = world.apply_order(bound.definition);
    begin(world);
    world.crash();
    world.functions.be_replaced();
    world.clock.advance(minutes(2));
    world.broker.disconnect();  // so that the event stream opens after the first turn only
    world.recover();
    world.run_until_idle();
    world.broker.reconnect();
    world.run_until_idle();
    EXPECT_THAT(world.functions.tasks(), IsEmpty()) << bound.definition;
    expect_too_late(world, id, bound);
  }
}

TEST(Deadlines, RejectALateAnswer) {
  for (const Bound& bound : bounds()) {
    World world;
    const std::string id = world.apply_order(bound.definition);
    begin(world);
    world.crash();
    world.clock.advance(minutes(1));
    world.broker.disconnect();
    world.recover();
    // The result of the task comes before the first turn.
    TaskEnded ended{.result = "1"};
    ended.variables.push_back({VariableScope::kNamespace, "receipt", {"application/json", "17"}});
    world.functions.report({world.functions.tasks()[0].id, ended});
    world.run_until_idle();
    expect_too_late(world, id, bound);
    const auto rows = world.rows();
    EXPECT_TRUE(std::none_of(rows.begin(), rows.end(), [](const auto& row) {
      return row.first.starts_with("variables/");
    })) << bound.definition;
  }
}

TEST(Deadlines, AcceptAnAnswerOneMillisecondBeforeThem) {
  for (const Bound& bound : bounds()) {
    World world;
    const std::string id = world.apply_order(bound.definition);
    begin(world);
    world.run_for(minutes(1) - Duration(1));
    world.functions.answer(world.functions.tasks()[0].id, 1);
    world.run_until_idle();
    EXPECT_EQ(world.instance(id)["status"], "complete") << bound.definition;
    EXPECT_EQ(world.instance(id)["output"]["return"], 1) << bound.definition;
  }
}

TEST(Deadlines, EndCallsWhileTheBrokerIsUnreachable) {
  for (const Bound& bound : bounds()) {
    World world;
    const std::string id = world.apply_order(bound.definition);
    begin(world);
    world.broker.disconnect();
    world.run_for(minutes(1));
    world.functions.answer(world.functions.tasks()[0].id, 1);
    world.run_until_idle();
    expect_too_late(world, id, bound);
  }
}

TEST(Deadlines, AllowARetryOfACallWhileTheBrokerIsUnreachable) {
  World world;
  const std::string id =
      world.apply_order(timed_order(", startToCloseTimeout: 1m, retries: {initialInterval: 10s}"));
  world.broker.disconnect();
  world.run_until_idle();
  world.functions.report(
      {world.functions.tasks()[0].id, TaskEnded{.result = tl::unexpected(Error{"down", ""})}});
  world.run_for(seconds(10));
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  world.functions.answer(world.functions.tasks()[1].id, 1);
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["status"], "complete");
}

TEST(Deadlines, OfAWaitForAnEventAreHeldUntilTheStreamIsRead) {
  for (const char* const bound :
       {"workflowExecutionTimeout: 1m", "timeouts: {kill: 1m}", "workflowRunTimeout: 1m", "x"}) {
    World world;
    const bool of_state = std::string_view(bound) == "x";
    const std::string id =
        world.apply_order(fmt::format(R"(
id: order
{}
states:
- id: wait
  type: consumeEvent
  event: {{type: paid}}
{}
)",
                                      of_state ? "" : bound, of_state ? "  timeout: 1m" : ""));
    world.run_for(seconds(30));
    world.broker.disconnect();
    world.publish("paid", "1", 5);
    world.run_for(minutes(2));
    EXPECT_EQ(world.instance(id)["status"], "waiting") << bound;
    world.broker.reconnect();
    world.run_until_idle();
    EXPECT_EQ(world.instance(id)["status"], "complete") << bound;
  }
}

TEST(Deadlines, PreventACallEvenIfTheEventBeforeTheCallCameInTime) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
timeouts: {kill: 1m}
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transition: pay}
- {id: pay, type: action, action: {function: charge}}
)");
  world.run_for(seconds(30));
  world.broker.disconnect();
  world.publish("paid", "1", 5);
  world.publish("other", "2");
  world.run_for(minutes(2));
  world.broker.reconnect();
  // The broker delivers one message at a time, so the timer `kill` is still held when the event is
  // applied.
  while (world.step(1)) {
  }
  EXPECT_THAT(world.functions.tasks(), IsEmpty());
  EXPECT_EQ(world.instance(id)["status"], "timedout");
}

TEST(Deadlines, PreventARetryThatWasDueBeforeThemWhileMillraceWasDown) {
  for (const char* const bound : {"", "  timeout: 1m"}) {
    World world;
    const std::string id = world.apply_order(
        timed_order(std::string_view(bound).empty() ? ", timeout: 1m, retry: 'fixed(5, 10s)'"
                                                    : ", retry: 'fixed(5, 10s)'",
                    bound));
    world.functions.report(
        {world.functions.tasks()[0].id, TaskEnded{.result = tl::unexpected(Error{"down", ""})}});
    world.run_until_idle();
    world.crash();
    world.clock.advance(minutes(2));
    world.recover();
    world.run_until_idle();
    EXPECT_THAT(world.functions.tasks(), SizeIs(1)) << bound;
    const std::vector<std::string> history = world.history(id);
    EXPECT_EQ(std::count(history.begin(), history.end(), "called pay"), 1) << bound;
  }
}

TEST(Deadlines, PreventARetryOfAStateAfterTheExecutionTimeout) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
workflowExecutionTimeout: 1m
states:
- id: wait
  type: consumeEvent
  event: {type: paid}
  timeout: 10s
  retries: {max_attempts: 3, delay: PT20S, codes: ['*']}
)");
  world.run_for(seconds(15));
  world.crash();
  world.clock.advance(minutes(2));
  world.recover();
  world.run_until_idle();
  const std::vector<std::string> history = world.history(id);
  EXPECT_EQ(std::count(history.begin(), history.end(), "entered wait"), 1);
  EXPECT_EQ(world.instance(id)["status"], "timedout");
}

TEST(Deadlines, ExpireInTheirOrderAfterARestart) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: a, type: knative-namespace, service: a}
states:
- id: both
  type: parallel
  actions:
  - {function: a, scheduleToCloseTimeout: 2m}
  - {function: a, startToCloseTimeout: 1m, retries: {maximumAttempts: 1}}
)");
  for (const Task& task : std::vector<Task>(world.functions.tasks())) {
    world.functions.report({task.id, TaskStarted{}});
  }
  world.run_until_idle();
  world.crash();
  world.clock.advance(hours(1));
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.startToClose");
}

}  // namespace
}  // namespace millrace
