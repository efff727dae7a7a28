// Engine: an instance is parked while it waits for a jq worker. A step that needs a jq worker stops
// with an Evaluate effect. When the results arrive, the step is executed again from the beginning
// of its state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Duration in_seconds(int64_t count) { return std::chrono::seconds(count); }

std::vector<std::string> programs(const Evaluate& evaluate) {
  std::vector<std::string> texts;
  for (const Query& query : evaluate.evaluation.queries) texts.push_back(query.program);
  return texts;
}

/// A state with a timeout whose log and whose event filter each need a jq worker.
std::shared_ptr<const Workflow> two_parks() {
  return load_right_workflow(R"(
id: two-parks
states:
- id: wait
  type: consumeEvent
  log: jq(first(.n + 1))
  timeout: 10s
  event: {type: t, context: {subject: jq(.s | ascii_downcase)}}
  catch: [{error: direktiv.stateTimeout, transition: late}]
- {id: late, type: noop}
)");
}

InstanceRun parked_run() {
  InstanceRun run(two_parks(), {{"n", 1}, {"s", "X"}});
  run.proceed();
  return run;
}

TEST(Engine, RequestsAnEvaluationWithTheStepTheDataAndTheTimeOfAnInstance) {
  InstanceRun run(load_right_workflow(R"(
id: order
states:
- {id: first, type: noop, transition: sum}
- {id: sum, type: noop, transform: {a: jq(first(.n + 1)), b: jq(.n), c: "n is jq(.n | tostring)!"}}
)"),
                  {{"n", 1}});
  run.set_time(run_start() + in_seconds(3));
  run.proceed();
  ASSERT_TRUE(run.asked().has_value());
  const Evaluate& asked = *run.asked();
  EXPECT_EQ(asked.ns, run.instance().ns);
  EXPECT_EQ(asked.instance, run.instance().id);
  EXPECT_EQ(asked.step, run.instance().step);
  EXPECT_THAT(asked.before, IsEmpty());
  EXPECT_EQ(asked.evaluation.now, run_start() + in_seconds(3));
  EXPECT_EQ(asked.evaluation.lane, 1u) << "the lane is the number of the workflow";
  EXPECT_FALSE(asked.evaluation.stop_at_true);
  EXPECT_THAT(programs(asked), ElementsAre("first(.n + 1)", ".n | tostring"));
  for (const Query& query : asked.evaluation.queries) {
    EXPECT_EQ(*query.input, R"({"n":1})");
    EXPECT_EQ(query.mode, Query::Mode::kOne);
  }
  EXPECT_TRUE(run.instance().parked);
  EXPECT_EQ(run.instance().status, InstanceStatus::kRunning);

  run.evaluated({Json(2), Json("1")});
  EXPECT_EQ(run.instance().data.text(), R"({"a":2,"b":1,"c":"n is 1!"})");
  EXPECT_FALSE(run.instance().parked);
}

TEST(Engine, RecordsAndChangesNothingWhileAnInstanceWaitsForAJqWorker) {
  InstanceRun run = parked_run();
  EXPECT_THAT(run.history(), IsEmpty());
  EXPECT_THAT(run.instance().listeners, IsEmpty());
  EXPECT_EQ(run.instance().data.text(), R"({"n":1,"s":"X"})");
  run.evaluated({Json(2)});
  EXPECT_THAT(run.history(), IsEmpty());
  run.evaluated({Json("x")});
  EXPECT_THAT(print_history(run.history()),
              ElementsAre(R"(0s entered wait / {"n":1,"s":"X"})", R"(0s log wait {"value":2})"));
}

TEST(Engine, PassesEarlierResultsToTheNextEvaluationOfAStep) {
  InstanceRun run = parked_run();
  EXPECT_THAT(programs(*run.asked()), ElementsAre("first(.n + 1)"));
  const uint64_t step = run.asked()->step;
  run.evaluated({Json(2)});
  EXPECT_THAT(programs(*run.asked()), ElementsAre(".s | ascii_downcase"));
  EXPECT_EQ(run.asked()->step, step) << "the instance is still entering the state";
  ASSERT_EQ(run.asked()->before.size(), 1u);
  EXPECT_EQ(run.asked()->before[0][0], QueryResult(Json(2)));
  run.evaluated({Json("x")});
  EXPECT_EQ(run.rows().back().status, "waiting");
  EXPECT_GT(run.instance().step, step);
}

