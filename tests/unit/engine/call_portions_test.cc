// Engine: a state with many calls makes them in several steps. Between these steps the instance
// takes results, timeouts and commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/fit.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSubflows = R"(
id: each
functions: [{id: f, type: subflow, workflow: item}]
states:
- id: loop
  type: foreach
  array: jq(.items)
  timeout: 1h
  action: {function: f}
  catch:
  - {error: direktiv.stateTimeout, transition: late}
  - {error: item.broken, transition: broken}
- {id: late, type: noop}
- {id: broken, type: noop}
)";
constexpr const char* kTasks = R"(
id: each
functions: [{id: f, type: knative-namespace, service: f}]
states:
- id: loop
  type: foreach
  array: jq(.items)
  action: {function: f, startToCloseTimeout: 10s, retries: {maximumAttempts: 1}}
  concurrency: 100
)";
constexpr const char* kSlowInputs = R"(
id: each
functions: [{id: f, type: subflow, workflow: item}]
states:
- {id: loop, type: foreach, array: jq(.items), action: {function: f, input: 'jq(first(.n + 1))'}}
)";
constexpr const char* kRace = R"(
id: race
functions: [{id: f, type: subflow, workflow: item}]
states:
- id: loop
  type: parallel
  mode: or
  actions: [{function: f}, {function: f}, {function: f}, {function: f}, {function: f}]
)";

Json items(int count) {
  Json all = Json::array();
  for (int n = 0; n < count; ++n) all.push_back({{"n", n}});
  return {{"items", std::move(all)}};
}

/// An instance of which a step makes two calls.
class Portions {
 public:
  explicit Portions(const char* definition, int count = 5, CallPortion portion = {.calls = 2})
      : workflow(load_right_workflow(definition)),
        instance(new_instance(*workflow, items(count))),
        limits_{.calls_per_step = portion} {}

  StepResult step(const Stimulus& stimulus, Duration after = Duration(0)) {
    StepResult result =
        millrace::step(*workflow, instance, stimulus, run_start() + after, lookup_, limits_);
    const Status fits = check_fit(*workflow, instance, run_start() + after);
    EXPECT_TRUE(fits) << fits.error().message;
    for (const Effect& effect : result.effects) {
      if (const auto* const child = std::get_if<StartChild>(&effect)) {
        const Json& input = child->input.value();
        inputs.push_back(input.contains("n") ? input["n"] : Json());
      }
      if (std::holds_alternative<CancelChild>(effect)) ++cancelled;
    }
    return result;
  }
  /// Proceeds until the instance has made all its calls; returns the number of steps.
  int finish() {
    for (int steps = 1; steps < 100; ++steps) {
      if (!step(Proceed{}).unfinished) return steps;
    }
    ADD_FAILURE() << "the instance does not end to make its calls";
    return 0;
  }
  Returned result_of(uint32_t index, CallResult result) const {
    return {.call = {.instance = instance.id,
                     .entered = instance.entered,
                     .index = index,
                     .attempt = instance.calls.at(index).attempt},
            .result = std::move(result)};
  }
  /// The results of the queries {first(.n + 1)} over the elements from `first` to `last`.
  EvaluationDone evaluated(const StepResult& asked, int first, int last) {
    results_ = {EvaluationResult()};
    for (int n = first; n <= last; ++n) results_[0].emplace_back(Json{{"n", n}});
    const auto& evaluate = std::get<Evaluate>(asked.effects.at(0));
    EXPECT_EQ(evaluate.evaluation.queries.size(), results_[0].size());
    return {.step = evaluate.step, .results = results_};
  }

  std::shared_ptr<const Workflow> workflow;
  Instance instance;
  std::vector<Json> inputs;  ///< `n` of the children's inputs, in the order of their starts
  int cancelled = 0;         ///< children

 private:
  EngineLimits limits_;
  TestLookup lookup_;
  std::vector<EvaluationResult> results_;
};

TEST(CallPortions, MakeAllCallsInTheOrderOfTheElements) {
  for (const int count : {1, 2, 3, 5, 6}) {
    SCOPED_TRACE(count);
    Portions one(kSubflows, count);
    EXPECT_EQ(one.finish(), (count + 1) / 2);
    EXPECT_EQ(one.instance.phase, Phase::kWaiting);
    ASSERT_THAT(one.instance.calls, SizeIs(count));
    for (int n = 0; n < count; ++n) EXPECT_EQ(one.inputs.at(n), n);
    for (int n = 0; n < count; ++n) one.step(one.result_of(n, LazyJson(Json(10 * n))));
    EXPECT_EQ(one.instance.status, InstanceStatus::kComplete);
    for (int n = 0; n < count; ++n) EXPECT_EQ(one.instance.data.value()["return"][n], 10 * n);
  }
}

