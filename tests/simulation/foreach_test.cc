// States with many calls: parallel and foreach.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::SizeIs;

/// Calls the subflow `item` for each of `items`, with further keys of the state.
std::string each(std::string_view rest) {
  return fmt::format(R"(
id: each
functions:
- {{id: f, type: subflow, workflow: item}}
states:
- id: loop
  type: foreach
  array: jq(.items)
  action: {{function: f}}
{})",
                     rest);
}

Json numbers(size_t count) {
  Json items = Json::array();
  for (size_t i = 0; i < count; ++i) items.push_back({{"n", i}});
  return items;
}

TEST(Subflow, IsCancelledByTheFirstResultInAParallelStateOfModeOr) {
  World world;
  world.apply(R"(
id: race
functions:
- {id: slow, type: subflow, workflow: slow}
- {id: fast, type: subflow, workflow: fast}
states:
- {id: both, type: parallel, mode: or, actions: [{function: slow}, {function: fast}]}
)");
  world.apply("id: slow\nstates: [{id: s, type: delay, duration: PT1H}]\n");
  world.apply("id: fast\nstates: [{id: s, type: delay, duration: PT1S, transform: '\"won\"'}]\n");
  const Json race = world.start("race");
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(race["id"])["output"]["return"], (Json::array({nullptr, "won"})));
  EXPECT_THAT(statuses(world, "slow"), ElementsAre("cancelled"));
  EXPECT_EQ(world.metric("millrace_timers"), 0);
}

TEST(Foreach, RunsAThousandSubflowsAtOnce) {
  World world;
  world.apply(each(""));
  world.apply(
      "id: item\nstates: [{id: s, type: consumeEvent, event: {type: go, context: {n: jq(.n)}}}]\n");
  const Json loop = world.start("each", {{"items", numbers(1000)}});
  EXPECT_EQ(count(world, "item", "waiting"), 1000u);
  for (size_t i = 1000; i > 0; --i) {
    world.publish("go", fmt::format("e{}", i), fmt::format("r{}", i - 1),
                  {{"n", static_cast<int32_t>(i - 1)}});
    if (i == 500) world.restart();
  }
  world.run_until_idle();
  const Json ended = world.instance(loop["id"]);
  ASSERT_EQ(ended["status"], "complete");
  ASSERT_EQ(ended["output"]["return"].size(), 1000u);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(ended["output"]["return"][i]["go"], fmt::format("r{}", i));
  }
}

TEST(Foreach, RunsAsManySubflowsAtATimeAsItsConcurrencySets) {
  World world;
  world.apply(each("  concurrency: 16\n"));
  world.apply("id: item\nstates: [{id: s, type: delay, duration: PT1S}]\n");
  const Json loop = world.start("each", {{"items", numbers(1000)}});
  size_t most = 0;
  for (int second = 0; second < 63; ++second) {
    most = std::max(most, count(world, "item", "waiting"));
    EXPECT_EQ(world.instance(loop["id"])["status"], "waiting");
    world.run_for(seconds(1));
  }
  EXPECT_EQ(most, 16u);
  EXPECT_EQ(world.instance(loop["id"])["status"], "complete");
  EXPECT_EQ(count(world, "item", "complete"), 1000u);
}

