// The engine and `$instance`: its members, each place of a definition that may name it, the jq
// workers, and the time that `now` gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/instance_members.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kId = "00000000-0000-7000-8000-000000000001";

std::shared_ptr<const Workflow> workflow_of(const std::string& states, const std::string& more) {
  return load_right_workflow("id: order\n" + more +
                             "functions: [{id: f, type: subflow, workflow: other}]\nstates:\n" +
                             states);
}

/// What the first step of an instance does.
std::string trace_of(const std::string& states, const std::string& more = "") {
  InstanceRun run(workflow_of(states, more), {{"n", 1}});
  run.proceed();
  return print_trace(run.rows());
}

TEST(InstanceValue, HasTheFactsAboutTheInstanceAndItsState) {
  InstanceRun run(
      workflow_of("- {id: first, type: noop, transition: second}\n"
                  "- {id: second, type: noop, transform: $instance}\n",
                  ""));
  run.proceed();
  EXPECT_EQ(run.instance().data, Json::parse(R"({
    "id": "00000000-0000-7000-8000-000000000001", "namespace": "default", "workflow": "order",
    "revision": 1, "run": 1, "state": "second", "attempt": 1,
    "startedAt": "2024-01-01T00:00:00.000Z", "key": null, "parent": null, "event": null})"));
}

TEST(InstanceValue, HasTheMembersThatLintAndExplainName) {
  InstanceRun run(workflow_of("- {id: first, type: noop, transform: $instance}\n", ""));
  run.proceed();
  const Json value = run.instance().data.value();
  EXPECT_EQ(value.size(), kInstanceMembers.size());
  for (const InstanceMember& member : kInstanceMembers) {
    EXPECT_TRUE(value.contains(std::string(member.name))) << member.name;
  }
}

TEST(InstanceValue, IsKnownInEachPlaceThatHasJq) {
  const std::string is_id = std::string("\"") + kId + "\"";
  struct Row {
    const char* place;
    const char* states;
    std::string does;
    const char* more = "";
  };
  for (const auto& [place, states, does, more] : std::initializer_list<Row>{
           {"transform", "- {id: a, type: noop, transform: {id: jq($instance.id)}}\n",
            "data {\"id\":" + is_id + "}"},
           {"transform as a query", "- {id: a, type: noop, transform: '{s: $instance.state}'}\n",
            "data {\"s\":\"a\"}"},
           {"log", "- {id: a, type: noop, log: jq($instance.id)}\n", "logs " + is_id},
           {"a longer text", "- {id: a, type: noop, log: of jq($instance.workflow)!}\n",
            "logs \"of order!\""},
           {"condition",
            "- id: a\n  type: switch\n  conditions:\n"
            "  - {condition: '$instance.attempt == 2', transform: {is: 2}}\n"
            "  - {condition: '$instance.attempt == 1', transform: {is: 1}}\n",
            "data {\"is\":1}"},
           {"transform of a condition",
            "- id: a\n  type: switch\n  conditions:\n"
            "  - {condition: .n, transform: '{s: $instance.state}'}\n",
            "data {\"s\":\"a\"}"},
           {"defaultTransform",
            "- id: a\n  type: switch\n  conditions: [{condition: .no}]\n"
            "  defaultTransform: {s: jq($instance.state)}\n",
            "data {\"s\":\"a\"}"},
           {"context of consumeEvent",
            "- id: a\n  type: consumeEvent\n"
            "  event: {type: t, context: {correlationid: jq($instance.id)}}\n",
            "listens [0] t where correlationid = " + is_id},
           {"text in a context",
            "- id: a\n  type: consumeEvent\n"
            "  event: {type: t, context: {subject: reply-jq($instance.id)}}\n",
            "listens [0] t where subject ~ /reply-(?:00000000"},
           {"context of eventAnd",
            "- id: a\n  type: eventAnd\n  events:\n"
            "  - {event: {type: t, context: {correlationid: jq($instance.id)}}}\n"
            "  - {event: {type: u}}\n",
            "listens [0] t where correlationid = " + is_id},
           {"context of eventXor",
            "- id: a\n  type: eventXor\n  events:\n"
            "  - {event: {type: u}}\n"
            "  - {event: {type: t, context: {correlationid: jq($instance.id)}}}\n",
            "listens [1] t where correlationid = " + is_id},
           {"data of generateEvent",
            "- {id: a, type: generateEvent, event: {type: t, source: s, data: jq($instance.id)}}\n",
            kId},
           {"context of generateEvent",
            "- id: a\n  type: generateEvent\n"
            "  event: {type: t, source: s, context: {correlationid: jq($instance.id)}}\n",
            kId},
           {"source of generateEvent",
            "- {id: a, type: generateEvent, event: {type: t, source: s/jq($instance.state)}}\n",
            "s/a"},
           {"input of an action",
            "- {id: a, type: action, action: {function: f, input: {of: jq($instance.id)}}}\n",
            "starts [0] other {\"of\":" + is_id + "}"},
           {"input of parallel actions",
            "- id: a\n  type: parallel\n  actions:\n"
            "  - {function: f}\n  - {function: f, input: {of: jq($instance.id)}}\n",
            "starts [1] other {\"of\":" + is_id + "}"},
           {"input of foreach",
            "- id: a\n  type: foreach\n  array: '[7]'\n"
            "  action: {function: f, input: {of: jq($instance.id), n: jq(.)}}\n",
            "starts [0] other {\"n\":7,\"of\":" + is_id + "}"},
           {"array of foreach",
            "- id: a\n  type: foreach\n  array: '[$instance.id]'\n"
            "  action: {function: f, input: {of: jq(.)}}\n",
            "starts [0] other {\"of\":" + is_id + "}"},
           {"value of a setter",
            "- {id: a, type: setter, variables: [{key: k, value: jq($instance.id)}]}\n", kId},
           {"args of an error",
            "- {id: a, type: error, error: e.x, message: in %s, args: [jq($instance.state)]}\n",
            "fixes e.x: in a"},
           {"subject of validate",
            "- {id: a, type: validate, subject: $instance, schema: {type: object}}\n",
            "evaluates whether {\"attempt\":1,\"event\":null,\"id\":" + is_id},
           {"a state after catch",
            "- id: a\n  type: noop\n  transform: $instance.id - 1\n"
            "  catch: [{error: '*', transition: b}]\n"
            "- {id: b, type: noop, transform: '{s: $instance.state, e: .error.code}'}\n",
            "data {\"e\":\"direktiv.jq.badCommand\",\"s\":\"b\"}"},
           {"a state of on_failure",
            "- {id: a, type: noop, transform: .n.x}\n"
            "- {id: b, type: noop, transform: '{s: $instance.state}'}\n",
            "data {\"s\":\"b\"}", "timeout: PT1H\non_failure: {state: b, when: any}\n"}}) {
    EXPECT_THAT(trace_of(states, more), HasSubstr(does)) << place;
  }
}

