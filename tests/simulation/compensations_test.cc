// Compensations: what states have done is undone, the newest first, before an instance ends; also
// through crashes, failures for good, cancellations and an operator's word.
#include <string>
#include <vector>

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

TEST(Compensations, AreMadeNewestFirstWithTheInputOfTheTimeWhenTheyWereNoted) {
  World world;
  const std::string id = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  fail_newest_task(world);
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre(R"({"done":"b","step":2})"));
  EXPECT_EQ(world.instance(id)["compensation"],
            (Json{{"left", 2}, {"making", true}, {"ends", "failed"}}));
  answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"),
              ElementsAre(R"({"done":"b","step":2})", R"({"done":"a","step":1})"));
  answer_newest_task(world, nullptr);
  const Json ended = world.instance(id);
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["state"], "step3");
  EXPECT_EQ(ended["error"]["code"], "no");
  EXPECT_FALSE(ended.contains("compensation"));
  EXPECT_EQ(world.metric("millrace_compensations_noted_total"), 2);
  EXPECT_EQ(world.metric("millrace_compensations_made_total"), 2);
  EXPECT_EQ(world.metric("millrace_compensations_stopped_total"), 0);
  EXPECT_THAT(world.history(id),
              ElementsAre("started", "entered step1", "called step1", "returned step1",
                          "noted step1", "entered step2", "called step2", "returned step2",
                          "noted step2", "entered step3", "called step3", "returned step3",
                          "raised step3", "compensating step3", "undoing step2", "called step2",
                          "returned step2", "undone step2", "undoing step1", "called step1",
                          "returned step1", "undone step1", "ended step3"));
}

TEST(Compensations, AreNotMadeWhenTheInstanceCompletes) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, 1);
  answer_newest_task(world, 2);
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

TEST(Compensations, StayNotedIfNothingAsksForThem) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2, "name: x"));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  EXPECT_EQ(world.instance(id)["compensations"],
            Json::parse(R"([{"number": 1, "state": "step1", "function": "undo",
                             "input": {"step": 1, "done": "a"}}])"));
  world.restart();
  EXPECT_EQ(world.must(CompensateInstance{"default", key(id)})["left"], 1);
  EXPECT_EQ(world.status(id), "running");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.refusal(CompensateInstance{"default", key(id)}).code, "instance.no_compensation");
}

TEST(Compensations, AreMadeAfterAnErrorStateThatAsksForThem) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: pay
  type: action
  action: {function: do}
  compensate: {function: undo, input: 7}
  transition: stop
- {id: stop, type: error, error: out.of.stock, message: none left, compensate: true}
)");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("7"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.instance(id)["error"]["code"], "out.of.stock");
  EXPECT_EQ(world.status(id), "failed");
}

TEST(Compensations, AreMadeAfterTheCleanUpOfOnFailure) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
on_failure: {state: clean, when: any, compensate: true}
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- {id: pay, type: action, action: {function: do}, compensate: {function: undo}, transition: ship}
- {id: ship, type: action, action: {function: do}}
- {id: clean, type: action, action: {function: do, input: clean}}
)");
  answer_newest_task(world, nullptr);
  fail_newest_task(world);
  EXPECT_EQ(world.functions.tasks().back().input, R"("clean")");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
}

TEST(Compensations, HaveRetriesOfTheirOwnAndNoDeadlineOfTheInstance) {
  World world;
  const std::string id = world.apply_order(
      compensated_steps(2, "compensate: true\ntimeouts: {kill: PT1H}",
                        ", retries: {max_attempts: 2, delay: PT10S, codes: ['*']}"));
  answer_newest_task(world, "a");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  world.run_for(hours(48));
  EXPECT_EQ(world.status(id), "running");
  fail_newest_task(world, "busy");
  EXPECT_EQ(world.status(id), "running");
  world.restart();
  world.run_for(seconds(10));
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(2));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "timedout");
}