TEST(CallPortions, AreBoundedByTheBytesOfTheInputs) {
  Portions one(kSubflows, 5, {.calls = 4, .bytes = 10});
  EXPECT_TRUE(one.step(Proceed{}).unfinished);
  EXPECT_THAT(one.instance.calls, SizeIs(2)) << R"(the inputs are {"n":0} and {"n":1})";
  Portions each(kSubflows, 5, {.calls = 4, .bytes = 1});
  EXPECT_EQ(each.finish(), 5);
}

TEST(CallPortions, HaveOneRecordOfTheEntryWithTheData) {
  Portions one(kSubflows);
  size_t entered = 0;
  for (bool more = true; more;) {
    const StepResult result = one.step(Proceed{});
    for (const HistoryRecord& record : result.history) {
      if (record.kind != HistoryKind::kEntered) continue;
      ++entered;
      EXPECT_TRUE(record.data);
    }
    more = result.unfinished;
  }
  EXPECT_EQ(entered, 1U);
}

TEST(CallPortions, TakeResultsBetweenTheSteps) {
  Portions one(kSubflows);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  for (uint32_t index = 0; index < 2; ++index) {
    const StepResult result = one.step(one.result_of(index, LazyJson(Json(7))));
    EXPECT_TRUE(result.changed);
    EXPECT_FALSE(result.unfinished)
        << "the step that makes further calls has been asked for already";
    EXPECT_EQ(one.instance.phase, Phase::kEntering);
  }
  EXPECT_THAT(one.instance.calls, SizeIs(2)) << "all calls so far have ended, but not all calls";
  EXPECT_EQ(one.finish(), 2);
  for (uint32_t index = 2; index < 5; ++index) one.step(one.result_of(index, LazyJson(Json(8))));
  EXPECT_EQ(one.instance.data.value()["return"], (Json{7, 7, 8, 8, 8}));
}

TEST(CallPortions, EndWithTheFirstFailure) {
  Portions one(kSubflows);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  one.step(one.result_of(1, tl::unexpected(Error{"item.broken", ""})));
  EXPECT_EQ(one.cancelled, 1);
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete) << "the error is caught";
  EXPECT_THAT(one.inputs, SizeIs(2));
  EXPECT_FALSE(one.step(Proceed{}).changed);
}

TEST(CallPortions, EndWithTheFirstResultInModeOr) {
  Portions one(kRace);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  one.step(one.result_of(1, LazyJson(Json("won"))));
  EXPECT_EQ(one.instance.data.value()["return"], (Json{nullptr, "won", nullptr, nullptr, nullptr}));
}

TEST(CallPortions, EndWithTheTimeoutOfTheState) {
  Portions one(kSubflows);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  const Timer timeout = one.instance.timers.at(0);
  const StepResult result =
      one.step(Fired{.kind = timeout.kind, .deadline = timeout.deadline}, std::chrono::hours(1));
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete) << "the timeout is caught";
  EXPECT_EQ(one.cancelled, 2);
  for (const HistoryRecord& record : result.history) {
    EXPECT_FALSE(record.state == "loop" && record.kind == HistoryKind::kEntered);
  }
}

TEST(CallPortions, EndWithACancel) {
  for (const bool at_once : {true, false}) {
    SCOPED_TRACE(at_once);
    Portions one(kTasks);
    ASSERT_TRUE(one.step(Proceed{}).unfinished);
    one.step(Cancel{.error = {"direktiv.cancels.api", ""}, .at_once = at_once});
    if (at_once) {
      EXPECT_EQ(one.instance.status, InstanceStatus::kCancelled);
      continue;
    }
    EXPECT_EQ(one.instance.phase, Phase::kWaiting);
    EXPECT_FALSE(one.step(Proceed{}).changed) << "no further call is made";
    one.step(one.result_of(0, LazyJson(Json(1))));
    one.step(one.result_of(1, LazyJson(Json(1))));
    EXPECT_EQ(one.instance.status, InstanceStatus::kCancelled);
  }
}

