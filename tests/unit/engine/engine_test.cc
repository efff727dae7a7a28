// Engine: how far one step goes, how a step stops at a limit and continues, and which steps and
// transitions are counted.
#include "orchestrator/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "tests/tables/instance_run.h"
#include "tests/tables/test_lookup.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

Event event_of(std::string type, std::string data = "{}") {
  return {.id = "e", .source = "test", .type = std::move(type), .data = std::move(data)};
}

std::shared_ptr<const Workflow> loop() {
  return load_right_workflow("{id: loop, states: [{id: loop, type: noop, transition: loop}]}");
}

/// Nine states that send, wait, fail and catch. The event `t`, and then a delay of 5 s, complete
/// the instance.
std::shared_ptr<const Workflow> long_way() {
  return load_right_workflow(R"(
id: long-way
states:
- {id: send, type: generateEvent, event: {type: s1, source: s}, log: start, transition: fix}
- {id: fix, type: error, error: one, message: first, transition: fail}
- {id: fail, type: noop, transform: .a.b, catch: [{error: "*", transition: choose}]}
- {id: choose, type: switch, conditions: [{condition: .a, transition: wait, transform: "{a: .a}"}]}
- {id: wait, type: consumeEvent, event: {type: t}, transition: more, transform: "{t: .t}"}
- {id: more, type: generateEvent, event: {type: s2, source: s}, transition: rest}
- {id: rest, type: delay, duration: 5s, transition: last}
- {id: last, type: generateEvent, event: {type: s3, source: s}, transition: out}
- {id: out, type: noop, transform: "{out: .}"}
)");
}

/// The history, the published events and the data of the instance, as bytes.
std::string bytes_of(const InstanceRun& run) {
  std::string bytes;
  for (const std::string& line : print_history(run.history())) bytes += line + "\n";
  for (const Effect& effect : run.effects()) {
    bytes += encode_json_event(std::get<Publish>(effect).event) + "\n";
  }
  return bytes + run.instance().data.text();
}

/// Continues until the step is finished. Returns how often the step stopped at the limit.
int finish(InstanceRun& run) {
  int stops = 0;
  for (; run.last().unfinished; ++stops) run.proceed("go on");
  return stops;
}

InstanceRun long_run(EngineLimits limits, int& stops) {
  InstanceRun run(long_way(), {{"a", 1}}, limits);
  run.proceed();
  stops += finish(run);
  run.set_time(run_start() + seconds(1));
  run.event(event_of("t", "7"));
  stops += finish(run);
  run.at(seconds(6));
  stops += finish(run);
  return run;
}

TEST(Engine, StopsAStepAtTheTransitionLimitAndContinuesFromThere) {
  InstanceRun run(loop(), Json::object(), {.transitions_per_step = 3});
  for (const uint32_t transitions : {3u, 6u, 9u}) {
    run.proceed();
    EXPECT_TRUE(run.last().unfinished);
    EXPECT_TRUE(run.last().changed);
    EXPECT_EQ(run.instance().transitions, transitions);
    EXPECT_EQ(run.instance().phase, Phase::kEntering);
    EXPECT_EQ(run.instance().status, InstanceStatus::kRunning);
    EXPECT_FALSE(run.instance().parked);
  }
}

TEST(Engine, CountsTheTransitionOfACatchForTheTransitionLimitOfAStep) {
  InstanceRun run(load_right_workflow(R"(
id: loop
states: [{id: loop, type: noop, log: jq(.a.b), catch: [{error: "*", transition: loop}]}]
)"),
                  {{"a", 1}}, {.transitions_per_step = 3});
  run.proceed();
  EXPECT_TRUE(run.last().unfinished);
  EXPECT_EQ(run.instance().transitions, 3u);
}

TEST(Engine, AppliesTheTransitionLimitToStepsThatAnEventOrATimerStarts) {
  const auto workflow = load_right_workflow(R"(
id: wake
states:
- {id: wait, type: eventXor, timeout: 10s, events: [{type: t, transition: loop}],
   catch: [{error: "*", transition: loop}]}
- {id: loop, type: noop, transition: loop}
)");
  InstanceRun woken(workflow, Json::object(), {.transitions_per_step = 3});
  woken.proceed();
  woken.event(event_of("t"));
  EXPECT_TRUE(woken.last().unfinished);
  EXPECT_EQ(woken.instance().transitions, 3u);

  // The transition of the catch belongs to the timer, so the limit does not count this transition;
  // the limit counts the three transitions that follow.
  InstanceRun timed_out(workflow, Json::object(), {.transitions_per_step = 3});
  timed_out.proceed();
  timed_out.at(seconds(10));
  EXPECT_TRUE(timed_out.last().unfinished);
  EXPECT_EQ(timed_out.instance().transitions, 4u);
}

