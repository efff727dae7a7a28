// Subflows: instances that other instances call, wait for and cancel.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

/// A workflow that calls the subflow `charge`, which waits for the event `paid` of its order.
constexpr const char* kOrderOfChild = R"(
id: order
functions:
- {id: charge, type: subflow, workflow: charge}
states:
- id: pay
  type: action
  action: {function: charge, input: {order: jq(.order)}}
  transition: ship
- {id: ship, type: noop}
)";

constexpr const char* kCharge = R"(
id: charge
states:
- id: wait
  type: consumeEvent
  timeout: PT1H
  event: {type: paid, context: {order: jq(.order)}}
)";

TEST(Subflow, RunsAsAnInstanceAndReturnsItsOutput) {
  World world;
  world.apply(kCharge);
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  const std::vector<Json> charges = instances_of(world, "charge");
  ASSERT_THAT(charges, SizeIs(1));
  EXPECT_EQ(charges[0]["parent"], order["id"]);
  EXPECT_EQ(charges[0]["input"], (Json{{"order", "A"}}));
  EXPECT_EQ(world.instance(order["id"])["calls"], (Json::array({{{"function", "charge"},
                                                                 {"instance", charges[0]["id"]},
                                                                 {"status", "running"},
                                                                 {"attempt", 1}}})));
  world.publish("paid", "1", 5, {{"order", "A"}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(order["id"])["output"],
            (Json{{"order", "A"}, {"return", {{"order", "A"}, {"paid", 5}}}}));
  EXPECT_THAT(world.history(order["id"]),
              ElementsAre("started", "entered pay", "called pay", "returned pay", "entered ship",
                          "ended ship"));
  EXPECT_EQ(world.history_items(charges[0]["id"])[0]["detail"]["parent"], order["id"]);
}

TEST(Subflow, ReturnsItsErrorToTheCaller) {
  World world;
  world.apply(kCharge);
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  world.run_for(hours(1));
  const Json child = instances_of(world, "charge")[0];
  EXPECT_EQ(child["error"]["code"], "direktiv.stateTimeout");
  EXPECT_EQ(world.instance(order["id"])["status"], "failed");
  EXPECT_EQ(world.instance(order["id"])["error"], child["error"]);
}

TEST(Subflow, ReturnsTheErrorOfAnErrorStateAfterTheCleanUp) {
  World world;
  world.apply(R"(
id: charge
states:
- {id: fails, type: error, error: card.declined, message: 'no %s', args: [jq(.order)], transition: tidy}
- {id: tidy, type: delay, duration: PT1M, transition: again}
- {id: again, type: error, error: later, message: later}
)");
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  EXPECT_EQ(world.instance(order["id"])["status"], "waiting");
  EXPECT_THAT(statuses(world, "charge"), ElementsAre("waiting"));
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(order["id"])["error"],
            (Json{{"code", "card.declined"}, {"msg", "no A"}}));
}

TEST(Subflow, RaisesAnErrorInTheCallerIfItsWorkflowDoesNotExist) {
  World world;
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  EXPECT_EQ(world.instance(order["id"])["status"], "failed");
  EXPECT_EQ(world.instance(order["id"])["error"]["code"], "direktiv.subflow.notExist");
}

TEST(Subflow, RaisesNoErrorIfItIsDetachedAndItsWorkflowDoesNotExist) {
  World world;
  world.apply(R"(
id: teller
functions: [{id: f, type: subflow, workflow: nowhere}]
states:
- {id: tell, type: action, async: true, action: {function: f}}
)");
  const Json teller = world.start("teller");
  EXPECT_EQ(world.instance(teller["id"])["status"], "complete");
}

TEST(Subflow, OutlivesItsCallerWhenItIsDetached) {
  World world;
  world.apply(R"(
id: teller
functions: [{id: f, type: subflow, workflow: slow}]
states:
- {id: tell, type: action, async: true, action: {function: f}, transition: rest}
- {id: rest, type: delay, duration: PT1H}
)");
  world.apply("id: slow\nstates:\n- {id: sleep, type: delay, duration: PT1M}\n");
  const Json teller = world.start("teller");
  world.must(CancelInstance{"default", *parse_instance_id(teller["id"].get<std::string>())});
  const Json slow = instances_of(world, "slow")[0];
  EXPECT_EQ(slow["status"], "waiting");
  EXPECT_FALSE(slow.contains("parent"));
  EXPECT_EQ(world.history_items(slow["id"])[0]["detail"]["parent"], teller["id"]);
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(slow["id"])["status"], "complete");
}

