// Stimulus: a table of each stimulus and of the situations in which it changes an instance.
#include "orchestrator/engine/stimulus.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr std::string_view kStates = R"(
functions:
- {id: f, type: knative-namespace, service: f}
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 1h}
- {id: call, type: action, action: {function: f, startToCloseTimeout: 2h}, timeout: 1h}
- {id: ask, type: noop, transform: first(.n + 1)}
)";

/// An instance and its workflow, which starts in the state `state`.
struct Given {
  std::shared_ptr<const Workflow> workflow;
  Instance instance;

  explicit Given(std::string_view state)
      : workflow(load_right_workflow("id: w\nstart: {type: default, state: " + std::string(state) +
                                     "}" + std::string(kStates))),
        instance(new_instance(*workflow, Json{{"n", 1}})) {}

  StepResult step(const Stimulus& stimulus, TimePoint now = run_start()) {
    return millrace::step(*workflow, instance, stimulus, now, TestLookup());
  }
};

Given after(Given given, const std::vector<Stimulus>& stimuli) {
  for (const Stimulus& one : stimuli) given.step(one);
  return given;
}

/// The situations, by their letters in the table.
std::vector<std::pair<char, Given>> situations() {
  return {
      {'N', Given("wait")},                                          // new
      {'E', after(Given("wait"), {Proceed{}})},                      // waits for an event
      {'C', after(Given("call"), {Proceed{}})},                      // waits for a call
      {'A', after(Given("ask"), {Proceed{}})},                       // has asked for an evaluation
      {'P', after(Given("wait"), {Proceed{}, Pause{}})},             // waits, paused
      {'X', after(Given("wait"), {Proceed{}, Cancel{{"a", "b"}}})},  // has ended
  };
}

struct Row {
  std::string_view name;
  std::function<Stimulus(const Instance&)> stimulus;
  std::string_view situations;   ///< the situations in which the test applies the stimulus
  std::string_view changes;      ///< the situations in which the stimulus changes the instance
  Duration later = Duration(0);  ///< how long after the start the stimulus is applied
};

const Event kEvent{.id = "e", .source = "s", .type = "t", .data = "7"};
const std::vector<EvaluationResult> kResults = {EvaluationResult{QueryResult(Json(2))}};

Caller caller_in(const Instance& instance) {
  return {.instance = instance.id, .entered = instance.entered, .index = 0, .attempt = 1};
}

