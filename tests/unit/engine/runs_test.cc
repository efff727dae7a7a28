// Runs: the first run of a new instance, a run by the retry policy of the workflow, a run that an
// operator starts, and the next run after `continueAsNew`. A table has the value of each field
// after each of these runs.
#include "orchestrator/engine/runs.h"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;

constexpr const char* kWorkflow = R"(
id: w
retries: fixed(9, 1h)
workflowExecutionTimeout: 90h
timeouts: {interrupt: 10h, kill: 20h}
states:
- {id: first, type: consumeEvent, event: {type: never}}
- {id: second, type: consumeEvent, event: {type: never}, timeout: 3h}
- {id: third, type: consumeEvent, event: {type: never}}
)";

const TimePoint kNow = run_start() + hours(50);

/// An instance in its third run whose fields all differ from those of a new instance.
Instance in_third_run(const Workflow& workflow) {
  Instance instance =
      make_instance({}, NamespaceNumber(1), {WorkflowNumber(1), 1}, workflow, Json{{"n", 1}},
                    run_start(), {.kept = 42}, {.own_policy = R"({"taskTimeout":"5s"})"});
  instance.state = 2;
  instance.attempt = 4;
  instance.run = 3;
  instance.first_run = 2;
  instance.runs_from = instance.state_from = run_start() + hours(5);
  instance.failing = instance.retried = true;
  instance.sealed = true;
  instance.transitions = 77;
  instance.hops = 9;
  instance.depth = 3;
  instance.step = instance.entered = 30;
  instance.caller = Caller{.entered = 7};
  instance.idempotency_key = "key";
  instance.traceparent = "trace";
  instance.correlation = "c";
  instance.error = Error{"a", "b"};
  instance.failed_state = "second";
  instance.failed_data = LazyJson(Json{{"n", 2}});
  instance.found_data = LazyJson(Json{{"n", 5}});
  instance.data = Json{{"n", 3}, {"error", "e"}};
  instance.awaits_run = true;
  return instance;
}

Instance ended(const Workflow& workflow) {
  Instance instance = in_third_run(workflow);
  instance.timers.clear();
  instance.phase = Phase::kEnded;
  instance.status = InstanceStatus::kFailed;
  instance.ended_at = run_start() + hours(40);
  instance.cancelling = true;
  return instance;
}

/// An instance that waits for its next run, which is due now.
Instance between_runs(const Workflow& workflow) {
  Instance instance = in_third_run(workflow);
  instance.timers = {{TimerKind::kExecution, run_start() + hours(90)}, {TimerKind::kRetry, kNow}};
  instance.phase = Phase::kWaiting;
  instance.status = InstanceStatus::kWaiting;
  instance.failing = false;
  instance.error.reset();
  return instance;
}

/// An instance that ends its run by `continueAsNew`.
Instance continuing(const Workflow& workflow) {
  Instance instance = in_third_run(workflow);
  instance.phase = Phase::kLeaving;
  instance.status = InstanceStatus::kRunning;
  instance.awaits_run = instance.failing = false;
  instance.error.reset();
  return instance;
}

Instance after(const Workflow& workflow, Instance instance, const Stimulus& stimulus) {
  TestLookup lookup;
  EXPECT_TRUE(step(workflow, instance, stimulus, kNow, lookup).changed);
  return instance;
}

std::string shown(const std::optional<LazyJson>& json) { return json ? json->text() : "none"; }
std::string shown(const TimePoint& time) { return shown_time(time); }

std::string shown_timers(const Instance& instance) {
  std::vector<std::string> timers;
  for (const Timer& timer : instance.timers) {
    timers.push_back(fmt::format("{} {}", name_of(timer.kind), shown_time(timer.deadline)));
  }
  std::sort(timers.begin(), timers.end());
  return fmt::format("{}", fmt::join(timers, ", "));
}

