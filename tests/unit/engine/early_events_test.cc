// The early events of a state with `lookback`: when a step asks for them, and which ones it takes.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/engine/runs.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

constexpr const char* kTwice = R"(
id: twice
states:
- {id: first, type: consumeEvent, event: {type: a, lookback: PT5M}, transition: second}
- {id: second, type: eventAnd, events: [{type: a, lookback: PT5M}, {type: b, lookback: PT5M}]}
)";

Fingerprint known_as(uint64_t sequence) { return fingerprint({std::to_string(sequence)}); }

EarlyEvent early_event(uint64_t sequence, const std::string& type, uint32_t entry = 0) {
  return {.sequence = sequence,
          .known_as = known_as(sequence),
          .event = std::make_shared<const Event>(
              Event{.id = std::to_string(sequence), .source = "/s", .type = type, .data = "1"}),
          .entry = entry};
}

TEST(EarlyEvents, AreRememberedAndNotAskedForAgain) {
  InstanceRun run(load_right_workflow(kTwice));
  run.proceed();
  ASSERT_TRUE(run.looked_back());
  EXPECT_TRUE(run.looked_back()->consumed.empty());
  EXPECT_FALSE(run.looked_back()->fills_each);
  EXPECT_EQ(run.looked_back()->until, run.instance().listen_from.event);
  EXPECT_EQ(run.looked_back()->listeners.at(0).since, run_start() - std::chrono::minutes(5));
  run.early(std::vector{early_event(4, "a")});
  ASSERT_EQ(run.last().early.size(), 1U);
  EXPECT_EQ(run.last().early[0].at, (EventPosition{1, 4}));
  EXPECT_EQ(run.last().early[0].known_as, known_as(4));
  EXPECT_TRUE(run.looked_back()->fills_each) << "the second state";
  EXPECT_EQ(run.looked_back()->consumed.events, (std::vector<ConsumedEvent>{{4, known_as(4)}}));
  EXPECT_EQ(run.looked_back()->listeners.size(), 2U);
}

TEST(EarlyEvents, AreTakenAsLongAsTheStateListensForThem) {
  InstanceRun run(load_right_workflow(kTwice));
  run.proceed();
  run.early(std::vector{early_event(4, "a"), early_event(5, "a")});
  EXPECT_EQ(run.last().early.size(), 1U) << "the first state takes one event";
  run.early(std::vector{early_event(5, "a", 0), early_event(6, "a", 0), early_event(7, "b", 1)});
  EXPECT_EQ(run.last().early.size(), 1U) << "the entry of the second event has an event";
  EXPECT_EQ(run.instance().status, InstanceStatus::kWaiting);
  ASSERT_EQ(run.instance().listeners.size(), 1U);
  EXPECT_EQ(run.instance().listeners[0].entry, 1U);
}

TEST(EarlyEvents, OfAnEarlierStepAreDropped) {
  InstanceRun run(load_right_workflow(kTwice));
  run.proceed();
  const uint64_t step = run.looked_back()->step;
  run.early(std::vector{early_event(4, "a")});
  const EarlyEvents late = std::vector{early_event(4, "a")};
  run.give("late", EvaluationDone{.step = step, .results = {}, .early = &late});
  EXPECT_FALSE(run.last().changed);
  EXPECT_EQ(run.instance().consumed.events.size(), 1U);
}

TEST(EarlyEvents, AreNotAskedForIfNoEventCameBefore) {
  const auto workflow = load_right_workflow(kTwice);
  Instance instance = make_instance({}, NamespaceNumber(1), {WorkflowNumber(1), 1}, *workflow,
                                    Json::object(), run_start(), {});
  const TestLookup lookup;
  const StepResult result = step(*workflow, instance, Proceed{}, run_start(), lookup);
  EXPECT_TRUE(result.effects.empty());
  EXPECT_EQ(instance.phase, Phase::kWaiting);
}

TEST(EarlyEvents, AnInstanceOfAWorkflowWithoutThemRemembersNothing) {
  for (const bool looks_back : {false, true}) {
    InstanceRun run(load_right_workflow(looks_back ? kTwice : R"(
id: plain
states:
- {id: first, type: consumeEvent, event: {type: a}}
)"));
    run.proceed();
    if (looks_back) run.early(std::vector<EarlyEvent>());
    run.event({.id = "1", .source = "/s", .type = "a"});
    EXPECT_EQ(run.instance().consumed.events.size(), looks_back ? 1U : 0U);
  }
}

}  // namespace
}  // namespace millrace
