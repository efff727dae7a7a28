// Instances that continue as new, beside the features that hold on to an instance: the process dies
// at each commit, singular workflows, callers, the starting event, and a store of the release
// before.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/children.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::SizeIs;

/// A workflow whose runs end when an event of each type has come. Its first state is `wait`, and
/// the input of run n + 1 is {"n": n}.
struct ContinuedWorkflow {
  const char* name;
  const char* rest;  ///< the definition without its id
  std::vector<std::string> types;
};

constexpr const char* kByAnExit = R"(
states:
- {id: wait, type: consumeEvent, event: {type: go}, continueAsNew: {n: jq($instance.run)}}
)";

const ContinuedWorkflow kContinued[] = {
    {"ByAnExit", kByAnExit, {"go"}},
    {"ByTheDefaultOfASwitch",
     R"(
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: decide}
- id: decide
  type: switch
  conditions: [{condition: .no, transition: wait}]
  defaultContinueAsNew: {n: jq($instance.run)}
)",
     {"go"}},
    {"ByAnEntryOfCatch",
     R"(
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  transform: .go.x
  catch: [{error: direktiv.jq.*, continueAsNew: {n: jq($instance.run)}}]
)",
     {"go"}},
    {"AfterSeveralEvents",
     R"(
states:
- id: wait
  type: eventAnd
  events: [{type: go}, {type: on}]
  continueAsNew: {n: jq($instance.run)}
)",
     {"go", "on"}},
    {"InASingularWorkflow",
     R"(
singular: true
states:
- {id: wait, type: consumeEvent, event: {type: go}, continueAsNew: {n: jq($instance.run)}}
)",
     {"go"}},
    {"WithTimeoutsOfItsRuns",
     R"(
timeouts: {interrupt: PT1H, kill: PT2H}
workflowExecutionTimeout: PT9H
workflowRunTimeout: PT3H
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  timeout: jq(.wait // "PT1M")
  continueAsNew: {n: jq($instance.run)}
)",
     {"go"}},
};

class ContinuedRuns : public testing::TestWithParam<ContinuedWorkflow> {};

TEST_P(ContinuedRuns, ComeExactlyOnceAlthoughTheProcessDiesAtEachCommit) {
  constexpr int kRuns = 5;
  World world;
  const std::string id = world.apply_order(std::string("id: order") + GetParam().rest);
  int deaths = 0;
  for (int round = 1; round <= kRuns; ++round) {
    for (const std::string& type : GetParam().types) {
      world.publish(type, fmt::format("{}-{}", type, round), 1);
      for (int steps = 0; steps < 20 && world.step(); ++steps) world.restart_at(deaths++);
      world.run_until_idle();
    }
    EXPECT_EQ(world.instance(id)["run"], round + 1);
    EXPECT_EQ(world.instance(id)["input"], (Json{{"n", round}}));
  }
  EXPECT_GT(deaths, kRuns);
  EXPECT_EQ(world.status(id), "waiting");
  EXPECT_THAT(world.history(id), ElementsAre("continued", "entered wait"));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, ContinuedRuns, testing::ValuesIn(kContinued),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ContinuedRunsOfASingularWorkflow, SkipTheStartsOfEventsUntilTheInstanceEnds) {
  World world;
  world.apply(std::string("id: order\nsingular: true\nstart: {type: event, event: {type: begin}}") +
              kByAnExit);
  const auto begin = [&](const char* id) {
    world.publish("begin", id);
    world.run_until_idle();
  };
  begin("1");
  world.publish("go", "go-1");
  begin("2");
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["run"], 2);
  world.restart();
  begin("3");
  ASSERT_THAT(world.instances(), SizeIs(1));
  world.must(CancelInstance{"default", key(world.instances()[0]["id"])});
  begin("4");
  EXPECT_THAT(statuses(world, "order"), ElementsAre("cancelled", "waiting"));
}

TEST(ContinuedRunsOfASubflow, EndWithTheCancelOfTheirCaller) {
  World world;
  world.apply(std::string("id: charge") + kByAnExit);
  const std::string caller = world.apply_order(R"(
id: order
functions: [{id: charge, type: subflow, workflow: charge}]
states: [{id: pay, type: action, action: {function: charge}}]
)");
  world.publish("go", "1");
  world.run_until_idle();
  world.restart();
  EXPECT_EQ(instances_of(world, "charge").at(0)["run"], 2);
  world.must(CancelInstance{"default", key(caller)});
  EXPECT_THAT(statuses(world, "charge"), ElementsAre("cancelled"));
  world.publish("go", "2");
  world.run_until_idle();
  EXPECT_EQ(instances_of(world, "charge").at(0)["run"], 2);
}

TEST(ContinuedRunsOfAnEvent, KeepTheStartingEventAndTheStart) {
  World world;
  world.apply(R"(
id: order
start: {type: event, event: {type: begin}}
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  continueAsNew: {event: jq($instance.event.id), startedAt: jq($instance.startedAt)}
)");
  world.publish("begin", "7");
  world.run_until_idle();
  const std::string id = world.instances().at(0)["id"];
  for (const char* const round : {"1", "2", "3"}) {
    world.run_for(hours(1));
    world.publish("go", round);
    world.run_until_idle();
    world.restart();
    EXPECT_EQ(world.instance(id)["input"],
              (Json{{"event", "7"}, {"startedAt", "2021-09-01T12:00:00.000Z"}}))
        << round;
  }
}

TEST(ContinuedRunsOfTheNewestRevision, HaveNoStartingEventIfTheFirstRevisionDidNotNameIt) {
  World world;
  const std::string start = "id: order\nstart: {type: event, event: {type: begin}}";
  world.apply(start +
              "\nstates: [{id: wait, type: consumeEvent, event: {type: go}, "
              "continueAsNew: {}}]\n");
  world.publish("begin", "7");
  world.run_until_idle();
  const std::string id = world.instances().at(0)["id"];
  world.apply(start + R"(
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  continueAsNew: {event: jq($instance.event), revision: jq($instance.revision)}
)");
  world.publish("go", "1");
  world.publish("go", "2");
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["run"], 3);
  EXPECT_EQ(world.instance(id)["input"], (Json{{"event", nullptr}, {"revision", 2}}));
}

TEST(ContinuedRunsAfterAMigration, AreThoseOfAStoreOfTheMinorNumberFive) {
  World world;
  const std::string old = world.apply_order(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: go}, timeout: PT9H, transition: rest}
- {id: rest, type: delay, duration: PT1H}
)");
  world.crash();
  // No instance has what only the minor number 6 has, so the rows are those of the release before.
  world.change_store(
      [](Transaction& tx) { tx.put(Table::kMeta, "minor", rows::key_of(uint64_t{5})); });
  world.recover();
  EXPECT_EQ(world.rows().at("meta/minor"), rows::key_of(kStoreMinor));
  EXPECT_EQ(world.status(old), "waiting");
  world.apply(std::string("id: order") + kByAnExit);
  const std::string fresh = world.start_order();
  world.publish("go", "1");
  world.run_until_idle();
  world.restart();
  EXPECT_EQ(world.instance(old)["state"], "rest") << "it keeps its revision";
  EXPECT_EQ(world.instance(fresh)["run"], 2);
  world.run_for(hours(1));
  EXPECT_EQ(world.status(old), "complete");
  EXPECT_EQ(world.status(fresh), "waiting");
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

}  // namespace
}  // namespace millrace