TEST(Subflow, IsCancelledWithItsCallerAtAnyDepth) {
  World world;
  const auto caller = [](std::string_view id, std::string_view callee) {
    return fmt::format(
        "id: {}\nfunctions: [{{id: f, type: subflow, workflow: {}}}]\n"
        "states: [{{id: s, type: action, action: {{function: f}}}}]\n",
        id, callee);
  };
  world.apply(caller("a", "b"));
  world.apply(caller("b", "c"));
  world.apply("id: c\nstates: [{id: s, type: consumeEvent, event: {type: never}}]\n");
  const Json top = world.start("a");
  EXPECT_THAT(statuses(world, "c"), ElementsAre("waiting"));
  world.must(CancelInstance{"default", *parse_instance_id(top["id"].get<std::string>())});
  EXPECT_THAT(statuses(world, "b"), ElementsAre("cancelled"));
  EXPECT_THAT(statuses(world, "c"), ElementsAre("cancelled"));
  EXPECT_EQ(instances_of(world, "c")[0]["error"]["code"], "direktiv.cancels.parent");
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
}

TEST(Subflow, ReturnsAnErrorWhenItIsCancelled) {
  World world;
  world.apply(kCharge);
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  const std::string child = instances_of(world, "charge")[0]["id"];
  world.must(CancelInstance{"default", *parse_instance_id(child)});
  EXPECT_EQ(world.instance(order["id"])["error"]["code"], "direktiv.cancels.api");
}

TEST(Subflow, ChangesNothingWhenItFailsAfterACancelOfItsCaller) {
  // The subflow fails in the batch that cancels its caller, so the error is for a caller that has
  // already ended.
  World world;
  world.apply(R"(
id: charge
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transform: jq(.paid.a)}
)");
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  world.publish("paid", "1", 5);
  const auto cancelled =
      world.command(CancelInstance{"default", *parse_instance_id(order["id"].get<std::string>())});
  world.run_until_idle();
  ASSERT_TRUE(*cancelled);
  EXPECT_THAT(statuses(world, "charge"), ElementsAre("failed"));
  const std::string status = world.instance(order["id"])["status"];
  EXPECT_TRUE(status == "failed" || status == "cancelled") << status;
  // The same in the other order: the caller is cancelled before the subflow fails.
  const Json second = world.start("order", {{"order", "B"}});
  world.must(CancelInstance{"default", *parse_instance_id(second["id"].get<std::string>())});
  const auto before = world.history(second["id"]);
  world.publish("paid", "2", 6);
  world.run_until_idle();
  EXPECT_EQ(world.history(second["id"]), before);
  EXPECT_EQ(world.instance(second["id"])["status"], "cancelled");
}

TEST(Subflow, IsNestedAtMostTwentyDeep) {
  World world;
  world.apply(R"(
id: deeper
functions: [{id: again, type: subflow, workflow: deeper}]
states:
- {id: dive, type: action, action: {function: again}}
)");
  const Json top = world.start("deeper");
  EXPECT_THAT(instances_of(world, "deeper"), SizeIs(21));
  EXPECT_EQ(world.instance(top["id"])["error"]["code"], "direktiv.limits.depth");
}

TEST(Subflow, IsStartedAtMostAHundredTimesInAChainOfDetachedCalls) {
  World world;
  world.apply(R"(
id: chain
functions: [{id: again, type: subflow, workflow: chain}]
states:
- {id: go, type: action, async: true, action: {function: again}}
)");
  world.start("chain");
  const auto all = instances_of(world, "chain");
  EXPECT_THAT(all, SizeIs(101));
  EXPECT_EQ(count(world, "chain", "complete"), 100u);
  for (const Json& one : all) {
    EXPECT_TRUE(one["status"] == "complete" || one["error"]["code"] == "direktiv.limits.depth");
  }
}

