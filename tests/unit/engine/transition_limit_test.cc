// The limit of transitions: after which waits the count of transitions begins again, and which
// loops the limit ends. One round of a loop is what happens to the instance between two waits.
#include <functional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr EngineLimits kFew{.transitions_per_step = 3, .transitions_per_instance = 20};

/// More rounds than the limit has transitions.
constexpr int kRounds = 100;

struct LoopRow {
  const char* name;
  const char* definition;
  std::function<void(InstanceRun&)> round;
};

void later(InstanceRun& run, Duration time) {
  run.set_time(run.now() + time);
  run.tick();
}

Event event_of_type(std::string type) {
  return {.id = "e", .source = "test", .type = std::move(type), .data = "{}"};
}

void fail_call(InstanceRun& run, uint32_t attempt) {
  run.returned(0, attempt, tl::unexpected(Error{"down", "no"}));
}

InstanceRun after_rounds(const LoopRow& loop) {
  InstanceRun run(load_right_workflow(std::string("id: loop\n") + loop.definition),
                  {{"a", 1}, {"n", 1}}, kFew);
  run.proceed();
  for (int i = 0; i < kRounds && !has_ended(run.instance().status); ++i) loop.round(run);
  return run;
}

constexpr const char* kSubflow = R"(
functions: [{id: f, type: subflow, workflow: other}]
states: [{id: call, type: action, action: {function: f}, transition: call}]
)";

TEST(TransitionLimit, DoesNotEndALoopWithEventsOrLongWaits) {
  const LoopRow rows[] = {
      {"a delay of a second", "states: [{id: rest, type: delay, duration: 1s, transition: rest}]",
       [](InstanceRun& run) { later(run, seconds(1)); }},
      {"an event that comes at once",
       "states: [{id: wait, type: consumeEvent, event: {type: t}, transition: wait}]",
       [](InstanceRun& run) { run.event(event_of_type("t")); }},
      {"one of two events, and a short timeout",
       R"(
states:
- {id: wait, type: eventAnd, events: [{type: t}, {type: other}], timeout: 500ms,
   catch: [{error: direktiv.stateTimeout, transition: wait}]}
)",
       [](InstanceRun& run) {
         run.event(event_of_type("t"));
         later(run, milliseconds(500));
       }},
      {"the timeout of a wait for an event",
       R"(
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 1s,
   catch: [{error: direktiv.stateTimeout, transition: wait}]}
)",
       [](InstanceRun& run) { later(run, seconds(1)); }},
      {"a subflow that needs a second", kSubflow,
       [](InstanceRun& run) {
         run.set_time(run.now() + seconds(1));
         run.returned(0, 1, LazyJson(Json::object()));
       }},
      {"a second before the next attempt of a call",
       R"(
functions: [{id: f, type: subflow, workflow: other}]
states:
- {id: call, type: action,
   action: {function: f, retries: {max_attempts: 1, delay: PT1S, codes: ['*']}},
   catch: [{error: direktiv.retries.exceeded, transition: call}]}
)",
       [](InstanceRun& run) {
         fail_call(run, 1);
         later(run, seconds(1));
         fail_call(run, 2);
       }},
      {"a second before the next attempt of a state",
       R"(
states:
- {id: try, type: noop, transform: jq(.a.b),
   retries: {max_attempts: 1, delay: PT1S, codes: ['*']},
   catch: [{error: direktiv.retries.exceeded, transition: try}]}
)",
       [](InstanceRun& run) { later(run, seconds(1)); }},
  };
  for (const LoopRow& row : rows) {
    const InstanceRun run = after_rounds(row);
    EXPECT_EQ(run.instance().status, InstanceStatus::kWaiting) << row.name;
    EXPECT_LE(run.instance().transitions, 2u) << row.name;
  }
}

TEST(TransitionLimit, EndsALoopWithoutEventsAndLongWaits) {
  const LoopRow rows[] = {
      {"no wait", "states: [{id: spin, type: noop, transition: spin}]",
       [](InstanceRun& run) { run.proceed(); }},
      {"delays shorter than a second",
       "states: [{id: rest, type: delay, duration: 999ms, transition: rest}]",
       [](InstanceRun& run) { later(run, milliseconds(999)); }},
      {"short delays that fire late",
       "states: [{id: rest, type: delay, duration: 999ms, transition: rest}]",
       [](InstanceRun& run) { later(run, minutes(1)); }},
      {"short timeouts of a wait for an event that does not come",
       R"(
states:
- {id: wait, type: consumeEvent, event: {type: t}, timeout: 999ms,
   catch: [{error: direktiv.stateTimeout, transition: wait}]}
)",
       [](InstanceRun& run) { later(run, milliseconds(999)); }},
      {"a subflow that returns at once", kSubflow,
       [](InstanceRun& run) { run.returned(0, 1, LazyJson(Json::object())); }},
      {"retries without a delay",
       R"(
states:
- {id: try, type: noop, transform: jq(.a.b), retries: {max_attempts: 1, codes: ['*']},
   catch: [{error: direktiv.retries.exceeded, transition: try}]}
)",
       [](InstanceRun& run) { run.tick(); }},
      {"evaluations that need long",
       "states: [{id: think, type: noop, transform: first(.n + 1), transition: think}]",
       [](InstanceRun& run) {
         run.set_time(run.now() + minutes(1));
         run.evaluated({Json{{"n", 1}}});
       }},
      {"pauses of an instance that does not wait",
       "states: [{id: spin, type: noop, transition: spin}]",
       [](InstanceRun& run) {
         run.give("pause", Pause{});
         run.set_time(run.now() + minutes(1));
         run.give("resume", Resume{});
       }},
      {"pauses of short delays",
       "states: [{id: rest, type: delay, duration: 999ms, transition: rest}]",
       [](InstanceRun& run) {
         run.give("pause", Pause{});
         run.set_time(run.now() + minutes(1));
         run.give("resume", Resume{});
         run.tick();
       }},
  };
  for (const LoopRow& row : rows) {
    const InstanceRun run = after_rounds(row);
    EXPECT_EQ(run.instance().status, InstanceStatus::kFailed) << row.name;
    if (run.instance().error) {
      EXPECT_EQ(run.instance().error->code, "millrace.limits.transitions") << row.name;
    }
  }
}