std::vector<Row> rows() {
  const auto always = [](Stimulus stimulus) {
    return [stimulus = std::move(stimulus)](const Instance&) { return stimulus; };
  };
  const auto own_timer = [](const Instance& instance) -> Stimulus {
    if (instance.timers.empty()) return Fired{TimerKind::kDelay, run_start()};
    return Fired{instance.timers.front().kind, instance.timers.front().deadline};
  };
  const auto evaluation_done = [](uint64_t more) {
    return [more](const Instance& instance) -> Stimulus {
      return EvaluationDone{.step = instance.step + more, .results = kResults};
    };
  };
  const auto returned = [](uint32_t attempt) {
    return [attempt](const Instance& instance) -> Stimulus {
      Caller call = caller_in(instance);
      call.attempt = attempt;
      return Returned{.call = call, .result = LazyJson(Json(7))};
    };
  };
  const auto started = [](const Instance& one) -> Stimulus { return CallStarted{caller_in(one)}; };
  const auto progressed = [](const Instance& one) -> Stimulus {
    return Progressed{.call = caller_in(one), .json = "7"};
  };
  const auto heartbeat_missed = [](const Instance& one) -> Stimulus {
    return HeartbeatMissed{caller_in(one)};
  };
  const auto printed = [](const Instance& one) -> Stimulus { return Printed{caller_in(one), "x"}; };
  const auto hour = std::chrono::hours(1);
  const Stimulus cancel_later = Cancel{.error = {"a", "b"}, .at_once = false};
  return {
      {"Proceed", always(Proceed{}), "NECAPX", "NA"},
      // No instance of the table waits to start.
      {"Admitted", always(Admitted{.number = 1}), "NECAPX", ""},
      {"Released", always(Released{}), "NECAPX", ""},
      {"EvaluationDone, of this step", evaluation_done(0), "NECAPX", "A"},
      {"EvaluationDone, of another step", evaluation_done(1), "NECAPX", ""},
      // Not applied to an instance with calls (C), because `entries` must name one of its
      // listeners.
      {"Matched", always(Matched{.event = &kEvent, .entries = {0}, .position = {.kept = 3}}),
       "NEAPX", "EP"},
      {"Fired, of a timer that it has", own_timer, "NECAPX", "NEC", hour},
      {"Fired, of a timer that it does not have", always(Fired{TimerKind::kKill, run_start()}),
       "NECAPX", ""},
      {"Overdue, too early", always(Overdue{}), "NECAPX", ""},
      {"Overdue", always(Overdue{}), "NECAPX", "C", hour},
      {"Returned", returned(1), "NECAPX", "C"},
      {"Returned, of another attempt", returned(2), "NECAPX", ""},
      {"CallStarted", started, "NECAPX", "C"},
      {"Progressed", progressed, "NECAPX", "C"},
      {"HeartbeatMissed", heartbeat_missed, "NECAPX", "C"},
      {"Printed", printed, "NECAPX", "C"},
      {"Cancel", always(Cancel{.error = {"a", "b"}}), "NECAPX", "NECAP"},
      {"Cancel, not at once", always(cancel_later), "NECAPX", "NECAP"},
      {"Pause", always(Pause{}), "NECAPX", "NECA"},
      {"Resume", always(Resume{}), "NECAPX", "P"},
      {"ServicesResumed", always(ServicesResumed{}), "NECAPX", "C"},
      {"Abandon", always(Abandon{{"a", "b"}}), "NECAPX", "NECAP"},
      {"Compensate, without a compensation", always(Compensate{}), "NECAPX", ""},
      {"Retry", always(Retry{}), "NECAPX", "X"},
      {"Restart", always(Restart{}), "NECAPX", "X"},
      {"Rerun", always(Rerun{.state = 0, .data = LazyJson(Json::object())}), "NECAPX", "X"},
      // The situation A is that of an instance that leaves its state.
      {"NextRun", always(NextRun{.ended_revision = 1, .input = LazyJson(Json::object())}), "NECAPX",
       "A"},
      {"NextRunRefused", always(NextRunRefused{{"a", "b"}}), "NECAPX", "A"},
  };
}

TEST(Stimulus, ChangesAnInstanceOnlyInTheSituationsOfTheTable) {
  for (const Row& row : rows()) {
    std::string changes;
    for (auto& [letter, given] : situations()) {
      if (row.situations.find(letter) == std::string_view::npos) continue;
      const Instance before = given.instance;
      const StepResult result = given.step(row.stimulus(before), run_start() + row.later);
      if (result.changed) changes.push_back(letter);
      EXPECT_EQ(result.changed || !result.history.empty() || !result.effects.empty(),
                result.changed)
          << row.name << " in " << letter
          << ": a stale stimulus must leave no history and no effect";
      // The invariants hold for an instance that is neither paused nor restarted after its end.
      if (given.instance.paused || before.paused || row.changes == "X") continue;
      EXPECT_THAT(broken_invariants(before, result, given.instance), IsEmpty())
          << row.name << " in " << letter;
    }
    EXPECT_EQ(changes, row.changes) << row.name;
  }
}

TEST(Stimulus, HasARowInTheTableOfThisTestForEachKind) {
  std::set<size_t> kinds;
  for (const Row& row : rows()) kinds.insert(row.stimulus(Given("wait").instance).index());
  EXPECT_EQ(kinds.size(), std::variant_size_v<millrace::Stimulus>);
}

TEST(Stimulus, ContinuesAnEndedInstanceIfItIsForOne) {
  for (const Row& row : rows()) {
    const millrace::Stimulus stimulus = row.stimulus(Given("wait").instance);
    // No instance of the table has a compensation.
    const bool revives_one = row.changes == "X" || std::holds_alternative<Compensate>(stimulus);
    EXPECT_EQ(revives(stimulus), revives_one) << row.name;
  }
}

}  // namespace
}  // namespace millrace