TEST(Runs, KeepOrResetEachFieldOfTheInstance) {
  const auto workflow = load_right_workflow(kWorkflow);
  const Workflow& w = *workflow;
  const std::vector<Instance> instances = {
      after(w,
            make_instance({}, NamespaceNumber(1), {WorkflowNumber(1), 1}, w, Json{{"n", 1}}, kNow,
                          {.kept = 42}),
            Proceed{}),
      after(w, between_runs(w), Fired{TimerKind::kRetry, kNow}),
      after(w, ended(w), Retry{}),
      after(w, ended(w), Restart{}),
      after(w, ended(w), Rerun{.state = 2, .data = LazyJson(Json{{"n", 4}})}),
      after(w, continuing(w), NextRun{.ended_revision = 1, .input = LazyJson(Json{{"n", 6}})}),
  };
  struct Row {
    const char* field;
    std::function<std::string(const Instance&)> value;
    /// The values after a start, a run by the retry policy, a retry, a restart, a rerun and the
    /// begin of the next run.
    std::vector<std::string> expected;
  };
  const auto number = [](auto Instance::*member) {
    return [member](const Instance& one) { return std::to_string(one.*member); };
  };
  const std::string n1 = R"({"n":1})";
  const std::vector<Row> rows = {
      {"state", number(&Instance::state), {"0", "0", "1", "0", "2", "0"}},
      {"data",
       [](const Instance& one) { return one.data.text(); },
       {n1, n1, R"({"n":2})", n1, R"({"n":4})", R"({"n":6})"}},
      {"input",
       [](const Instance& one) { return one.input.text(); },
       {n1, n1, n1, n1, n1, R"({"n":6})"}},
      {"status",
       [](const Instance& one) { return std::string(to_string(one.status)); },
       {"waiting", "waiting", "waiting", "waiting", "waiting", "running"}},
      {"attempt", number(&Instance::attempt), {"1", "1", "1", "1", "1", "1"}},
      {"run", number(&Instance::run), {"1", "4", "3", "4", "4", "4"}},
      {"first_run", number(&Instance::first_run), {"1", "2", "3", "4", "4", "4"}},
      {"runs_from",
       [](const Instance& one) { return shown(one.runs_from); },
       {"2d2h", "5h", "2d2h", "2d2h", "2d2h", "2d2h"}},
      {"state_from",
       [](const Instance& one) { return shown(one.state_from); },
       {"2d2h", "2d2h", "2d2h", "2d2h", "2d2h", "2d2h"}},
      {"execution_from",
       [](const Instance& one) { return shown(one.execution_from); },
       {"2d2h", "0s", "0s", "2d2h", "2d2h", "0s"}},
      {"started_at",
       [](const Instance& one) { return shown(one.started_at); },
       {"2d2h", "0s", "0s", "0s", "0s", "0s"}},
      {"ended_at",
       [](const Instance& one) { return std::string(one.ended_at ? "some" : "none"); },
       {"none", "none", "none", "none", "none", "none"}},
      {"timers",
       shown_timers,
       {"execution 5d20h, interrupt 2d12h, kill 2d22h",
        "execution 3d18h, interrupt 2d12h, kill 2d22h",
        "execution 3d18h, interrupt 2d12h, kill 2d22h, timeout 2d5h",
        "execution 5d20h, interrupt 2d12h, kill 2d22h",
        "execution 5d20h, interrupt 2d12h, kill 2d22h",
        "execution 3d18h, interrupt 2d12h, kill 2d22h"}},
      {"transitions", number(&Instance::transitions), {"0", "0", "0", "0", "0", "0"}},
      {"hops", number(&Instance::hops), {"0", "9", "0", "0", "0", "9"}},
      {"depth", number(&Instance::depth), {"0", "3", "0", "0", "0", "3"}},
      {"caller",
       [](const Instance& one) { return std::string(one.caller ? "some" : "none"); },
       {"none", "some", "none", "none", "none", "some"}},
      {"awaits_run", number(&Instance::awaits_run), {"0", "0", "0", "0", "0", "0"}},
      {"failing", number(&Instance::failing), {"0", "0", "0", "0", "0", "0"}},
      {"paused", number(&Instance::paused), {"0", "0", "0", "0", "0", "0"}},
      {"cancelling", number(&Instance::cancelling), {"0", "0", "0", "0", "0", "0"}},
      {"retried", number(&Instance::retried), {"0", "0", "1", "0", "0", "0"}},
      {"parked", number(&Instance::parked), {"0", "0", "0", "0", "0", "0"}},
      {"error",
       [](const Instance& one) { return one.error ? one.error->code : "none"; },
       {"none", "none", "none", "none", "none", "none"}},
      {"failed_state",
       [](const Instance& one) { return one.failed_state; },
       {"", "", "", "", "", ""}},
      {"failed_data",
       [](const Instance& one) { return shown(one.failed_data); },
       {"none", "none", "none", "none", "none", "none"}},
      {"found_data",
       [](const Instance& one) { return shown(one.found_data); },
       {"none", "none", "none", "none", "none", "none"}},
      {"own_policy",
       [](const Instance& one) { return std::string(one.own_policy.empty() ? "none" : "some"); },
       {"none", "some", "some", "some", "some", "some"}},
      {"sealed", number(&Instance::sealed), {"0", "1", "1", "1", "1", "1"}},
      {"idempotency_key",
       [](const Instance& one) { return one.idempotency_key; },
       {"", "key", "key", "key", "key", "key"}},
      {"traceparent",
       [](const Instance& one) { return one.traceparent; },
       {"", "trace", "trace", "trace", "trace", "trace"}},
      {"correlation",
       [](const Instance& one) { return one.correlation; },
       {"", "c", "c", "c", "c", "c"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> values;
    for (const Instance& instance : instances) values.push_back(row.value(instance));
    EXPECT_EQ(values, row.expected) << row.field;
  }
}

TEST(Runs, StartTheExecutionTimeoutAgainIfTheRetryCommandExtendsIt) {
  const auto workflow = load_right_workflow(kWorkflow);
  const Instance instance = after(*workflow, ended(*workflow), Retry{.extend = true});
  EXPECT_EQ(instance.execution_from, kNow);
}

TEST(Runs, WaitForTheResumeOfTheInstanceIfTheWorkflowIsPaused) {
  const auto workflow = load_right_workflow(kWorkflow);
  for (const Stimulus& stimulus : std::vector<Stimulus>{
           Retry{.paused = true}, Restart{.paused = true}, Rerun{.state = 1, .paused = true}}) {
    const Instance paused = after(*workflow, ended(*workflow), stimulus);
    EXPECT_EQ(paused.status, InstanceStatus::kPaused);
    EXPECT_TRUE(paused.listeners.empty());
    const Instance resumed = after(*workflow, paused, Resume{});
    EXPECT_EQ(resumed.status, InstanceStatus::kWaiting);
    EXPECT_EQ(resumed.listeners.size(), 1u);
  }
}

TEST(Runs, ContinueInTheStateWhereTheInstanceEndedIfNoFailedStateIsRecorded) {
  const auto workflow = load_right_workflow(kWorkflow);
  Instance old = ended(*workflow);
  old.failed_state.clear();
  old.failed_data.reset();
  const Instance retried = after(*workflow, old, Retry{.data = LazyJson(Json{{"of", "history"}})});
  EXPECT_EQ(retried.state, 2u);
  EXPECT_EQ(retried.data.text(), R"({"of":"history"})");
}

TEST(Runs, BeginWithTheStatusPendingAndTheInputAsTheirData) {
  struct Row {
    Json input;
    const char* data;
  };
  const Row rows[] = {
      {{{"a", 1}}, R"({"a":1})"},     {Json::object(), "{}"}, {{1, 2}, R"({"input":[1,2]})"},
      {"x", R"({"input":"x"})"},      {7, R"({"input":7})"},  {false, R"({"input":false})"},
      {nullptr, R"({"input":null})"},
  };
  const auto workflow = load_right_workflow("{id: w, states: [{id: a, type: noop}]}");
  for (const Row& row : rows) {
    const Instance instance = make_instance({}, NamespaceNumber(3), {WorkflowNumber(2), 1},
                                            *workflow, row.input, run_start(), {.kept = 42});
    EXPECT_EQ(instance.data.text(), row.data);
    EXPECT_EQ(instance.input.text(), row.data);
    EXPECT_EQ(instance.status, InstanceStatus::kPending);
    EXPECT_EQ(instance.phase, Phase::kEntering);
    EXPECT_EQ(instance.ns, NamespaceNumber(3));
    EXPECT_EQ(instance.started_at, run_start());
    EXPECT_EQ(instance.listen_from, (ListenFrom{.kept = 42}));
    EXPECT_EQ(instance.step, 0u);
  }
}

TEST(Runs, StartInTheStateThatTheDefinitionNames) {
  InstanceRun run(load_right_workflow(R"(
id: middle
start: {type: default, state: second}
states:
- {id: first, type: noop}
- {id: second, type: noop}
)"));
  run.proceed();
  EXPECT_EQ(run.rows().back().state, "second");
}

TEST(Runs, ArmTheTimeoutOfTheFirstStateAtTheStart) {
  InstanceRun run(load_right_workflow(R"(
id: timeout
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 10s}
)"));
  EXPECT_THAT(run.instance().timers,
              ElementsAre(Timer{TimerKind::kStateTimeout, run_start() + std::chrono::seconds(10)}));
  // The timeout applies even if the state was never entered.
  run.at(std::chrono::seconds(10));
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->code, "direktiv.stateTimeout");
}

TEST(Runs, FollowEachOtherUntilTheRetryPolicyIsExhausted) {
  InstanceRun run(
      load_right_workflow("{id: w, retries: 'fixed(2, 1h)', states: [{id: a, type: error, "
                          "error: e, message: no}]}"));
  run.proceed();
  EXPECT_EQ(run.instance().run, 1u);
  EXPECT_TRUE(run.instance().awaits_run);
  EXPECT_THAT(run.instance().timers, ElementsAre(Timer{TimerKind::kRetry, run_start() + hours(1)}));
  run.at(hours(1));
  EXPECT_EQ(run.instance().run, 2u);
  EXPECT_FALSE(run.instance().awaits_run);
  EXPECT_EQ(run.rows().back().status, "failed");
}

/// A lookup that cannot read the input of an instance, because its row is damaged.
class WithoutInput final : public TestLookup {
 public:
  Result<LazyJson> input(const Instance&) const override {
    return fail("store.damaged", "its input");
  }
};

TEST(Runs, FailWithoutAnotherRetryIfTheInputOfTheInstanceCannotBeRead) {
  const auto workflow = load_right_workflow(kWorkflow);
  Instance instance = between_runs(*workflow);
  step(*workflow, instance, Fired{TimerKind::kRetry, kNow}, kNow, WithoutInput());
  EXPECT_EQ(instance.status, InstanceStatus::kFailed);
  EXPECT_EQ(instance.error, (Error{"millrace.store.damaged", "its input"}));
}

TEST(Runs, HaveTheTimersOfTheWorkflowAndOfTheOwnPolicyOfTheInstance) {
  const auto workflow = load_right_workflow(kWorkflow);
  const Instance instance =
      make_instance({}, NamespaceNumber(1), {WorkflowNumber(1), 1}, *workflow, Json{{"n", 1}},
                    run_start(), {.kept = 42}, {.own_policy = R"({"runTimeout":"5h"})"});
  EXPECT_EQ(shown_timers(instance), "execution 3d18h, interrupt 10h, kill 20h, run 5h");
  EXPECT_EQ(timers_of_run(*workflow, instance, run_start()), instance.timers);
  EXPECT_EQ(execution_deadline(*workflow, instance), run_start() + hours(90));
}

TEST(Runs, EnterTheOnFailureStateOnlyOnce) {
  InstanceRun run(load_right_workflow(R"(
id: w
on_failure: {state: clean, when: any}
states:
- {id: a, type: error, error: first, message: no}
- {id: clean, type: noop, transform: .error.code.x}
)"));
  run.proceed();
  EXPECT_EQ(run.rows().back().state, "a > clean");
  EXPECT_EQ(run.rows().back().status, "failed");
  EXPECT_EQ(run.instance().error->code, "first");
  EXPECT_EQ(run.instance().failed_state, "a");
}

TEST(Runs, TakeNoInputThatNestsTooDeep) {
  // A value that is no object becomes the member `input` of one, which is a level more.
  for (const size_t levels : {kMaxJsonDepth - 1, kMaxJsonDepth}) {
    SCOPED_TRACE(levels);
    InstanceRun run(load_right_workflow(R"(
id: w
states: [{id: wait, type: consumeEvent, event: {type: t}, continueAsNew: 'jq([.t])'}]
)"));
    run.proceed();
    const std::string value = std::string(levels - 1, '[') + "1" + std::string(levels - 1, ']');
    run.event({.id = "e", .source = "s", .type = "t", .data = value});
    const std::string code = run.instance().error ? run.instance().error->code : "";
    EXPECT_EQ(code, levels < kMaxJsonDepth ? "" : "millrace.limits.data");
  }
}

}  // namespace
}  // namespace millrace
