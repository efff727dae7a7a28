// Late matches: with a small budget of matching, the instances get the same events and timeouts as
// with an unlimited budget, whatever restarts and delays come between.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/children.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kToneBell = R"(
id: bell
states:
- {id: wait, type: consumeEvent, event: {type: bell, context: {tone: '^(?=high)'}}}
)";

constexpr const char* kToneKey = R"(
id: tone-key
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {key: jq(.key)}}}
)";

/// Waits twice, the first time for at most ten seconds, with patterns of its own.
std::string tone_waits(int number) {
  return fmt::format(R"(
id: twice-{0}
states:
- id: first
  type: consumeEvent
  timeout: PT10S
  event: {{type: go, context: {{tone: '^(?!x{0})(?={1})'}}}}
  catch: [{{error: direktiv.stateTimeout, transition: second}}]
  transition: second
- {{id: second, type: consumeEvent, event: {{type: {3}, context: {{tone: '^(?!y{0})(a+)+$|{2}$'}}}}}}
)",
                     number, "abcd"[number % 4], "bcda"[number % 4],
                     number % 2 == 0 ? "go" : "stop");
}
std::string tone_start(int number) {
  return fmt::format(R"(
id: starts-{0}
start: {{type: event, event: {{type: go, context: {{tone: '^(?!z{0})(?={1})'}}}}}}
states: [{{id: done, type: noop}}]
)",
                     number, "abcd"[number % 4]);
}
/// Is started by an event and waits for a later one.
constexpr const char* kToneChain = R"(
id: chain
start: {type: event, event: {type: go, context: {tone: '^(?!w)(?=[cd])'}}}
states:
- {id: wait, type: consumeEvent, event: {type: stop, context: {tone: '^(?=[bc])'}}}
)";
constexpr const char* kTonePairs = R"(
id: pairs
start:
  type: eventsAnd
  lifespan: PT20S
  events:
  - {type: go, context: {tone: '^(?=[ab])'}}
  - {type: stop, context: {tone: '^(?!b)'}}
states: [{id: done, type: noop}]
)";

/// A budget with which at most two patterns of an event are decided when it is applied, and
/// portions that make little progress.
WorldOptions small_budget() {
  BatchLimits limits{.match = {.short_run = 10, .steps = 20, .bytes = 200}};
  limits.late.portion = {.has_long_runs = true, .steps = 1'100, .bytes = 1'000};
  return {.processor = {.engine = {.batch = limits}}};
}
WorldOptions unlimited_budget() {
  return {.processor = {.engine = {.batch = {.match = MatchBudget::unlimited()}}}};
}