TEST(CallPortions, ContinueAfterAPause) {
  Portions one(kTasks);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  one.step(Pause{});
  one.step(Proceed{});
  EXPECT_THAT(one.instance.calls, SizeIs(2));
  EXPECT_EQ(one.instance.status, InstanceStatus::kPaused);
  one.step(one.result_of(0, LazyJson(Json(1))));
  EXPECT_TRUE(one.step(Resume{}, seconds(5)).unfinished);
  EXPECT_THAT(one.instance.calls, SizeIs(4));
  one.finish();
  EXPECT_THAT(one.instance.calls, SizeIs(5));
}

TEST(CallPortions, FireTheTimeoutsOfTheCallsBetweenTheSteps) {
  Portions one(kTasks);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  one.step(CallStarted{
      {.instance = one.instance.id, .entered = one.instance.entered, .index = 0, .attempt = 1}});
  const auto& timers = one.instance.timers;
  const auto calls = std::find_if(timers.begin(), timers.end(), [](const Timer& timer) {
    return timer.kind == TimerKind::kCalls;
  });
  ASSERT_NE(calls, timers.end());
  one.step(Fired{.kind = TimerKind::kCalls, .deadline = calls->deadline}, seconds(10));
  EXPECT_EQ(one.instance.status, InstanceStatus::kFailed);
  EXPECT_EQ(one.instance.error->code, "millrace.timeout.startToClose");
}

TEST(CallPortions, WaitForAnEvaluationOfTheInputsOfEachPortion) {
  Portions one(kSlowInputs);
  const StepResult first = one.step(Proceed{});
  EXPECT_TRUE(one.instance.parked);
  EXPECT_THAT(one.instance.calls, IsEmpty());
  const EvaluationDone done = one.evaluated(first, 0, 1);
  EXPECT_TRUE(one.step(done).unfinished);
  EXPECT_THAT(one.inputs, ElementsAre(0, 1));
  const StepResult second = one.step(Proceed{});
  EXPECT_TRUE(one.instance.parked);
  EXPECT_FALSE(one.step(done).changed) << "this evaluation was for the first portion";
  one.step(one.result_of(0, LazyJson(Json(1))));
  EXPECT_TRUE(one.instance.parked) << "a result does not repeat the evaluation";
  EXPECT_TRUE(one.step(one.evaluated(second, 2, 3)).unfinished);
  EXPECT_THAT(one.inputs, ElementsAre(0, 1, 2, 3));
}

TEST(CallPortions, HandleTimeoutsThatHavePassedTogetherInSeveralSteps) {
  Portions one(R"(
id: each
functions: [{id: f, type: subflow, workflow: item}]
states:
- id: loop
  type: foreach
  array: jq(.items)
  action:
    function: f
    startToCloseTimeout: 10s
    retries: {initialInterval: 1h, maximumAttempts: 3}
)",
               6);
  ASSERT_EQ(one.finish(), 3);
  const auto between = [&] {
    return std::count_if(one.instance.calls.begin(), one.instance.calls.end(),
                         [](const Call& call) { return call.status == Call::Status::kBetween; });
  };
  for (const long expected : {2L, 4L, 6L}) {
    const auto& timers = one.instance.timers;
    const auto due = std::find_if(timers.begin(), timers.end(), [](const Timer& timer) {
      return timer.kind == TimerKind::kCalls;
    });
    ASSERT_NE(due, timers.end());
    EXPECT_LE(due->deadline, run_start() + seconds(10)) << "the timer is due at once";
    one.step(Fired{.kind = due->kind, .deadline = due->deadline}, seconds(10));
    EXPECT_EQ(between(), expected);
  }
  EXPECT_EQ(one.cancelled, 6);
}

TEST(CallPortions, StartQueuedCallsInSeveralSteps) {
  Portions one(kTasks, 6);
  one.step(Proceed{});
  one.step(Pause{});
  // Calls that are queued when the instance is resumed.
  for (Call& call : one.instance.calls) call = Call{.input = call.input};
  one.instance.phase = Phase::kWaiting;
  one.instance.calls.resize(6);
  one.step(Resume{});
  const auto started = [&] {
    return std::count_if(one.instance.calls.begin(), one.instance.calls.end(),
                         [](const Call& call) { return call.status == Call::Status::kRunning; });
  };
  EXPECT_EQ(started(), 2);
  for (const long expected : {4L, 6L}) {
    one.step(Fired{.kind = TimerKind::kCalls, .deadline = run_start()});
    EXPECT_EQ(started(), expected);
  }
  EXPECT_FALSE(one.step(Fired{.kind = TimerKind::kCalls, .deadline = run_start()}).changed);
}