TEST(Engine, GivesTheSameResultHoweverOftenStepsStopAtTheTransitionLimit) {
  int stops = 0;
  const std::string in_one_go = bytes_of(long_run({}, stops));
  EXPECT_EQ(stops, 0);
  for (const uint32_t bound : {1u, 2u, 3u}) {
    stops = 0;
    EXPECT_EQ(bytes_of(long_run({.transitions_per_step = bound}, stops)), in_one_go) << bound;
    EXPECT_GT(stops, 0) << bound;
  }
}

TEST(Engine, GivesTheSameBytesForTheSameInputs) {
  int stops = 0;
  const std::string first = bytes_of(long_run({}, stops));
  EXPECT_EQ(bytes_of(long_run({}, stops)), first);
  EXPECT_THAT(first, testing::HasSubstr(R"({"out":{"t":7}})"));
}

TEST(Engine, CancelsOrTimesOutAnInstanceWhoseStepIsUnfinished) {
  InstanceRun cancelled(loop(), Json::object(), {.transitions_per_step = 3});
  cancelled.proceed();
  cancelled.cancel({"direktiv.cancels.api", "stopped"});
  EXPECT_EQ(cancelled.rows().back().status, "cancelled");
  cancelled.proceed();
  EXPECT_FALSE(cancelled.last().changed);

  InstanceRun timed_out(load_right_workflow(R"(
id: wait
states:
- {id: first, type: noop, transition: wait}
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 1s}
)"),
                        Json::object(), {.transitions_per_step = 1});
  timed_out.proceed();
  ASSERT_TRUE(timed_out.last().unfinished);
  timed_out.at(seconds(1));
  EXPECT_EQ(timed_out.rows().back().status, "failed");
}

TEST(Engine, TakesNoEventBeforeTheStateListens) {
  InstanceRun run(load_right_workflow(R"(
id: wait
states:
- {id: first, type: noop, transition: wait}
- {id: wait, type: consumeEvent, event: {type: t}}
)"),
                  Json::object(), {.transitions_per_step = 1});
  run.proceed();
  ASSERT_TRUE(run.last().unfinished);
  const Event event = event_of("t");
  run.give("matched", Matched{.event = &event, .entries = {0}, .position = {.kept = 9}});
  EXPECT_FALSE(run.last().changed);
  EXPECT_EQ(run.instance().listen_from.kept, 0u);
}

TEST(Engine, FailsAnInstanceBeyondItsTransitionLimit) {
  InstanceRun run(loop(), Json::object(), {.transitions_per_instance = 5});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_THAT(run.rows().back().does,
              ElementsAre("raises millrace.limits.transitions: the instance made more than 5 "
                          "transitions without an event and without a wait of at least a second; "
                          "end the loop, or wait in it",
                          "ends with millrace.limits.transitions: the instance made more than 5 "
                          "transitions without an event and without a wait of at least a second; "
                          "end the loop, or wait in it"));
}

TEST(Engine, AllowsAnInstanceAsManyTransitionsAsItsLimit) {
  const auto chain = load_right_workflow(R"(
id: chain
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: c}
- {id: c, type: noop}
)");
  InstanceRun just(chain, Json::object(), {.transitions_per_instance = 2});
  just.proceed();
  EXPECT_EQ(just.rows().back().status, "complete");
  InstanceRun over(chain, Json::object(), {.transitions_per_instance = 1});
  over.proceed();
  EXPECT_EQ(over.rows().back().status, "failed");
}

TEST(Engine, FailsWithTheErrorOfAnEarlierErrorStateBeyondTheTransitionLimit) {
  InstanceRun run(load_right_workflow(R"(
id: loop
states:
- {id: fix, type: error, error: one, message: first, transition: loop}
- {id: loop, type: noop, transition: loop}
)"),
                  Json::object(), {.transitions_per_instance = 5});
  run.proceed();
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error, (Error{"one", "first"}));
}

