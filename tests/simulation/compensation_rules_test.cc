// Compensations: when a state notes none, errors of their input, and their own timeouts.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/compensated_order.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(CompensationRules, AStateThatFailsNotesNoneAlsoIfItsErrorIsCaught) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: first
  type: action
  action: {function: do}
  compensate: {function: undo, input: 1}
  transition: pay
- id: pay
  type: action
  action: {function: do}
  compensate: {function: undo, input: 2}
  catch: [{error: '*', transition: stop}]
  transition: stop
- {id: stop, type: error, error: no.money, message: not paid}
)");
  answer_newest_task(world, nullptr);
  fail_newest_task(world);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("1"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.instance(id)["error"]["code"], "no.money");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.metric("millrace_compensations_noted_total"), 1);
}

TEST(CompensationRules, AnInputThatCannotBeEvaluatedIsAnErrorOfTheState) {
  World world;
  world.evaluator.define("broken", [](const Json&) -> QueryResult {
    return tl::unexpected(Error{"direktiv.jq.badCommand", "the program is broken"});
  });
  const std::string id = world.apply_order(R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: pay
  type: action
  action: {function: do}
  compensate: {function: undo, input: jq(broken)}
  catch: [{error: direktiv.jq.badCommand, transition: stop}]
  transition: ship
- {id: ship, type: noop}
- {id: stop, type: error, error: not.noted, message: the payment cannot be undone}
)");
  answer_newest_task(world, 7);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "not.noted");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  EXPECT_EQ(world.metric("millrace_compensations_noted_total"), 0);
}

TEST(CompensationRules, ATimeoutOfOneIsItsOwnAndBeginsAgainByAnOperatorsWord) {
  World world;
  const std::string id =
      world.apply_order(compensated_steps(2, "compensate: true", ", timeout: 30s"));
  answer_newest_task(world, "a");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting") << "the call of the state has no timeout";
  fail_newest_task(world);
  world.run_for(seconds(29));
  EXPECT_EQ(world.status(id), "running");
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "no") << "that of the cause";
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"],
            "millrace.timeout.scheduleToClose");
  world.restart();
  world.must(CompensateInstance{"default", key(id)});
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(2));
  world.run_for(seconds(29));
  EXPECT_EQ(world.status(id), "running");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

/// An order whose first step is undone by the subflow `refund`.
std::string undone_by_refund(const std::string& retries = "") {
  return fmt::format(R"(
id: order
compensate: true
functions:
- {{id: do, type: service, service: do}}
- {{id: refund, type: subflow, workflow: refund}}
states:
- {{id: pay, type: noop, compensate: {{function: refund, input: {{a: 1}}{}}}, transition: ship}}
- {{id: ship, type: action, action: {{function: do}}}}
)",
                     retries);
}

/// The workflow of the subflow, with further keys.
std::string refund_with(const std::string& keys) {
  return fmt::format(R"(
id: refund
{}
functions: [{{id: pay, type: service, service: refund}}]
states: [{{id: pay, type: action, action: {{function: pay}}}}]
)",
                     keys);
}

TEST(CompensationRules, ASubflowWhoseStartIsSkippedHasNotUndoneTheWork) {
  for (const std::string keys : {"", "debounce: {period: PT1S}\n"}) {
    World world;
    world.apply(refund_with(keys + "concurrency: {limit: 1, onLimit: skip}"));
    const std::string id = world.apply_order(
        undone_by_refund(", retries: {max_attempts: 1, delay: PT10S, codes: [skipped]}"));
    world.must(StartInstance{.ns = "default", .workflow = "refund", .input = Json::object()});
    world.run_for(seconds(2));
    const InstanceId held = world.functions.tasks().back().id;
    EXPECT_THAT(tasks_of(world, "pay"), SizeIs(1)) << keys;
    fail(world, tasks_of(world, "do").back().id, "no");
    world.run_for(seconds(2));
    EXPECT_EQ(world.status(id), "running") << keys << ": it waits for the next attempt";
    world.functions.answer(held, nullptr);
    world.run_for(seconds(12));
    EXPECT_THAT(tasks_of(world, "pay"), SizeIs(2)) << keys;
    answer_newest_task(world, nullptr);
    EXPECT_EQ(world.status(id), "failed") << keys;
    EXPECT_FALSE(world.instance(id).contains("compensation")) << keys;
    EXPECT_EQ(world.metric("millrace_compensations_made_total"), 1) << keys;
  }
}

TEST(CompensationRules, ASkippedSubflowThatIsNotTriedAgainLeavesTheCompensation) {
  World world;
  world.apply(refund_with("concurrency: {limit: 1, onLimit: skip}"));
  const std::string id = world.apply_order(undone_by_refund());
  world.must(StartInstance{.ns = "default", .workflow = "refund", .input = Json::object()});
  fail(world, tasks_of(world, "do").back().id, "no");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"], "millrace.concurrency.skipped");
  answer_newest_task(world, nullptr);
  world.must(CompensateInstance{"default", key(id)});
  EXPECT_THAT(tasks_of(world, "pay"), SizeIs(2));
}

TEST(CompensationRules, AWorkflowWithBatchUndoesNothing) {
  World world;
  world.apply(refund_with("batch: {maxSize: 2, timeout: PT1M}"));
  const std::string id = world.apply_order(undone_by_refund());
  fail_newest_task(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 1);
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"], "millrace.compensation.batch");
  world.run_for(hours(1));
  EXPECT_THAT(tasks_of(world, "pay"), IsEmpty()) << "the batch got no input";
  world.apply(refund_with(""));
  world.must(CompensateInstance{"default", key(id)});
  answer_newest_task(world, nullptr);
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

TEST(CompensationRules, OneWhosePolicyPermitsNoAttemptIsNotMade) {
  World world;
  const std::string id = world.apply_order(
      compensated_steps(2, "compensate: true", ", retries: {vocabulary: steep, maxAttempts: 0}"));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"], "millrace.compensation.skipped");
  EXPECT_EQ(world.metric("millrace_compensations_made_total"), 0);
}

}  // namespace
}  // namespace millrace