TEST(CallPortions, NameTheOnlyCallThatAResultChanges) {
  Portions one(kSubflows, 3, {.calls = 3});
  EXPECT_EQ(one.step(Proceed{}).only_call, std::nullopt);
  EXPECT_EQ(one.step(one.result_of(1, LazyJson(Json(1)))).only_call, 1U);
  EXPECT_EQ(one.step(one.result_of(0, LazyJson(Json(1)))).only_call, 0U);
  EXPECT_EQ(one.step(one.result_of(2, LazyJson(Json(1)))).only_call, std::nullopt);
  Portions tasks(kTasks, 3, {.calls = 3});
  tasks.finish();
  EXPECT_EQ(tasks.step(tasks.result_of(1, LazyJson(Json(1)))).only_call, 1U);
  tasks.step(Pause{});
  EXPECT_EQ(tasks.step(tasks.result_of(0, LazyJson(Json(1)))).only_call, std::nullopt);
  Portions overdue(kTasks, 3, {.calls = 3});
  overdue.finish();
  for (uint32_t index = 0; index < 2; ++index) {
    overdue.step(CallStarted{{.instance = overdue.instance.id,
                              .entered = overdue.instance.entered,
                              .index = index,
                              .attempt = 1}});
  }
  const StepResult late = overdue.step(overdue.result_of(2, LazyJson(Json(1))), seconds(10));
  EXPECT_TRUE(late.changed);
  EXPECT_EQ(late.only_call, std::nullopt) << "timeouts of other calls come before the result";
}

/// An instance of which all calls but the last one have ended. A step removes two calls.
Portions with_one_call_left() {
  Portions one(kSubflows, 5, {.calls = 5, .removed = 2});
  one.finish();
  for (uint32_t index = 0; index < 4; ++index) {
    one.step(one.result_of(index, LazyJson(Json(index))));
  }
  return one;
}

TEST(CallPortions, AreRemovedInSeveralStepsAfterAllCallsHaveEnded) {
  Portions one = with_one_call_left();
  const Returned late = one.result_of(0, LazyJson(Json("late")));
  const StepResult first = one.step(one.result_of(4, LazyJson(Json(4))));
  EXPECT_TRUE(first.unfinished);
  EXPECT_FALSE(first.only_removes_calls) << "the last call has ended in this step";
  EXPECT_EQ(one.instance.phase, Phase::kLeaving);
  EXPECT_EQ(one.instance.status, InstanceStatus::kRunning);
  EXPECT_THAT(one.instance.timers, IsEmpty());
  EXPECT_THAT(one.instance.calls, SizeIs(3));
  EXPECT_FALSE(one.step(late).changed);
  const StepResult second = one.step(Proceed{});
  EXPECT_TRUE(second.unfinished);
  EXPECT_TRUE(second.only_removes_calls);
  EXPECT_THAT(one.instance.calls, SizeIs(1));
  const StepResult last = one.step(Proceed{});
  EXPECT_FALSE(last.unfinished);
  EXPECT_FALSE(last.only_removes_calls) << "the instance has left the state";
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete);
  EXPECT_EQ(one.instance.data.value()["return"], (Json{0, 1, 2, 3, 4}));
}

TEST(CallPortions, AreRemovedInSeveralStepsAfterAPause) {
  Portions one = with_one_call_left();
  ASSERT_TRUE(one.step(one.result_of(4, LazyJson(Json(4)))).unfinished);
  one.step(Pause{});
  EXPECT_FALSE(one.step(Proceed{}).changed);
  EXPECT_THAT(one.instance.calls, SizeIs(3));
  EXPECT_TRUE(one.step(Resume{}).unfinished);
  EXPECT_FALSE(one.step(Proceed{}).unfinished);
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete);
}

TEST(CallPortions, AreRemovedTogetherIfTheInstanceEndsMeanwhile) {
  for (const bool at_once : {true, false}) {
    SCOPED_TRACE(at_once);
    Portions one = with_one_call_left();
    ASSERT_TRUE(one.step(one.result_of(4, LazyJson(Json(4)))).unfinished);
    one.step(Cancel{.error = {"direktiv.cancels.api", ""}, .at_once = at_once});
    EXPECT_EQ(one.instance.status, InstanceStatus::kCancelled);
    EXPECT_THAT(one.instance.calls, IsEmpty());
    EXPECT_EQ(one.cancelled, 0) << "no subflow runs any more";
  }
}

