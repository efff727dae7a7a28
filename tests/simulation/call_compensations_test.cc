// Compensations of foreach and parallel: each call that has succeeded is undone by itself, also if
// its state fails.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/charge_order.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::SizeIs;

constexpr const char* kPaysEach = R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: pay
  type: foreach
  array: jq(.all)
  action: {function: do}
  compensate: {function: undo, input: jq(.return.id)}
)";

class CallCompensations : public testing::Test {
 protected:
  const Task& task(size_t number) { return world.functions.tasks().at(number); }
  /// Answers a task, counted from 0 in the order of their starts.
  void answer(size_t number, const Json& result) {
    world.functions.answer(task(number).id, result);
    world.run_until_idle();
  }

  World world;
};

TEST_F(CallCompensations, OfAFailedForeachUndoItsFinishedCallsTheLastOneToEndFirst) {
  const std::string id = world.apply_order(kPaysEach, {{"all", {1, 2, 3}}});
  answer(2, {{"id", "c"}});
  answer(0, {{"id", "a"}});
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 2);
  fail(world, task(1).id, "no");
  EXPECT_EQ(world.status(id), "running");
  ASSERT_THAT(world.functions.tasks(), SizeIs(4)) << "one after the other";
  EXPECT_EQ(task(3).function, "undo");
  EXPECT_EQ(task(3).input, R"("a")");
  answer(3, nullptr);
  ASSERT_THAT(world.functions.tasks(), SizeIs(5));
  EXPECT_EQ(task(4).input, R"("c")");
  answer(4, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "no");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

TEST_F(CallCompensations, OfACancelledForeachUndoAlsoTheCallsThatEndAfterTheCancel) {
  const std::string id = world.apply_order(kPaysEach, {{"all", {1, 2, 3}}});
  answer(2, {{"id", "c"}});
  world.must(CancelInstance{.ns = "default", .instance = parse_instance_id(id).value()});
  answer(0, {{"id", "a"}});
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 2);
  fail(world, task(1).id, "no");
  ASSERT_THAT(world.functions.tasks(), SizeIs(4)) << "one after the other";
  EXPECT_EQ(task(3).input, R"("a")");
  answer(3, nullptr);
  EXPECT_EQ(task(4).input, R"("c")");
  answer(4, nullptr);
  EXPECT_EQ(world.status(id), "cancelled");
}

TEST_F(CallCompensations, OfAParallelStateUndoEachCallAfterTheStatesThatFollow) {
  const std::string id = world.apply_order(R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: pay
  type: parallel
  actions: [{function: do, input: 1}, {function: do, input: 2}]
  compensate: {function: undo}
  transition: ship
- {id: ship, type: action, action: {function: do, input: 3}}
)");
  answer(1, "b");
  answer(0, "a");
  fail(world, task(2).id, "no");
  EXPECT_EQ(task(3).input, R"({"return":"a"})");
  answer(3, nullptr);
  EXPECT_EQ(task(4).input, R"({"return":"b"})");
  answer(4, nullptr);
  EXPECT_EQ(world.status(id), "failed");
}

TEST_F(CallCompensations, WaitForAnInputThatAJqWorkerEvaluates) {
  world.evaluator.define("slow", [](const Json& input) -> QueryResult { return input; });
  std::string yaml = kPaysEach;
  yaml.replace(yaml.find(".return.id"), std::string(".return.id").size(), "slow");
  const std::string id = world.apply_order(yaml, {{"all", {1, 2}}});
  answer(0, "a");
  world.evaluator.hold();
  fail(world, task(1).id, "no");
  EXPECT_EQ(world.evaluator.waiting(), 1U);
  EXPECT_THAT(world.functions.tasks(), SizeIs(2));
  world.restart();
  world.run_until_idle();
  world.evaluator.release();
  world.run_until_idle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(3));
  EXPECT_EQ(task(2).input, R"({"return":"a"})");
  answer(2, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_THAT(world.history(id), testing::Contains("undoing pay").Times(1));
}

TEST_F(CallCompensations, AreRefusedBeforeAForeachActsIfItWouldNoteMoreThanAThousand) {
  Json all = Json::array();
  for (int i = 0; i < 1'001; ++i) all.push_back(i);
  const std::string id = world.apply_order(kPaysEach, {{"all", std::move(all)}});
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.limits.compensations");
  EXPECT_THAT(world.functions.tasks(), SizeIs(0));
}

}  // namespace
}  // namespace millrace