TEST(Subflow, ContinuesAfterACrashDuringItsWaitAndACrashAtItsEvent) {
  World world;
  world.apply(kCharge);
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  world.restart();
  world.run_until_idle();
  world.publish("paid", "1", 5, {{"order", "A"}});
  world.crash_after_commit();
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(world.instance(order["id"])["status"], "complete");
  EXPECT_THAT(statuses(world, "charge"), ElementsAre("complete"));
}

TEST(Subflow, KeepsTheWaitForItsNextAttemptOverARestart) {
  World world;
  world.apply(R"(
id: order
functions: [{id: f, type: subflow, workflow: charge}]
states:
- id: pay
  type: action
  action: {function: f, retries: {max_attempts: 1, delay: PT1H, codes: ['*']}}
)");
  world.apply("id: charge\nstates: [{id: s, type: error, error: no, message: no}]\n");
  const Json order = world.start("order");
  EXPECT_EQ(world.instance(order["id"])["nextRetryAt"], "2021-09-01T13:00:00.000Z");
  world.run_for(seconds(1800));
  world.crash();
  world.clock.advance(seconds(1000));
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(instances_of(world, "charge"), SizeIs(1))
      << "the wait neither restarted nor ended early";
  world.run_for(seconds(799));
  EXPECT_THAT(instances_of(world, "charge"), SizeIs(1));
  world.run_for(seconds(1));
  EXPECT_THAT(instances_of(world, "charge"), SizeIs(2));
  EXPECT_EQ(world.instance(order["id"])["error"]["code"], "direktiv.retries.exceeded");
}

TEST(Subflow, KeepsEventsThatItsCallerMayWaitForLater) {
  // The caller waits for the event `confirmed` after its subflow has ended, but the event comes
  // before that.
  World world;
  world.apply(R"(
id: order
functions: [{id: f, type: subflow, workflow: charge}]
states:
- {id: pay, type: action, action: {function: f}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: confirmed}}
)");
  world.apply(kCharge);
  const Json order = world.start("order", {{"order", "A"}});
  world.publish("confirmed", "1", "early");
  world.run_until_idle();
  EXPECT_EQ(world.rows_of("recent"), 1u);
  world.restart();
  world.publish("paid", "2", 5, {{"order", "A"}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(order["id"])["output"]["confirmed"], "early");
}

TEST(Subflow, KeepsEventsForItsCallerBetweenTwoAttempts) {
  World world;
  world.apply(R"(
id: order
functions: [{id: f, type: subflow, workflow: charge}]
states:
- id: pay
  type: action
  action: {function: f, retries: {max_attempts: 1, delay: PT1M, codes: ['*']}}
  catch: [{error: direktiv.retries.exceeded, transition: wait}]
- {id: wait, type: consumeEvent, event: {type: confirmed}}
)");
  world.apply("id: charge\nstates: [{id: s, type: error, error: no, message: no}]\n");
  const Json order = world.start("order");
  world.publish("confirmed", "1", "early");
  world.run_until_idle();
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(order["id"])["output"]["confirmed"], "early");
}

TEST(Subflow, KeepsNoEventsThatItsCallerCannotWaitFor) {
  World world;
  world.apply(R"(
id: order
functions: [{id: f, type: subflow, workflow: charge}]
states:
- {id: wait, type: consumeEvent, event: {type: confirmed}, transition: pay}
- {id: pay, type: action, action: {function: f}}
)");
  world.apply(kCharge);
  world.start("order", {{"order", "A"}});
  world.publish("confirmed", "1", 1);
  world.run_until_idle();
  world.publish("confirmed", "2", 2);
  world.run_until_idle();
  EXPECT_EQ(world.rows_of("recent"), 0u);
}

TEST(Subflow, ReturnsAnErrorWhenItsWorkflowIsDeleted) {
  World world;
  world.apply(kCharge);
  world.apply(kOrderOfChild);
  const Json order = world.start("order", {{"order", "A"}});
  world.must(DeleteWorkflow{.ns = "default", .id = "charge", .cancel = true});
  EXPECT_EQ(world.instance(order["id"])["error"]["code"], "direktiv.cancels.api");
}

}  // namespace
}  // namespace millrace
