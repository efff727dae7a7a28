// Fan-outs: an event that matches more instances than one batch may wake, with other inputs and
// crashes between its batches.
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

constexpr const char* kBell = R"(
id: bell
states:
- {id: wait, type: consumeEvent, event: {type: bell}}
)";

/// A workflow with two waits for an event, one after the other.
constexpr const char* kTwoBells = R"(
id: two-bells
states:
- {id: first, type: consumeEvent, event: {type: bell}, transition: second}
- {id: second, type: consumeEvent, event: {type: echo}}
)";

constexpr const char* kPatience = R"(
id: patience
states:
- id: wait
  type: consumeEvent
  timeout: PT10S
  event: {type: bell}
  catch: [{error: direktiv.stateTimeout, transition: late}]
- {id: late, type: noop}
)";

constexpr const char* kBellThenGo = R"(
id: bell-then-go
states:
- {id: first, type: consumeEvent, event: {type: bell}, transition: second}
- {id: second, type: consumeEvent, event: {type: go, context: {key: last}}}
)";

constexpr const char* kKeyed = R"(
id: keyed
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {key: jq(.key)}}}
)";

WorldOptions small_batches() {
  return {.processor = {.engine = {.batch = {.woken = 3, .woken_later = 2}}}};
}

std::vector<std::string> values(World& world, std::string_view key) {
  std::vector<std::string> found;
  for (const Json& instance : world.instances()) found.push_back(instance[key]);
  return found;
}

size_t count(World& world, std::string_view status) {
  const auto all = values(world, "status");
  return static_cast<size_t>(std::count(all.begin(), all.end(), status));
}

TEST(FanOut, WakesEachInstanceOnceInSeveralBatches) {
  World world(small_batches());
  world.apply(kBell);
  for (int i = 0; i < 10; ++i) world.start("bell");
  world.publish("bell", "1", 7);
  world.step();
  EXPECT_EQ(count(world, "complete"), 0U);
  world.step();
  EXPECT_EQ(count(world, "complete"), 2U);
  world.step();
  EXPECT_EQ(count(world, "complete"), 4U);
  world.run_until_idle();
  EXPECT_THAT(values(world, "status"), Each("complete"));
  for (const Json& instance : world.instances()) {
    EXPECT_EQ(instance["output"], (Json{{"bell", 7}}));
    EXPECT_THAT(world.history(instance["id"]),
                ElementsAre("started", "entered wait", "woken wait", "ended wait"));
  }
  for (const auto& [key, value] : world.rows()) {
    EXPECT_FALSE(key.starts_with("recent/") || key.starts_with("fanout/")) << key << " is left";
  }
}

// The clock stands still, so only bytes end a unit of work.

