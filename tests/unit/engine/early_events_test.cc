// The early events of a state with `lookback`: when a step asks for them, which ones it takes, and
// how several steps take those that are too many for one.
#include <algorithm>
#include <memory>
#include <set>
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

// Early events that are too many for one step.

/// Waits for five events.
constexpr const char* kFive = R"(
id: five
states:
- id: wait
  type: eventAnd
  timeout: PT10S
  events: [{type: a, lookback: PT5M}, {type: a, lookback: PT5M}, {type: a, lookback: PT5M},
           {type: a, lookback: PT5M}, {type: a, lookback: PT5M}]
)";

/// How many bytes one of the events counts.
constexpr size_t kBytesOfOne = 50;

/// The events with the sequences 1 to 5. The data of each has 46 bytes; id, source and type have
/// four.
std::vector<EarlyEvent> five_events() {
  std::vector<EarlyEvent> events;
  for (uint32_t i = 0; i < 5; ++i) {
    const std::string data = '"' + std::string(kBytesOfOne - 6, static_cast<char>('1' + i)) + '"';
    events.push_back(
        {.sequence = i + 1,
         .known_as = known_as(i + 1),
         .event = std::make_shared<const Event>(Event{.id = std::to_string(i + 1),
                                                      .source = "/s",
                                                      .type = "a",
                                                      .datacontenttype = "application/json",
                                                      .data = data}),
         .entry = i});
  }
  return events;
}

class SpentBudget final : public WorkBudget {
 public:
  bool is_spent(size_t) const override { return true; }
};

/// A run that has asked for its early events.
class RunOfFive : public InstanceRun {
 public:
  explicit RunOfFive(EngineLimits limits = {.bytes_per_step = 2 * kBytesOfOne})
      : InstanceRun(load_right_workflow(kFive), Json::object(), limits) {
    proceed();
  }

  /// Gives the instance all five events for its search, of which it takes two.
  void take_two() {
    early(five_events());
    EXPECT_TRUE(last().has_early_left);
    EXPECT_EQ(last().early.size(), 2U);
  }
  /// Gives it those that are left, with the number of its step by then or that number.
  void take_others(uint64_t step) {
    const auto all = five_events();
    const EarlyEvents left = std::vector<EarlyEvent>(
        all.end() - static_cast<ptrdiff_t>(instance().listeners.size()), all.end());
    give("others", EvaluationDone{.step = step, .results = {}, .early = &left});
  }
  void take_others() { take_others(evaluation_of(instance())); }

  /// How many records of that kind the history has.
  size_t records(HistoryKind kind) const {
    return static_cast<size_t>(
        std::count_if(history().begin(), history().end(),
                      [&](const HistoryRecord& record) { return record.kind == kind; }));
  }
  /// No stimulus has broken an invariant of an instance.
  void expect_sound() const {
    for (const TraceRow& row : rows()) {
      for (const std::string& line : row.does) EXPECT_FALSE(line.starts_with("BROKEN")) << line;
    }
  }
};