TEST(Foreach, LosesNothingWhenTheProcessDiesAtEveryTurn) {
  World world({.processor = {.engine = {.batch = {.messages = 7}}}});
  world.apply(each(""));
  world.apply(
      "id: item\nstates: [{id: s, type: consumeEvent, event: {type: go, context: {n: jq(.n)}}}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(60)}}, "k"});
  for (int i = 0; i < 40; ++i) {
    world.step();
    world.restart_at(i);
    if (i < 20) world.publish("go", fmt::format("e{}", i), i, {{"n", i}});
  }
  world.run_until_idle();
  const Json loop = instances_of(world, "each")[0];
  EXPECT_EQ(loop["status"], "waiting");
  EXPECT_EQ(count(world, "item", "complete"), 20u)
      << "each of the events came after the call of its subflow";
  for (int i = 20; i < 60; ++i) world.publish("go", fmt::format("e{}", i), i, {{"n", i}});
  world.run_until_idle();
  EXPECT_THAT(instances_of(world, "item"), SizeIs(60)) << "no subflow is started twice";
  const Json ended = world.instance(loop["id"]);
  ASSERT_EQ(ended["status"], "complete");
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(ended["output"]["return"][i]["go"], i);
  EXPECT_EQ(world.rows_of("inbox"), 0u) << "an instance message is left";
}

TEST(Foreach, HasTheSameResultIfItMakesItsCallsInSmallPortions) {
  const auto output = [](CallPortion portion, bool restarts) {
    World world({.processor = {.engine = {.limits = {.calls_per_step = portion}}}});
    world.apply(each("  concurrency: 9\n"));
    world.apply(
        "id: item\nstates: [{id: s, type: delay, duration: PT1S, transform: jq(.n + 1)}]\n");
    const auto started =
        world.command(StartInstance{"default", "each", {{"items", numbers(40)}}, "k"});
    for (int i = 0; restarts && i < 30; ++i) {
      world.step();
      world.restart_at(i);
    }
    world.run_for(seconds(10));
    EXPECT_THAT(instances_of(world, "item"), SizeIs(40)) << "each subflow is started once";
    const Json loop = instances_of(world, "each").at(0);
    EXPECT_EQ(loop["status"], "complete");
    return loop["output"];
  };
  const Json expected = output({}, false);
  EXPECT_EQ(expected["return"].size(), 40U);
  for (const bool restarts : {false, true}) {
    for (const CallPortion portion :
         {CallPortion{.calls = 1}, CallPortion{.calls = 7}, CallPortion{.bytes = 20}}) {
      SCOPED_TRACE(fmt::format("{} calls, {} bytes, {}", portion.calls, portion.bytes, restarts));
      EXPECT_EQ(output(portion, restarts), expected);
    }
  }
}

TEST(Foreach, TakesResultsAndEventsWhileItMakesItsCalls) {
  World world({.processor = {.engine = {.limits = {.calls_per_step = {.calls = 3}}}}});
  world.apply(each(""));
  world.apply("id: item\nstates: [{id: s, type: noop, transform: jq(.n)}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(20)}}, ""});
  for (int i = 0; i < 3; ++i) world.step();
  const std::string loop = instances_of(world, "each")[0]["id"];
  EXPECT_EQ(world.status(loop), "running");
  const size_t ended = count(world, "item", "complete");
  EXPECT_GT(ended, 0U);
  EXPECT_LT(ended, 20U);
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.instance(loop)["output"]["return"].size(), 20U);
}

/// Steps of which each removes at most that many calls of a state that is left.
WorldOptions removing(size_t calls) {
  return {.processor = {.engine = {.limits = {.calls_per_step = {.removed = calls}}}}};
}

TEST(Foreach, ErasesTheRowsOfItsCallsInPortions) {
  constexpr size_t kRemoved = 50;
  World world(removing(kRemoved));
  world.apply(each("  transition: next\n- {id: next, type: consumeEvent, event: {type: never}}\n"));
  world.apply("id: item\nstates: [{id: s, type: noop, transform: jq(.n)}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(300)}}, ""});
  size_t rows = 0;
  size_t most = 0;
  size_t most_erased = 0;  // in one turn
  for (int turn = 0; turn < 60; ++turn) {
    world.step();
    const size_t before = std::exchange(rows, world.rows_of("live"));
    most = std::max(most, rows);
    most_erased = std::max(most_erased, before - std::min(before, rows));
  }
  EXPECT_GE(most, 300U);
  EXPECT_GT(most_erased, kRemoved / 2);
  EXPECT_LE(most_erased, kRemoved + 1) << "and the row with the data at the entry of the state";
  EXPECT_LT(rows, 10U);
  const Json loop = instances_of(world, "each")[0];
  EXPECT_EQ(loop["status"], "waiting");
  EXPECT_EQ(loop["data"]["return"].size(), 300U);
}

TEST(Foreach, RemovesItsCallsAlsoIfTheProcessEndsMeanwhile) {
  World world(removing(4));
  world.apply(each(""));
  world.apply("id: item\nstates: [{id: s, type: noop, transform: jq(.n)}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(40)}}, "k"});
  for (int i = 0; i < 30; ++i) {
    world.step();
    world.restart_at(i);
  }
  world.run_until_idle();
  EXPECT_EQ(count(world, "item", "complete"), 40U);
  const Json loop = instances_of(world, "each")[0];
  ASSERT_EQ(loop["status"], "complete");
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(loop["output"]["return"][i], i);
}

TEST(Foreach, MakesNoMoreCallsAfterACancelBetweenTwoPortions) {
  World world({.processor = {.engine = {.limits = {.calls_per_step = {.calls = 3}}}}});
  world.apply(each(""));
  world.apply("id: item\nstates: [{id: s, type: consumeEvent, event: {type: never}}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(20)}}, ""});
  for (int i = 0; i < 3; ++i) world.step();
  const std::string loop = instances_of(world, "each")[0]["id"];
  const auto cancelled = world.command(CancelInstance{"default", *parse_instance_id(loop)});
  world.run_until_idle();
  EXPECT_EQ(world.status(loop), "cancelled");
  EXPECT_LT(instances_of(world, "item").size(), 20U);
  EXPECT_EQ(count(world, "item", "waiting"), 0U);
}

TEST(Foreach, StartsNoMoreSubflowsAfterACancel) {
  World world({.processor = {.engine = {.batch = {.messages = 10}}}});
  world.apply(each("  timeout: PT5S\n"));
  world.apply("id: item\nstates: [{id: s, type: consumeEvent, event: {type: never}}]\n");
  const auto started =
      world.command(StartInstance{"default", "each", {{"items", numbers(100)}}, ""});
  world.step();
  world.step();
  EXPECT_LT(instances_of(world, "item").size(), 100u);
  const std::string loop = instances_of(world, "each")[0]["id"];
  const auto cancelled = world.command(CancelInstance{"default", *parse_instance_id(loop)});
  world.run_until_idle();
  EXPECT_EQ(count(world, "item", "waiting"), 0u);
  EXPECT_LT(instances_of(world, "item").size(), 100u) << "the other subflows do not start";
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
}

TEST(Foreach, CancelsTheOtherSubflowsAtTheFirstFailure) {
  World world;
  world.apply(each(""));
  world.apply(R"(
id: item
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {n: jq(.n)}}, transition: end}
- {id: end, type: error, error: item.broken, message: 'item %d', args: [jq(.n)]}
)");
  const Json loop = world.start("each", {{"items", numbers(50)}});
  world.publish("go", "1", nullptr, {{"n", 17}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(loop["id"])["error"],
            (Json{{"code", "item.broken"}, {"msg", "item 17"}}));
  EXPECT_EQ(count(world, "item", "cancelled"), 49u);
}

/// An array of inputs of three million bytes, which the subflow `item` returns.
Json large_items(size_t count) {
  return Json::array_t(count, Json{{"text", std::string(3'000'000, 'x')}});
}

TEST(Foreach, FailsIfItsResultsAreTooLargeTogether) {
  World world;
  world.apply(each(R"(  catch: [{error: millrace.limits.results, transition: caught}]
- {id: caught, type: noop, transform: {code: jq(.error.code)}}
)"));
  world.apply("id: item\nstates: [{id: s, type: noop}]\n");
  const Json fits = world.start("each", {{"items", large_items(5)}});
  const Json exceeds = world.start("each", {{"items", large_items(6)}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(fits["id"])["status"], "complete");
  EXPECT_EQ(world.instance(fits["id"])["output"]["return"].size(), 5U);
  EXPECT_EQ(world.instance(exceeds["id"])["output"], (Json{{"code", "millrace.limits.results"}}));
}

TEST(Foreach, CountsItsResultsAgainAfterARestart) {
  World world;
  world.apply(each("  retries: {maximumAttempts: 5}\n"));
  world.apply(
      "id: item\nstates: [{id: s, type: consumeEvent, event: {type: go, context: {n: jq(.n)}}}]\n");
  const Json loop = world.start("each", {{"items", numbers(17)}});
  for (int32_t i = 0; i < 17; ++i) {
    EXPECT_EQ(world.instance(loop["id"])["status"], "waiting") << i;
    world.publish("go", fmt::format("e{}", i), std::string(990'000, 'x'), {{"n", i}});
    world.run_until_idle();
    if (i == 8) world.restart();
  }
  const Json ended = world.instance(loop["id"]);
  EXPECT_EQ(ended["error"]["code"], "millrace.limits.results") << "another attempt is not made";
}

TEST(Foreach, RefusesMoreThanTenThousandElements) {
  World world;
  world.apply(each(""));
  const Json loop = world.start("each", {{"items", numbers(10'001)}});
  EXPECT_EQ(world.instance(loop["id"])["error"]["code"], "millrace.limits.foreach");
}

}  // namespace
}  // namespace millrace