/// What happened to each instance: its workflow, its history and its data.
std::vector<std::string> stories_of(World& world) {
  std::vector<std::string> all;
  for (const Json& instance : world.instances()) {
    all.push_back(fmt::format("{} {} {}: {}", instance["workflow"].get<std::string>(),
                              instance["status"].get<std::string>(),
                              instance.contains("output") ? instance["output"].dump() : "",
                              fmt::join(world.history(instance["id"]), ", ")));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(LateMatches, GiveEachInstanceTheSameEventsAndTimeouts) {
  double late = 0;
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    World reference(unlimited_budget());
    World world(small_budget());
    for (World* const one : {&reference, &world}) {
      for (int number = 0; number < 6; ++number) {
        one->apply(tone_waits(number));
        one->apply(tone_start(number));
      }
      one->apply(kToneChain);
      one->apply(kTonePairs);
    }
    for (int step = 0; step < 60; ++step) {
      const uint32_t what = random() % 4;
      const std::string workflow = fmt::format("twice-{}", random() % 6);
      const std::string tone =
          std::vector<std::string>{"a", "b", "c", "d", "aaaaaaaaaa", "aaaaaaaaaa!"}[random() % 6];
      const Duration pause = seconds(random() % 3 == 0 ? random() % 6 : 0);
      const bool dies = random() % 8 == 0;
      const uint32_t turns = random() % 3;
      for (World* const one : {&reference, &world}) {
        if (what == 0) {
          one->command(StartInstance{.ns = "default", .workflow = workflow});
        } else {
          one->publish(what == 1 ? "stop" : "go", fmt::format("{}", step), step, {{"tone", tone}});
        }
      }
      reference.run_until_idle();
      reference.clock.advance(pause);
      reference.run_until_idle();
      world.step();
      for (uint32_t i = 0; i < turns; ++i) world.step();
      if (dies) {
        late += world.metric("millrace_matches_late_total");
        world.restart();
      }
      world.clock.advance(pause);
      world.step();
    }
    world.run_until_idle();
    late += world.metric("millrace_matches_late_total");
    EXPECT_EQ(world.metric("millrace_matches_undecided"), 0);
    ASSERT_EQ(stories_of(world), stories_of(reference));
    for (const auto& [key, value] : world.rows()) {
      EXPECT_FALSE(key.starts_with("recent/") || key.starts_with("fanout/")) << key << " is left";
    }
  }
  EXPECT_GT(late, 100) << "too few matches were late";
}

TEST(LateMatches, DropADuplicateOfAnUndecidedEvent) {
  World world(small_budget());
  world.apply(kToneBell);
  for (int number = 0; number < 6; ++number) world.apply(tone_start(number));
  for (int i = 0; i < 10; ++i) world.start("bell");
  for (int i = 0; i < 3; ++i)
    world.publish("go", fmt::format("{}", i), i, {{"tone", std::string("a")}});
  world.step();
  ASSERT_GT(world.metric("millrace_matches_undecided"), 0);
  world.clock.advance(minutes(3));  // after the duplicate window of the broker
  world.publish("go", "2", 2, {{"tone", std::string("a")}});
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_events_duplicate_total"), 1);
}

TEST(LateMatches, ReachEachInstanceOnceAfterACrashInAnyBatch) {
  for (int batches = 0; batches < 8; ++batches) {
    SCOPED_TRACE(batches);
    WorldOptions options = small_budget();
    options.processor.engine.batch.match = {.steps = 0};
    World world(options);
    world.apply(kToneBell);
    for (int i = 0; i < 6; ++i) world.start("bell");
    world.publish("bell", "1", 7, {{"tone", std::string("high")}});
    for (int i = 0; i < batches; ++i) world.step();
    world.restart();
    world.run_until_idle();
    for (const Json& instance : world.instances()) {
      EXPECT_EQ(instance["output"], (Json{{"bell", 7}}));
      EXPECT_THAT(world.history(instance["id"]),
                  testing::ElementsAre("started", "entered wait", "woken wait", "ended wait"));
    }
  }
}

TEST(LateMatches, EndWithADeadLetterIfTooManyEventsWait) {
  WorldOptions options = small_budget();
  options.processor.engine.batch.match = {.steps = 0};
  options.processor.engine.batch.late.events = 3;
  World world(options);
  world.apply(kToneBell);
  for (int i = 0; i < 20; ++i) world.start("bell");
  for (int i = 0; i < 5; ++i) {
    world.publish("bell", fmt::format("{}", i), i, {{"tone", std::string("low")}});
  }
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), Each("millrace.match.budget"));
  EXPECT_THAT(world.dead_letters(), Contains("millrace.match.budget"));
  EXPECT_EQ(world.metric("millrace_matches_refused_total"), 2);
  world.publish("bell", "9", 9, {{"tone", std::string("high")}});
  world.run_until_idle();
  for (const Json& instance : world.instances()) EXPECT_EQ(instance["status"], "complete");
}

TEST(LateMatches, LetEventsThroughThatNoUndecidedInstanceMayWaitFor) {
  WorldOptions options = small_budget();
  options.processor.engine.batch.match = {.steps = 0};
  options.processor.engine.batch.late.events = 3;
  World world(options);
  world.apply(kToneBell);
  world.apply(kToneKey);
  for (int i = 0; i < 20; ++i) world.start("bell");
  for (int i = 0; i < 10; ++i) world.start("tone-key", Json{{"key", fmt::format("k{}", i)}});
  world.publish("bell", "0", 0, {{"tone", std::string("low")}});
  world.step();
  EXPECT_EQ(world.metric("millrace_matches_undecided"), 20);
  world.restart();
  for (int i = 0; i < 10; ++i) {
    const std::string key = fmt::format("k{}", i);
    world.publish("go", key, nullptr, {{"key", key}});
  }
  world.run_until_idle();
  EXPECT_THAT(statuses(world, "tone-key"), AllOf(SizeIs(10), Each("complete")));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  EXPECT_THAT(statuses(world, "bell"), AllOf(SizeIs(20), Each("waiting")));
}

}  // namespace
}  // namespace millrace