TEST(ManyEarlyEvents, AreTakenInSeveralStepsInTheirOrder) {
  const SpentBudget spent;
  const struct {
    EngineLimits limits;
    std::vector<size_t> taken;  ///< by each step
  } rows[] = {
      {{}, {5}},
      {{.bytes_per_step = 1'000}, {5}},
      {{.bytes_per_step = 3 * kBytesOfOne}, {3, 2}},
      {{.bytes_per_step = 2 * kBytesOfOne}, {2, 2, 1}},
      {{.bytes_per_step = 1}, {1, 1, 1, 1, 1}},
      {{.budget = &spent}, {1, 1, 1, 1, 1}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(testing::Message() << row.limits.bytes_per_step << " bytes in a step");
    RunOfFive run(row.limits);
    std::vector<size_t> taken;
    std::vector<uint64_t> sequences;
    std::set<uint64_t> numbers{evaluation_of(run.instance())};
    run.early(five_events());
    while (true) {
      taken.push_back(run.last().early.size());
      for (const TakenEarly& one : run.last().early) sequences.push_back(one.at.sequence);
      if (!run.last().has_early_left) break;
      EXPECT_EQ(run.instance().phase, Phase::kEntering);
      EXPECT_EQ(run.instance().status, InstanceStatus::kRunning);
      EXPECT_FALSE(run.instance().parked) << "no search is under way";
      EXPECT_TRUE(numbers.insert(evaluation_of(run.instance())).second) << "each has a number";
      run.take_others();
    }
    while (run.last().unfinished) run.proceed();
    EXPECT_EQ(taken, row.taken);
    EXPECT_EQ(sequences, (std::vector<uint64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
    Json wanted = Json::array();
    for (const EarlyEvent& one : five_events()) wanted.push_back(Json::parse(*one.event->data));
    EXPECT_EQ(run.instance().data.value()["a"], wanted);
    EXPECT_EQ(run.records(HistoryKind::kEntered), 1U);
    EXPECT_EQ(run.records(HistoryKind::kWoken), 5U);
    run.expect_sound();
  }
}

TEST(ManyEarlyEvents, AreAskedForAgainByTheNextProcess) {
  RunOfFive run;
  run.take_two();
  const uint64_t first = run.looked_back()->step;
  run.proceed("restart");
  ASSERT_TRUE(run.looked_back());
  EXPECT_NE(run.looked_back()->step, first);
  EXPECT_EQ(run.looked_back()->step, evaluation_of(run.instance()));
  EXPECT_TRUE(run.instance().parked);
  EXPECT_TRUE(run.looked_back()->fills_each);
  EXPECT_EQ(run.looked_back()->until, run.instance().listen_from.event);
  EXPECT_EQ(run.looked_back()->consumed.events,
            (std::vector<ConsumedEvent>{{1, known_as(1)}, {2, known_as(2)}}));
  std::vector<uint32_t> entries;
  for (const EarlyListener& one : run.looked_back()->listeners) {
    entries.push_back(one.entry);
    EXPECT_EQ(one.since, run_start() - std::chrono::minutes(5));
    EXPECT_EQ(one.filter.type, "a");
  }
  EXPECT_EQ(entries, (std::vector<uint32_t>{2, 3, 4}));
  run.take_others();
  EXPECT_TRUE(run.last().has_early_left);
  run.take_others();
  while (run.last().unfinished) run.proceed();
  EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
  EXPECT_EQ(run.records(HistoryKind::kEntered), 1U);
  EXPECT_EQ(run.records(HistoryKind::kWoken), 5U);
  run.expect_sound();
}

TEST(ManyEarlyEvents, RaiseTheErrorOfTheNextSearch) {
  RunOfFive run;
  run.take_two();
  run.proceed("restart");
  run.early(tl::unexpected(Error{kLookbackLimit, "lost"}));
  EXPECT_EQ(run.instance().status, InstanceStatus::kFailed);
  ASSERT_TRUE(run.instance().error);
  EXPECT_EQ(run.instance().error->code, kLookbackLimit);
  run.expect_sound();
}

TEST(ManyEarlyEvents, OfAnEarlierStepAreDropped) {
  RunOfFive run;
  const uint64_t first = evaluation_of(run.instance());
  run.take_two();
  const uint64_t second = evaluation_of(run.instance());
  run.take_others(first);
  EXPECT_FALSE(run.last().changed);
  run.take_others(second);
  EXPECT_EQ(run.last().early.size(), 2U);
  run.take_others(second);
  EXPECT_FALSE(run.last().changed);
  EXPECT_EQ(run.instance().listeners.size(), 1U);
}

TEST(ManyEarlyEvents, AreDroppedIfTheInstanceIsPausedAndAskedForAgainIfItIsResumed) {
  RunOfFive run;
  run.take_two();
  run.give("pause", Pause{});
  run.take_others();
  EXPECT_FALSE(run.last().changed);
  run.give("resume", Resume{});
  ASSERT_TRUE(run.looked_back());
  EXPECT_EQ(run.looked_back()->listeners.size(), 3U);
  EXPECT_TRUE(run.instance().parked);
  run.take_others();
  EXPECT_EQ(run.last().early.size(), 2U);
  run.expect_sound();
}

TEST(ManyEarlyEvents, EndWithTheInstance) {
  RunOfFive run;
  run.take_two();
  const uint64_t step = evaluation_of(run.instance());
  run.cancel({"direktiv.cancels.api", "stopped"});
  EXPECT_EQ(run.instance().status, InstanceStatus::kCancelled);
  const auto all = five_events();
  const EarlyEvents left = std::vector<EarlyEvent>(all.begin() + 2, all.end());
  run.give("others", EvaluationDone{.step = step, .results = {}, .early = &left});
  EXPECT_FALSE(run.last().changed);
  run.expect_sound();
}

TEST(ManyEarlyEvents, EndWithTheStateIfATimerFiresDuringTheNextSearch) {
  RunOfFive run;
  run.take_two();
  run.proceed("restart");
  run.at(std::chrono::seconds(10));
  EXPECT_EQ(run.instance().status, InstanceStatus::kFailed);
  EXPECT_EQ(run.records(HistoryKind::kEntered), 1U) << "the record of the first step";
  EXPECT_EQ(run.records(HistoryKind::kWoken), 2U);
  run.expect_sound();
}

}  // namespace
}  // namespace millrace