TEST(Engine, Allows1000TransitionsAStepAnd100000AnInstance) {
  InstanceRun run(loop());
  run.proceed();
  EXPECT_EQ(run.instance().transitions, 1'000u);
  EXPECT_EQ(finish(run), 100);
  EXPECT_EQ(run.instance().transitions, 100'001u);
  EXPECT_EQ(run.instance().error->code, "millrace.limits.transitions");
}

TEST(Engine, CountsAStepForEachChangeOfPhase) {
  InstanceRun run(long_way(), {{"a", 1}});
  run.proceed();
  // The instance leaves send, fix, fail and choose, enters the state after each, and then waits.
  EXPECT_EQ(run.instance().step, 9u);
  run.event(event_of("other"));
  EXPECT_EQ(run.instance().step, 9u);
  run.event(event_of("t"));  // the instance leaves and enters a state twice, then waits
  EXPECT_EQ(run.instance().step, 14u);
  run.at(seconds(5));
  const uint64_t ended = run.instance().step;
  run.proceed();
  EXPECT_EQ(run.instance().step, ended);
}

TEST(Engine, CountsNoStepWhileAnEventIsMissingInAStateOfTypeEventAnd) {
  InstanceRun run(load_right_workflow(R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: a}, {type: b}]}
)"));
  run.proceed();
  const uint64_t waiting = run.instance().step;
  run.event(event_of("a"));
  EXPECT_EQ(run.instance().step, waiting);
  run.event(event_of("b"));
  EXPECT_GT(run.instance().step, waiting);
}

TEST(Engine, ListensOnlyForEventsLaterThanTheOneThatLastWokeTheInstance) {
  InstanceRun run(load_right_workflow(R"(
id: moves
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 5s, transition: rest,
   catch: [{error: "*", transition: rest}]}
- {id: rest, type: delay, duration: 1s, transition: slow}
- {id: slow, type: noop, transform: first(.n + 1), transition: wait}
)"));
  run.proceed();
  run.event(event_of("other"));
  EXPECT_EQ(run.instance().listen_from.kept, 0u);
  run.event(event_of("t"));
  EXPECT_EQ(run.instance().listen_from.kept, 2u);
  run.event(event_of("t"));  // no state listens for this event
  run.at(seconds(1));
  run.evaluated({Json::object()});
  ASSERT_EQ(run.rows().back().status, "waiting");
  EXPECT_EQ(run.instance().listen_from.kept, 2u)
      << "neither a timer nor an evaluation result changes `listen_from`";
  run.at(seconds(6));
  EXPECT_EQ(run.instance().listen_from.kept, 2u);
  run.at(seconds(7));
  run.evaluated({Json::object()});
  run.event(event_of("t"));
  EXPECT_EQ(run.instance().listen_from.kept, 4u);
}

TEST(Engine, RecordsTheTimeAtWhichAnInstanceEnded) {
  InstanceRun run(long_way(), {{"a", 1}});
  run.proceed();
  run.set_time(run_start() + seconds(3));
  EXPECT_FALSE(run.instance().ended_at.has_value());
  run.cancel({"direktiv.cancels.api", "stopped"});
  EXPECT_EQ(run.instance().ended_at, run_start() + seconds(3));
  EXPECT_EQ(run.instance().status, InstanceStatus::kCancelled);
}

TEST(Engine, AddsAnEventToTheStoredDataWithoutACopyOfTheData) {
  const auto workflow = load_right_workflow(R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: t}, transition: rest}
- {id: rest, type: delay, duration: 1h}
)");
  TestLookup lookup;
  Instance instance = new_instance(*workflow, Json{{"kept", "a"}});
  ASSERT_TRUE(step(*workflow, instance, Proceed{}, run_start(), lookup).changed);
  instance.data = LazyJson::of_stored(instance.data.text()).value();
  const Json* const tree = &instance.data.value();
  const Event event = event_of("t", "7");
  ASSERT_TRUE(
      step(*workflow, instance, Matched{.event = &event, .entries = {0}}, run_start(), lookup)
          .changed);
  EXPECT_EQ(&instance.data.value(), tree);
  EXPECT_EQ(instance.data.value().at("kept"), "a");
  EXPECT_TRUE(instance.data.has_member("t"));
}

}  // namespace
}  // namespace millrace
