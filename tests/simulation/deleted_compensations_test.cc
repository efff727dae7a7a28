// A workflow or a namespace is deleted while its instances have compensations to make.
#include <set>
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

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DeleteWorkflow deletion(bool drops = false) {
  return DeleteWorkflow{
      .ns = "default", .id = "order", .cancel = true, .drop_compensations = drops};
}

TEST(DeletedCompensations, AreMadeBeforeTheWorkflowIsDeleted) {
  World world;
  const std::string id = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  const Error refused = world.refusal(deletion());
  EXPECT_EQ(refused.code, "workflow.compensating");
  EXPECT_EQ(
      refused.message,
      "workflow \"order\" is not deleted yet: instances that make their compensations, or are "
      "called by one: 1; wait for their end and repeat the command, or drop the "
      "compensations with ?cancel=1&dropCompensations=1 (--cancel --drop-compensations)");
  world.restart();
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating") << "it is not cancelled again";
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"),
              ElementsAre(R"({"done":"b","step":2})", R"({"done":"a","step":1})"));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 0}}));
}

TEST(DeletedCompensations, AreNotMadeIfTheCommandDropsThem) {
  World world;
  const std::string making = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  const std::string waits = world.start_order();
  answer_newest_task(world, "c");
  EXPECT_EQ(world.must(deletion(true)), (Json{{"cancelled", 2}, {"droppedCompensations", 3}}));
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(1));
  EXPECT_EQ(world.status(making), "cancelled");
  EXPECT_EQ(world.status(waits), "cancelled");
}

TEST(DeletedCompensations, OfAnInstanceThatIsPausedAreMadeWhenItIsResumed) {
  World world;
  const std::string id = world.apply_order(compensated_steps(3));
  answer_newest_task(world, "a");
  answer_newest_task(world, "b");
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  world.must(PauseInstance{"default", key(id)});
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  EXPECT_EQ(world.status(id), "paused");
  world.must(ResumeInstance{"default", key(id)});
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 0}}));
}

TEST(DeletedCompensations, DoNotHoldTheDeletionIfTheDefinitionDoesNotAskForThem) {
  World world;
  world.apply_order(compensated_steps(2, "name: x"));
  answer_newest_task(world, "a");
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 1}}));
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
}

/// An instance with one note that waits; only one is active.
constexpr const char* kWaitsWithNote = R"(
id: order
compensate: true
{}
functions:
- {{id: undo, type: service, service: undo}}
states:
- {{id: note, type: noop, compensate: {{function: undo, input: jq(.n)}}, transition: wait}}
- {{id: wait, type: consumeEvent, event: {{type: never}}}}
)";

TEST(DeletedCompensations, LetNoStartThatWaitsForASlotBegin) {
  World world;
  const std::string holder =
      world.apply_order(fmt::format(kWaitsWithNote, "concurrency: {limit: 1}"), {{"n", 1}});
  const std::string queued = world.start("order", {{"n", 2}})["id"];
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  EXPECT_THAT(world.history(queued),
              ElementsAre("started", "queued note", "cancelled note", "ended note"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(holder), "cancelled");
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("1"));
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 0}}));
}

TEST(DeletedCompensations, OfStartsThatComeMeanwhileAreMadeByTheNextCommand) {
  World world;
  world.apply_order(fmt::format(kWaitsWithNote, "concurrency: {limit: 1}"), {{"n", 1}});
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  const std::string later = world.start("order", {{"n", 2}})["id"];
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(later), "waiting") << "the workflow is still there";
  EXPECT_EQ(world.refusal(deletion()).code, "workflow.compensating");
  answer_newest_task(world, nullptr);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("1", "2"));
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 0}}));
}

/// Deletes a workflow with many instances; the process dies after so many turns, and the command is
/// repeated.
void delete_many(int turns) {
  constexpr size_t kMany = 150;
  World world;
  world.apply(fmt::format(kWaitsWithNote, ""));
  for (size_t i = 0; i < kMany; ++i) world.start("order", {{"n", i}});
  const Answered first = world.command(deletion());
  for (int i = 0; i < turns; ++i) world.step();
  world.restart();
  world.run_until_idle();
  const Error refused = world.refusal(deletion());
  EXPECT_EQ(refused.code, "workflow.compensating");
  EXPECT_THAT(refused.message, HasSubstr("called by one: 150;"));
  for (const Task& task : tasks_of(world, "undo")) world.functions.answer(task.id, nullptr);
  world.run_until_idle();
  EXPECT_EQ(world.must(deletion()), (Json{{"cancelled", 0}}));
  const std::vector<std::string> inputs = inputs_of(world, "undo");
  EXPECT_THAT(inputs, SizeIs(kMany));
  EXPECT_THAT(std::set<std::string>(inputs.begin(), inputs.end()), SizeIs(kMany));
  EXPECT_EQ(world.metric("millrace_compensations_stopped_total"), 0);
}

TEST(DeletedCompensations, OfManyInstancesAreMadeOnceIfTheProcessDiesMeanwhile) {
  for (const int turns : {0, 1, 2, 3, 6}) {
    SCOPED_TRACE(turns);
    delete_many(turns);
  }
}

constexpr const char* kRefundedBySubflows = R"(
id: order
compensate: true
functions:
- {id: refund, type: subflow, workflow: refund}
states:
- {id: note, type: noop, compensate: {function: refund}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: never}}
)";
/// A subflow that calls another one.
constexpr const char* kRefund = R"(
id: refund
functions: [{id: pay, type: subflow, workflow: pay}]
states: [{id: pay, type: action, action: {function: pay}}]
)";
constexpr const char* kPay = R"(
id: pay
functions: [{id: undo, type: service, service: undo}]
states: [{id: pay, type: action, action: {function: undo, input: 1}}]
)";

TEST(DeletedCompensations, BySubflowsAreMadeBeforeTheNamespaceIsDeleted) {
  World world;
  world.must(CreateNamespace{.name = "shop"});
  for (const char* const one : {kRefundedBySubflows, kRefund, kPay}) world.apply(one, "shop");
  world.must(StartInstance{.ns = "shop", .workflow = "order", .input = Json::object()});
  world.must(StartInstance{.ns = "shop", .workflow = "refund", .input = Json::object()});
  EXPECT_THAT(tasks_of(world, "undo"), SizeIs(1));
  const DeleteNamespace command{.name = "shop", .cancel = true};
  EXPECT_EQ(world.refusal(command).code, "namespace.compensating");
  EXPECT_THAT(world.functions.stopped(), SizeIs(1)) << "of the other refund";
  EXPECT_THAT(tasks_of(world, "undo"), SizeIs(2));
  const Error refused = world.refusal(command);
  EXPECT_EQ(refused.code, "namespace.compensating");
  EXPECT_THAT(refused.message, HasSubstr("called by one: 3;")) << "order, refund, pay";
  const DeleteWorkflow of_subflow{.ns = "shop", .id = "pay", .cancel = true};
  EXPECT_EQ(world.refusal(of_subflow).code, "workflow.compensating");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.must(command), (Json{{"cancelled", 0}}));
  EXPECT_THAT(world.functions.stopped(), SizeIs(1));
  EXPECT_EQ(world.metric("millrace_compensations_made_total"), 1);
}

}  // namespace
}  // namespace millrace