TEST(CallPortions, AreRemovedTogetherIfOneStillRuns) {
  Portions one(kRace, 5, {.calls = 5, .removed = 2});
  one.finish();
  EXPECT_FALSE(one.step(one.result_of(1, LazyJson(Json("won")))).unfinished);
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete);
  EXPECT_EQ(one.cancelled, 4);
}

TEST(CallPortions, DoNotMoveTheCallsOfEarlierPortions) {
  Portions one(kSubflows, 20);
  ASSERT_TRUE(one.step(Proceed{}).unfinished);
  const Call* const first = one.instance.calls.data();
  one.finish();
  EXPECT_EQ(one.instance.calls.data(), first);
  EXPECT_EQ(one.instance.calls.size(), 20U);
}

TEST(CallRecords, AreTextsWithSortedKeys) {
  for (const char* const definition : {kSubflows, kTasks}) {
    Portions one(definition);
    const StepResult started = one.step(Proceed{});
    const StepResult ended = one.step(one.result_of(0, LazyJson(Json(1))));
    for (const StepResult* const result : {&started, &ended}) {
      for (const HistoryRecord& record : result->history) {
        EXPECT_EQ(record.detail.text(), dump_json(record.detail.value()));
      }
    }
    ASSERT_EQ(started.history.size(), 3U) << "the entry and two calls";
    EXPECT_EQ(started.history[1].detail.value()["function"], "f");
    EXPECT_EQ(started.history[1].detail.value()["index"], 0);
    ASSERT_FALSE(ended.history.empty());
    EXPECT_EQ(ended.history[0].detail.value()["attempt"], 1);
  }
}

TEST(CallsWithoutDueTimes, AreNotAllLookedAtWhenOneOfThemEnds) {
  Portions one(kSubflows);
  one.finish();
  ASSERT_EQ(one.instance.calls.size(), 5U);
  // A deadline without a timer for calls does not occur; it shows which calls the step looks at.
  constexpr auto kEnd = static_cast<size_t>(TimeoutKind::kStartToClose);
  one.instance.calls[3].deadlines[kEnd] = run_start();
  TestLookup lookup;
  const StepResult result = step(*one.workflow, one.instance, one.result_of(0, LazyJson(Json(1))),
                                 run_start() + seconds(1), lookup);
  EXPECT_TRUE(result.changed);
  EXPECT_EQ(one.instance.calls.at(0).status, Call::Status::kDone);
  EXPECT_EQ(one.instance.calls.at(3).status, Call::Status::kRunning);
}

TEST(CallsWithoutDueTimes, AreNotCountedWhileTheLastOneRuns) {
  Portions one(kSubflows);
  one.finish();
  // Such a call does not occur; it shows which calls the step looks at.
  one.instance.calls[3].status = Call::Status::kQueued;
  TestLookup lookup;
  const auto end = [&](uint32_t index) {
    return step(*one.workflow, one.instance, one.result_of(index, LazyJson(Json(1))), run_start(),
                lookup);
  };
  EXPECT_TRUE(end(0).changed);
  EXPECT_TRUE(end(1).changed);
  EXPECT_EQ(one.instance.calls.at(3).status, Call::Status::kQueued);
  EXPECT_TRUE(end(2).changed);
  EXPECT_TRUE(end(4).changed);
  EXPECT_EQ(one.instance.calls.at(3).status, Call::Status::kRunning) << "all were counted";
  EXPECT_TRUE(end(3).changed);
  EXPECT_EQ(one.instance.status, InstanceStatus::kComplete);
}

TEST(CallsWithDueTimes, AreTimedOutBeforeTheResultOfAnother) {
  Portions one(kTasks);
  one.finish();
  one.step(CallStarted{
      {.instance = one.instance.id, .entered = one.instance.entered, .index = 1, .attempt = 1}});
  one.step(one.result_of(0, LazyJson(Json(1))), seconds(20));
  EXPECT_EQ(one.instance.status, InstanceStatus::kFailed) << "call 1 has timed out before";
}

}  // namespace
}  // namespace millrace