TEST(TransitionLimit, CountsTheTransitionIntoTheStateThatWaits) {
  const auto workflow = load_right_workflow(R"(
id: loop
states:
- {id: first, type: consumeEvent, event: {type: t}, transition: second}
- {id: second, type: consumeEvent, event: {type: t}, transition: third}
- {id: third, type: noop, transition: second}
)");
  InstanceRun run(workflow, Json::object(), kFew);
  run.proceed();
  EXPECT_EQ(run.instance().transitions, 0u) << "0 is the count of the first state of a run";
  for (int i = 0; i < 3; ++i) {
    run.event(event_of_type("t"));
    EXPECT_EQ(run.instance().transitions, 1u);
  }
}

TEST(TransitionLimit, CountsFromALongWaitForCallsThatATimeoutEnds) {
  InstanceRun run(load_right_workflow(R"(
id: w
functions: [{id: f, type: subflow, workflow: other}]
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: call}
- {id: call, type: action, action: {function: f}, timeout: 5s,
   catch: [{error: direktiv.stateTimeout, transition: out}]}
- {id: out, type: consumeEvent, event: {type: t}, timeout: 999ms}
)"),
                  Json::object(), kFew);
  run.proceed();
  EXPECT_EQ(run.instance().transitions, 2u);
  run.set_time(run_start() + seconds(5));
  run.returned(0, 1, LazyJson(Json::object()));
  EXPECT_EQ(run.rows().back().state, "out");
  EXPECT_EQ(run.instance().transitions, 2u) << "the one into `call`, and the one into `out`";
}

TEST(TransitionLimit, CountsHopsAgainAfterLongDelaysOnly) {
  const struct {
    const char* state;
    uint32_t hops;
  } rows[] = {
      {"{id: s, type: delay, duration: 1s}", 0},
      {"{id: s, type: delay, duration: 999ms}", 9},
      {"{id: s, type: consumeEvent, event: {type: t}, timeout: 9s}", 9},
  };
  for (const auto& row : rows) {
    const auto workflow = load_right_workflow(std::string("id: w\nstates: [") + row.state + "]");
    Instance instance = new_instance(*workflow);
    instance.hops = 9;
    step(*workflow, instance, Proceed{}, run_start(), TestLookup());
    EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
    EXPECT_EQ(instance.hops, row.hops) << row.state;
  }
}

TEST(TransitionLimit, LetsAnInstanceThatWaitsMake200000Transitions) {
  const auto workflow = load_right_workflow(R"(
id: loop
states:
- {id: rest, type: delay, duration: 30s, transition: work}
- {id: work, type: noop, transition: rest}
)");
  Instance instance = new_instance(*workflow);
  const TestLookup lookup;
  TimePoint now = run_start();
  step(*workflow, instance, Proceed{}, now, lookup);
  for (int transitions = 0; transitions < 200'000; transitions += 2) {
    ASSERT_EQ(instance.status, InstanceStatus::kWaiting) << transitions;
    now = instance.timers.front().deadline;
    step(*workflow, instance, Fired{.kind = TimerKind::kDelay, .deadline = now}, now, lookup);
  }
  EXPECT_EQ(instance.status, InstanceStatus::kWaiting);
}

/// A budget that no step has.
class NoBudget final : public WorkBudget {
 public:
  bool is_spent(size_t) const override { return true; }
};

TEST(StepBudget, LeavesEachStepOneTransition) {
  const NoBudget none;
  InstanceRun run(load_right_workflow(R"(
id: w
states: [{id: a, type: noop, transition: b}, {id: b, type: noop, transition: c}, {id: c, type: noop}]
)"),
                  Json::object(), {.budget = &none});
  for (const size_t state : {1U, 2U}) {
    run.proceed();
    EXPECT_EQ(run.instance().state, state);
    EXPECT_TRUE(run.last().unfinished);
  }
  run.proceed();
  EXPECT_EQ(run.instance().status, InstanceStatus::kComplete);
}

TEST(TransitionLimit, CountsTheStatesAfterAFailureFromTheBeginning) {
  constexpr uint32_t kMost = kFew.transitions_per_instance;
  for (const uint32_t count : {kMost, kMost + 1}) {
    SCOPED_TRACE(count);
    std::string text =
        "id: w\non_failure: {state: f1, when: any}\nstates:\n"
        "- {id: bad, type: error, error: bad.state, message: no}\n";
    for (uint32_t i = 1; i < count; ++i) {
      text += fmt::format("- {{id: f{}, type: noop, transition: f{}}}\n", i, i + 1);
    }
    text += fmt::format("- {{id: f{}, type: noop}}\n", count);
    InstanceRun run(load_right_workflow(text), Json::object(), kFew);
    run.proceed();
    while (run.last().unfinished) run.proceed();
    EXPECT_EQ(run.instance().status, InstanceStatus::kFailed);
    EXPECT_EQ(run.instance().state, count);
    EXPECT_EQ(
        print_trace(run.rows()).find("raises millrace.limits.transitions") != std::string::npos,
        count > kMost);
  }
}

}  // namespace
}  // namespace millrace