TEST(Engine, TakesAnEvaluationResultForTheCurrentStepOnly) {
  InstanceRun run = parked_run();
  const std::vector<EvaluationResult> results{{Json(2)}};
  const uint64_t step = run.asked()->step;
  run.give("of the previous step", EvaluationDone{.step = step - 1, .results = results});
  EXPECT_FALSE(run.last().changed);
  run.give("of a later step", EvaluationDone{.step = step + 1, .results = results});
  EXPECT_FALSE(run.last().changed);
  EXPECT_TRUE(run.instance().parked);
  run.give("of this step", EvaluationDone{.step = step, .results = results});
  EXPECT_TRUE(run.last().changed);
}

TEST(Engine, IgnoresAnEvaluationResultForAnInstanceThatRequestedNone) {
  InstanceRun run = parked_run();
  run.evaluated({Json(2)});
  run.evaluated({Json("x")});
  ASSERT_EQ(run.rows().back().status, "waiting");
  run.give("again", EvaluationDone{.step = run.asked()->step, .results = {}});
  EXPECT_FALSE(run.last().changed);
  run.give("for the step that waits", EvaluationDone{.step = run.instance().step, .results = {}});
  EXPECT_FALSE(run.last().changed);
}

// A result may arrive twice if the engine has requested the evaluation twice.
TEST(Engine, TakesARepeatedEvaluationResultOnce) {
  InstanceRun run = parked_run();
  const std::vector<EvaluationResult> first{{Json(2)}};
  const uint64_t step = run.asked()->step;
  run.give("first", EvaluationDone{.step = step, .results = first});
  run.give("first again", EvaluationDone{.step = step, .results = first});
  EXPECT_THAT(run.rows().back().does, ElementsAre("evaluates .s | ascii_downcase"));
  run.evaluated({Json("x")});
  EXPECT_EQ(run.rows().back().status, "waiting");
  EXPECT_EQ(run.history().size(), 2u) << "one record for the entry and one for the log";
  run.evaluated({Json("x")});
  EXPECT_FALSE(run.last().changed);
}

TEST(Engine, RequestsTheEvaluationAgainAfterARestartOfMillrace) {
  InstanceRun run = parked_run();
  run.evaluated({Json(2)});
  const uint64_t step = run.instance().step;
  run.set_time(run_start() + in_seconds(5));
  run.proceed("restart");
  // Earlier results are not stored, so the evaluation starts from the beginning.
  EXPECT_THAT(programs(*run.asked()), ElementsAre("first(.n + 1)"));
  EXPECT_THAT(run.asked()->before, IsEmpty());
  EXPECT_EQ(run.asked()->step, step);
  EXPECT_EQ(run.asked()->evaluation.now, run_start() + in_seconds(5));
  run.evaluated({Json(2)});
  run.evaluated({Json("x")});
  EXPECT_EQ(run.rows().back().status, "waiting");
  EXPECT_THAT(run.instance().timers,
              ElementsAre(Timer{TimerKind::kStateTimeout, run_start() + in_seconds(10)}))
      << "the timeout counts from the transition to the state, not from the restart";
}

TEST(Engine, CancelsAnInstanceThatWaitsForAJqWorker) {
  InstanceRun run = parked_run();
  run.cancel({"direktiv.cancels.api", "stopped"});
  EXPECT_EQ(run.rows().back().status, "cancelled");
  EXPECT_FALSE(run.instance().parked);
  run.evaluated({Json(2)});
  EXPECT_THAT(run.rows().back().does, ElementsAre("ignored"));
}

TEST(Engine, FiresTheTimeoutOfAStateThatWaitsForAJqWorker) {
  InstanceRun run = parked_run();
  run.at(in_seconds(10));
  EXPECT_EQ(run.rows().back().state, "wait > late")
      << "the state counts as entered while it waits for the jq worker";
  EXPECT_EQ(run.rows().back().status, "complete");
  run.evaluated({Json(2)});
  EXPECT_THAT(run.rows().back().does, ElementsAre("ignored"));
}

TEST(Engine, TakesNoEventWhileAnInstanceWaitsForAJqWorker) {
  InstanceRun run = parked_run();
  const Event event{.id = "e", .source = "s", .type = "t"};
  run.give("matched", Matched{.event = &event, .entries = {0}, .position = {.kept = 1}});
  EXPECT_FALSE(run.last().changed);
}