TEST(FanOut, DividesALargeEventAmongFewInstances) {
  for (const auto& [targets, bytes, is_divided] :
       {std::tuple(1, 900'000, false), std::tuple(2, 100'000, false), std::tuple(2, 300'000, true),
        std::tuple(16, 10'000, false), std::tuple(16, 300'000, true)}) {
    SCOPED_TRACE(fmt::format("{} targets, {} bytes", targets, bytes));
    World world;
    world.apply(kTwoBells);
    for (int i = 0; i < targets; ++i) world.start("two-bells");
    world.publish("bell", "1", std::string(static_cast<size_t>(bytes), 'x'));
    world.step();
    const auto woken = [&] {
      const auto states = values(world, "state");
      return std::count(states.begin(), states.end(), "second");
    };
    EXPECT_EQ(woken() < targets, is_divided) << woken();
    EXPECT_GE(woken(), 1);
    world.publish("bell", "1", std::string(static_cast<size_t>(bytes), 'x'));
    world.publish("echo", "2");
    world.run_until_idle();
    EXPECT_THAT(values(world, "status"), Each("complete"));
    for (const Json& instance : world.instances()) {
      EXPECT_THAT(world.history(instance["id"]),
                  ElementsAre("started", "entered first", "woken first", "entered second",
                              "woken second", "ended second"));
    }
    for (const auto& [key, value] : world.rows()) {
      EXPECT_FALSE(key.starts_with("recent/") || key.starts_with("fanout/")) << key << " is left";
    }
  }
}

TEST(FanOut, DividesALargeEventAmongFewStarts) {
  World world;
  for (int i = 0; i < 4; ++i) {
    world.apply(
        fmt::format("id: bell-{}\nstart: {{type: event, event: {{type: bell}}}}\n"
                    "states: [{{id: wait, type: consumeEvent, event: {{type: echo}}}}]",
                    i));
  }
  world.publish("bell", "1", std::string(300'000, 'x'));
  world.step();
  EXPECT_THAT(world.instances(), SizeIs(1));
  world.publish("bell", "1", std::string(300'000, 'x'));
  world.publish("echo", "2");
  world.run_until_idle();
  EXPECT_THAT(values(world, "status"), AllOf(SizeIs(4), Each("complete")));
}

TEST(FanOut, LetsOtherEventsThrough) {
  World world(small_batches());
  world.apply(kBell);
  world.apply("id: other\nstates: [{id: wait, type: consumeEvent, event: {type: other}}]");
  for (int i = 0; i < 10; ++i) world.start("bell");
  const Json other = world.start("other");
  world.publish("bell", "1");
  world.step();
  world.publish("other", "2");
  world.step();
  EXPECT_EQ(world.instance(other["id"])["status"], "complete");
  EXPECT_EQ(count(world, "waiting"), 8U);
}

TEST(FanOut, LetsAnEventThroughToAnInstanceThatItDoesNotConcernWithoutASearch) {
  // A search through the kept events of these instances would not fit into the budget of a batch.
  World world(
      {.processor = {.engine = {.batch = {.woken = 9,
                                          .woken_later = 2,
                                          .kept = {.has_long_runs = true, .steps = 100}}}}});
  world.apply(kBellThenGo);
  world.apply(kKeyed);
  for (int i = 0; i < 10; ++i) world.start("bell-then-go");
  for (int i = 0; i < 8; ++i) world.start("keyed", Json{{"key", fmt::format("k{}", i)}});
  world.publish("bell", "1");
  world.step();
  for (int i = 0; i < 8; ++i) {
    const std::string key = fmt::format("k{}", i);
    world.publish("go", key, nullptr, {{"key", key}});
  }
  world.step();
  EXPECT_GT(world.rows_of("recent"), 8U) << "the targets may come to wait for these events";
  EXPECT_THAT(statuses(world, "keyed"), AllOf(SizeIs(8), Each("complete")));
}

TEST(FanOut, KeepsOnlyEventsThatItsTargetsMayComeToWaitFor) {
  World world(small_batches());
  world.apply(kTwoBells);
  world.apply(kKeyed);
  for (int i = 0; i < 10; ++i) world.start("two-bells");
  const Json keyed = world.start("keyed", Json{{"key", "k"}});
  world.publish("bell", "1");
  world.step();
  EXPECT_EQ(world.rows_of("recent"), 1U);
  world.publish("go", "2", nullptr, {{"key", std::string("k")}});
  world.publish("other", "3");
  world.step();
  EXPECT_EQ(world.status(keyed["id"]), "complete");
  EXPECT_EQ(world.rows_of("recent"), 1U);
  world.publish("echo", "4");
  world.step();
  EXPECT_EQ(world.rows_of("recent"), 2U);
}

TEST(FanOut, KeepsOnlySuchEventsAlsoAfterARestart) {
  World world(small_batches());
  world.apply(kTwoBells);
  world.apply(kKeyed);
  for (int i = 0; i < 10; ++i) world.start("two-bells");
  const std::string keyed = world.start("keyed", Json{{"key", "k"}})["id"];
  world.publish("bell", "1");
  world.step();
  world.restart();
  world.publish("go", "2", nullptr, {{"key", std::string("k")}});
  for (int i = 0; i < 3 && world.status(keyed) != "complete"; ++i) world.step();
  EXPECT_EQ(world.status(keyed), "complete");
  EXPECT_EQ(world.rows_of("recent"), 1U);
  EXPECT_GT(world.rows_of("fanout"), 0U);
}

TEST(FanOut, ContinuesAfterACrashInAnyBatch) {
  for (int batches = 0; batches < 7; ++batches) {
    SCOPED_TRACE(batches);
    World world(small_batches());
    world.apply(kTwoBells);
    for (int i = 0; i < 10; ++i) world.start("two-bells");
    world.publish("bell", "1");
    for (int i = 0; i < batches; ++i) world.step();
    world.restart();
    world.run_until_idle();
    EXPECT_THAT(values(world, "state"), Each("second"));
    for (const Json& instance : world.instances()) {
      EXPECT_THAT(world.history(instance["id"]),
                  ElementsAre("started", "entered first", "woken first", "entered second"));
    }
  }
}

TEST(FanOut, DeliversEventsInTheirOrder) {
  World world(small_batches());
  world.apply(kTwoBells);
  for (int i = 0; i < 10; ++i) world.start("two-bells");
  world.publish("echo", "0", 0);  // no instance listens for it yet
  world.publish("bell", "1", 1);
  world.publish("echo", "2", 2);
  world.publish("bell", "3", 3);
  world.run_until_idle();
  for (const Json& instance : world.instances()) {
    EXPECT_EQ(instance["output"], (Json{{"bell", 1}, {"echo", 2}}));
  }
}

TEST(FanOut, SkipsInstancesThatStartedToListenAfterItsEvent) {
  World world(small_batches());
  world.apply(kBell);
  for (int i = 0; i < 10; ++i) world.start("bell");
  world.publish("bell", "1");
  world.step();
  const Answered late = world.command(StartInstance{.ns = "default", .workflow = "bell"});
  world.step();
  world.restart();  // the new process finds the remaining matching instances again
  world.run_until_idle();
  EXPECT_EQ(count(world, "complete"), 10U);
  EXPECT_EQ(world.instance((**late)->at("id"))["status"], "waiting");
}

TEST(FanOut, WinsOverATimeoutThatIsDueAfterItsEvent) {
  World world(small_batches());
  world.apply(kPatience);
  for (int i = 0; i < 10; ++i) world.start("patience");
  world.run_for(seconds(9));
  world.publish("bell", "1");
  world.step();
  world.clock.advance(seconds(5));
  world.run_until_idle();
  EXPECT_THAT(values(world, "state"), Each("wait")) << "the event came before the deadline";
}

TEST(FanOut, SkipsCancelledInstances) {
  World world(small_batches());
  world.apply(kBell);
  for (int i = 0; i < 10; ++i) world.start("bell");
  world.publish("bell", "1");
  world.step();
  world.must(DeleteWorkflow{.ns = "default", .id = "bell", .cancel = true});
  EXPECT_EQ(count(world, "waiting"), 0U);
  EXPECT_GE(count(world, "cancelled"), 6U);
}

TEST(FanOut, DropsADuplicateOfItsEvent) {
  World world(small_batches());
  world.apply(kTwoBells);
  for (int i = 0; i < 10; ++i) world.start("two-bells");
  world.publish("bell", "1");
  world.step();
  world.clock.advance(std::chrono::minutes(3));  // after the duplicate window of the broker
  world.publish("bell", "1");
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_events_duplicate_total"), 1);
}

TEST(FanOut, LeavesLaterEventsToTheNextBatchWhenABatchIsFull) {
  World world(small_batches());
  world.apply(kBell);
  world.apply(kPatience);
  for (int i = 0; i < 3; ++i) world.start("bell");
  world.publish("bell", "1");
  for (int i = 0; i < 3; ++i) world.publish("nobody", fmt::format("{}", 2 + i));
  world.step();
  EXPECT_EQ(world.processor().cursor().sequence, 1U);
  world.step();
  EXPECT_EQ(world.processor().cursor().sequence, 4U);
}

}  // namespace
}  // namespace millrace