TEST(Compensations, StopAtOneThatFailsForGoodAndGoOnByAnOperatorsWord) {
  World world;
  const std::string id = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  fail_newest_task(world, "cause");
  fail_newest_task(world, "not.undone");
  const Json stopped = world.instance(id);
  EXPECT_EQ(stopped["status"], "failed");
  EXPECT_EQ(stopped["error"]["code"], "cause");
  EXPECT_EQ(stopped["compensation"]["left"], 2);
  EXPECT_EQ(stopped["compensation"]["error"]["code"], "not.undone");
  EXPECT_THAT(stopped["compensations"], SizeIs(2));
  EXPECT_EQ(world.metric("millrace_compensations_stopped_total"), 1);
  world.restart();
  world.must(CompensateInstance{"default", key(id)});
  EXPECT_EQ(world.functions.tasks().back().input, R"({"done":"b","step":2})");
  fail_newest_task(world, "not.undone");
  world.must(CompensateInstance{.ns = "default", .instance = key(id), .past = true});
  EXPECT_EQ(world.functions.tasks().back().input, R"({"done":"a","step":1})");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "cause");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  const Error again =
      world.refusal(CompensateInstance{.ns = "default", .instance = key(id), .past = true});
  EXPECT_THAT(again.message,
              testing::HasSubstr("it noted none, or all were made or passed over by `past` "
                                 "(--past); its history shows which"));
}

TEST(Compensations, CannotBePassedOverUnlessOneHasFailed) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2, "name: x"));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  EXPECT_EQ(world.refusal(CompensateInstance{"default", key(id), true}).code,
            "instance.no_compensation");
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 1);
}

TEST(Compensations, AreStoppedByASecondCancelOnly) {
  World world;
  const std::string id = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  world.must(CancelInstance{.ns = "default", .instance = key(id), .now = true});
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  world.must(CancelInstance{.ns = "default", .instance = key(id)});
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 2);
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"], "direktiv.cancels.api");
  EXPECT_THAT(world.functions.stopped(), SizeIs(2));
}

TEST(Compensations, WaitUntilTheTasksOfACancelledInstanceHaveEnded) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, "a");
  world.must(CancelInstance{.ns = "default", .instance = key(id)});
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  fail_newest_task(world);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre(R"({"done":"a","step":1})"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "cancelled");
}

TEST(Compensations, UndoTheWorkOfATaskThatEndsAfterTheCancel) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, "a");
  world.must(CancelInstance{.ns = "default", .instance = key(id)});
  world.restart();
  answer_newest_task(world, "b");
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre(R"({"done":"b","step":2})"));
  EXPECT_FALSE(world.instance(id)["data"].contains("return"));
  answer_newest_task(world, nullptr);
  answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"),
              ElementsAre(R"({"done":"b","step":2})", R"({"done":"a","step":1})"));
  EXPECT_EQ(world.status(id), "cancelled");
}

TEST(Compensations, OfATaskThatEndsAfterTheCancelStayNotedIfNothingAsksForThem) {
  World world;
  const std::string id = world.apply_order(compensated_steps(1, ""));
  world.must(CancelInstance{.ns = "default", .instance = key(id)});
  answer_newest_task(world, "a");
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 1);
}

TEST(Compensations, PauseAndResumeAsAnyCallDoes) {
  World world;
  const std::string id = world.apply_order(compensated_steps(
      3, "compensate: true", ", retries: {max_attempts: 2, delay: PT10S, codes: ['*']}"));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  fail_newest_task(world);
  world.must(PauseInstance{"default", key(id)});
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "paused");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  world.restart();
  world.must(ResumeInstance{"default", key(id)});
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(2));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
}

TEST(Compensations, WaitForTheResumeOfAnInstanceWhoseDeadlinePassesInAPause) {
  World world;
  const std::string id =
      world.apply_order(compensated_steps(2, "compensate: true\ntimeouts: {kill: PT1H}"));
  answer_newest_task(world, "a");
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "paused");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  world.restart();
  world.must(ResumeInstance{"default", key(id)});
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "timedout");
}

TEST(Compensations, BeginAtOnceIfAPausedInstanceIsCancelled) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, "a");
  world.must(PauseInstance{"default", key(id)});
  world.must(CancelInstance{.ns = "default", .instance = key(id), .now = true});
  EXPECT_EQ(world.status(id), "running");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "cancelled");
}

/// A workflow whose only call is undone with its result; `way`: how its state is left.
std::string pays_and_leaves(const std::string& way) {
  return fmt::format(R"(
id: order
compensate: true
functions:
- {{id: do, type: knative-namespace, service: do}}
- {{id: undo, type: knative-namespace, service: undo}}
states:
- id: pay
  type: action
  action: {{function: do}}
  compensate: {{function: undo, input: jq(.return)}}
  {}
- {{id: last, type: noop}}
)",
                     way);
}

TEST(Compensations, AreNotedForAStateThatIsCancelledWhileItsTransformIsEvaluated) {
  World world;
  world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  const std::string id =
      world.apply_order(pays_and_leaves("transform: jq(slow)\n  transition: last"));
  answer_newest_task(world, 7);
  EXPECT_EQ(world.evaluator.waiting(), 1U);
  world.must(CancelInstance{.ns = "default", .instance = key(id), .now = true});
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("7"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "cancelled");
}