TEST(Engine, RequestsTheEvaluationOfATransformWhenAnInstanceLeavesAState) {
  InstanceRun run(load_right_workflow(R"(
id: out
states:
- {id: send, type: generateEvent, event: {type: t, source: s}, transform: first(.n + 1), transition: last}
- {id: last, type: noop}
)"),
                  {{"n", 1}});
  run.proceed();
  EXPECT_THAT(run.rows().back().does,
              ElementsAre(R"(publishes t id=*-0-0 source=s datacontenttype=application/json )"
                          R"(data={"n":1})",
                          "evaluates first(.n + 1)"));
  run.proceed("restart");
  EXPECT_THAT(run.rows().back().does, ElementsAre("evaluates first(.n + 1)"))
      << "the state has already published its event";
  run.evaluated({Json(2)});
  EXPECT_EQ(run.rows().back().state, "last");
  EXPECT_EQ(run.instance().data.text(), "2");
}

TEST(Engine, DropsTheEvaluationResultsOfAStateBeforeAnInstanceEntersTheNextState) {
  InstanceRun run(load_right_workflow(R"(
id: chain
states:
- {id: a, type: noop, transform: "{n: first(.n + 1)}", transition: b}
- {id: b, type: noop, transform: "{n: first(.n + 1)}"}
)"),
                  {{"n", 1}});
  run.proceed();
  const uint64_t step = run.asked()->step;
  run.evaluated({Json{{"n", 2}}});
  EXPECT_EQ(run.rows().back().state, "b");
  EXPECT_THAT(run.asked()->before, IsEmpty());
  EXPECT_GT(run.asked()->step, step);
  EXPECT_EQ(*run.asked()->evaluation.queries[0].input, R"({"n":2})");
  run.evaluated({Json{{"n", 3}}});
  EXPECT_EQ(run.instance().data.text(), R"({"n":3})");
}

TEST(Engine, ContinuesASwitchAfterTheConditionsThatAJqWorkerEvaluated) {
  InstanceRun run(load_right_workflow(R"(
id: conditions
states:
- id: choose
  type: switch
  log: jq(first(.n + 1))
  conditions:
  - {condition: first(.n + 1) == 9, transition: never}
  - {condition: .n == 9, transition: never}
  - {condition: first(.n + 2) == 9, transition: never}
  - {condition: {}, transition: never}
  - {condition: first(.n + 3) == 4, transition: right}
  - {condition: first(.n + 4) == 5, transition: never}
- {id: never, type: noop}
- {id: right, type: noop}
)"),
                  {{"n", 1}});
  run.proceed();
  run.evaluated({Json(2)});
  EXPECT_THAT(programs(*run.asked()),
              ElementsAre("first(.n + 1) == 9", ".n == 9", "first(.n + 2) == 9"));
  EXPECT_TRUE(run.asked()->evaluation.stop_at_true);
  EXPECT_EQ(run.asked()->evaluation.queries[0].mode, Query::Mode::kCondition);
  EXPECT_EQ(run.asked()->before.size(), 1u);
  run.evaluated({Json(false), Json(false), Json(false)});
  EXPECT_THAT(programs(*run.asked()), ElementsAre("first(.n + 3) == 4", "first(.n + 4) == 5"));
  EXPECT_EQ(run.asked()->before.size(), 2u);
  run.evaluated({Json(true)});
  EXPECT_EQ(run.rows().back().state, "choose > right");
}

TEST(Engine, RaisesTheErrorOfTheFailedProgramThatComesFirstInTheState) {
  const auto workflow = load_right_workflow(R"(
id: errors
states:
- id: all
  type: noop
  transform: [jq(first(.n + 1)), jq(.n.x), jq(first(.n + 2))]
)");
  struct Row {
    EvaluationResult results;
    const char* code;
  };
  const auto failed = [](const char* code) { return fail(code, "why"); };
  const Row rows[] = {
      // the first program fails in a jq worker, so its error is raised
      {{failed("millrace.timeout.task")}, "millrace.timeout.task"},
      {{failed("millrace.jq.memory"), Json(1)}, "millrace.jq.memory"},
      // the first program has a result, so the error of the second, in the fast lane, is raised
      {{Json(1), failed("millrace.jq.memory")}, "direktiv.jq.badCommand"},
      {{Json(1), Json(2)}, "direktiv.jq.badCommand"},
  };
  for (const Row& row : rows) {
    InstanceRun run(workflow, {{"n", 1}});
    run.proceed();
    run.evaluated(row.results);
    EXPECT_EQ(run.rows().back().status, "failed");
    EXPECT_EQ(run.instance().error->code, row.code);
  }
}

}  // namespace
}  // namespace millrace