TEST(InstanceValue, CountsTheAttemptsOfTheState) {
  InstanceRun run(workflow_of(R"(- id: a
  type: noop
  log: jq($instance.attempt)
  transform: .n.x
  retries: {max_attempts: 2, delay: PT5S, codes: [badCommand]}
  catch: [{error: direktiv.retries.exceeded, transition: b}]
- {id: b, type: noop, log: jq($instance.attempt)}
)",
                              ""),
                  {{"n", 1}});
  run.proceed();
  EXPECT_THAT(print_trace(run.rows()), HasSubstr("logs 1;"));
  run.at(std::chrono::seconds(5));
  EXPECT_THAT(print_trace({run.rows().back()}), HasSubstr("logs 2;"));
  run.at(std::chrono::seconds(10));
  EXPECT_THAT(print_trace({run.rows().back()}), HasSubstr("logs 3;"));
  EXPECT_THAT(print_trace({run.rows().back()}), HasSubstr("logs 1"))
      << "the next state is at its first attempt";
}

TEST(InstanceValue, GoesToAJqWorkerOnlyIfAProgramThereNamesIt) {
  for (const bool names_it : {true, false}) {
    const std::string program = names_it ? "$instance.id | ascii_upcase" : ".id | ascii_upcase";
    InstanceRun run(workflow_of("- {id: a, type: noop, transform: '" + program + "'}\n", ""));
    run.proceed();
    ASSERT_TRUE(run.asked().has_value());
    const auto& instance = run.asked()->evaluation.instance;
    EXPECT_EQ(run.workflow().names_instance, names_it);
    ASSERT_EQ(instance != nullptr, names_it);
    if (!names_it) continue;
    const Json value = Json::parse(*instance);
    EXPECT_EQ(value["id"], kId);
    EXPECT_EQ(value["state"], "a");
    run.evaluated({Json("X")});
    EXPECT_EQ(run.instance().data, Json("X"));
  }
}

TEST(InstanceValue, GoesToAJqWorkerForTheConditionsOfASwitch) {
  InstanceRun run(workflow_of("- id: a\n  type: switch\n  conditions:\n"
                              "  - {condition: '.n == 2'}\n"
                              "  - {condition: '$instance.id | startswith(\"0\")'}\n",
                              ""),
                  {{"n", 1}});
  run.proceed();
  ASSERT_TRUE(run.asked().has_value());
  ASSERT_NE(run.asked()->evaluation.instance, nullptr);
  EXPECT_EQ(Json::parse(*run.asked()->evaluation.instance)["id"], kId);
}

TEST(InstanceValue, IsNotMadeForOtherDefinitions) {
  const auto names = [](const char* states) { return workflow_of(states, "")->names_instance; };
  EXPECT_FALSE(names("- {id: a, type: noop, log: $instance}\n")) << "a literal text";
  EXPECT_FALSE(names("- {id: a, type: noop, transform: . as $instance | $instance}\n"));
  EXPECT_FALSE(names("- {id: a, type: noop, transform: .instance}\n"));
  EXPECT_TRUE(names("- {id: a, type: noop, log: {deep: [jq($instance.id)]}}\n"));
}

TEST(InstanceValue, LeavesTheTimeOfAStepAsItWasWhenTheStepAskedAJqWorker) {
  InstanceRun run(
      workflow_of("- {id: a, type: noop, transform: {fast: jq(now), slow: jq(first(now))},"
                  " transition: b}\n"
                  "- {id: b, type: noop, transform: '. + {next: now}'}\n",
                  ""));
  run.proceed();
  ASSERT_TRUE(run.asked().has_value());
  run.set_time(run_start() + std::chrono::seconds(3));
  run.evaluated({Json(7)});
  EXPECT_EQ(run.instance().data.text(), R"({"fast":1704067200,"next":1704067203,"slow":7})");
}

TEST(InstanceValue, LeavesTheTimeAsItWasForTheNextEvaluationOfAState) {
  InstanceRun run(
      workflow_of("- {id: a, type: noop, log: jq(first(now)),"
                  " transform: 'first(now)'}\n",
                  ""));
  run.proceed();
  const TimePoint first = run.asked()->evaluation.now;
  run.set_time(run_start() + std::chrono::seconds(3));
  run.evaluated({Json(1)});
  EXPECT_EQ(first, run_start());
  EXPECT_THAT(run.asked()->before, IsEmpty()) << "the transform is a step of its own";
  EXPECT_EQ(run.asked()->evaluation.now, run_start() + std::chrono::seconds(3));
}

}  // namespace
}  // namespace millrace