TEST(Compensations, AreNotedOnceForAStateWhoseTransformFails) {
  World world;
  const std::string id =
      world.apply_order(pays_and_leaves("transform: jq(.return.a)\n  transition: last"));
  answer_newest_task(world, 7);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("7"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
}

TEST(Compensations, OfTheRunBeforeAreDroppedByTheNextRun) {
  World world;
  const std::string id = world.apply_order(pays_and_leaves("continueAsNew: jq({})"));
  answer_newest_task(world, 7);
  EXPECT_EQ(world.instance(id)["run"], 2);
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  fail_newest_task(world);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
}

TEST(Compensations, AreDroppedByARestartAndKeptByARetry) {
  World world;
  const std::string id = world.apply_order(compensated_steps(2, "name: x"));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  world.must(RetryInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 1);
  fail_newest_task(world);
  world.must(RestartInstance{"default", key(id)});
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  answer_newest_task(world, "b");
  fail_newest_task(world);
  EXPECT_EQ(world.instance(id)["compensations"][0]["input"]["done"], "b");
  EXPECT_THAT(world.instance(id)["compensations"], SizeIs(1));
}

TEST(Compensations, HaveOneEntryForEachVisitOfAState) {
  World world;
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
  compensate: {function: undo, input: jq(.return)}
  transition: pay
)");
  for (const int n : {1, 2, 3}) answer_newest_task(world, n);
  fail_newest_task(world);
  for (int n = 0; n < 3; ++n) answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("3", "2", "1"));
  EXPECT_EQ(world.status(id), "failed");
}

TEST(Compensations, AreRefusedBeyondAThousandBeforeTheStateActs) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
functions:
- {id: undo, type: knative-namespace, service: undo}
states:
- {id: pay, type: noop, compensate: {function: undo, input: 1}, transition: pay}
)");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.limits.compensations");
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 1'000);
  EXPECT_THAT(world.instance(id)["compensations"], SizeIs(100));
}

TEST(Compensations, OfASubflowGoOnAfterItsCallerHasEnded) {
  World world;
  world.apply(compensated_steps(2));
  world.apply(R"(
id: parent
functions:
- {id: f, type: subflow, workflow: order}
states:
- {id: call, type: action, action: {function: f}}
)");
  const std::string parent = world.start("parent")["id"];
  answer_newest_task(world, "a");
  world.must(CancelInstance{.ns = "default", .instance = key(parent), .now = true});
  EXPECT_EQ(world.status(parent), "cancelled");
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  answer_newest_task(world, nullptr);
  EXPECT_THAT(world.functions.tasks(), SizeIs(3));
}

/// Plays ten steps, of which the last one fails, and the process dies after `crash` answers: at
/// once, or after the next commit and before its actions. Returns the inputs of `undo`.
std::vector<std::string> play_with_crash(int crash, bool is_after_commit) {
  World world;
  const std::string id = world.apply_order(compensated_steps(10));
  for (int answers = 0; world.status(id) != "failed" && answers < 30; ++answers) {
    const bool crashes = answers == crash;
    const std::vector<Task> undone = tasks_of(world, "undo");
    const Task newest = world.functions.tasks().back();
    if (newest.function == "do" && newest.input == "10") {
      world.functions.report({newest.id, TaskEnded{.result = tl::unexpected(Error{"no", "no"})}});
    } else {
      world.functions.answer(newest.id, nullptr);
    }
    if (crashes && is_after_commit) {
      world.crash_after_commit();
      world.recover();
    } else if (crashes) {
      world.restart();
    }
    world.run_until_idle();
    EXPECT_LE(tasks_of(world, "undo").size(), undone.size() + 1) << "only one is under way";
  }
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  return inputs_of(world, "undo");
}

TEST(Compensations, AreMadeOnceAndInTheirOrderIfTheProcessDiesAtAnyStep) {
  std::vector<std::string> expected;
  for (int step = 9; step > 0; --step) {
    expected.push_back(fmt::format(R"({{"done":null,"step":{}}})", step));
  }
  for (int crash = 0; crash < 19; ++crash) {
    for (const bool is_after_commit : {false, true}) {
      EXPECT_EQ(play_with_crash(crash, is_after_commit), expected)
          << "crash after answer " << crash << (is_after_commit ? ", after its commit" : "");
    }
  }
}

}  // namespace
}  // namespace millrace
