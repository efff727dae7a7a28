// InstanceScenarios: the scenario of an instance, made from the store and the event stream, passes
// when it is played.
#include "orchestrator/service/instance_scenarios.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "broker/memory_stored_events.h"
#include "orchestrator/definition/loader.h"
#include "scenarios/play.h"
#include "scenarios/scenario_file.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

/// What fails when the scenarios of the text are played; empty: nothing.
std::string failures_of(const std::string& text) {
  Findings findings;
  const OpenWorkflow open = [](const Node& item) -> Result<ApplyWorkflow> {
    Loaded loaded = load_workflow(item, {}, nullptr);
    return ApplyWorkflow{
        .ns = "default", .text = dump_json(to_json(item)), .workflow = std::move(loaded.workflow)};
  };
  const ScenarioFile file = read_scenario_file(text, "none.yaml", open, findings);
  if (findings.has_errors()) return render_text(findings, "made");
  for (const ApplyWorkflow& one : file.workflows) {
    if (one.workflow == nullptr) return "a workflow has errors";
  }
  const Evaluator none = [](const Evaluation&, const auto&) { CHECK(false, "jq is not needed"); };
  std::string failed;
  for (const Scenario& scenario : file.scenarios) {
    const PlayOutcome outcome = play(scenario, file.workflows, none);
    for (const Mismatch& one : outcome.mismatches) {
      failed += fmt::format("{}: {}\n", one.path, one.message);
    }
    for (const std::string& line : outcome.story) failed += line + "\n";
  }
  return failed;
}

class InstanceScenariosTest : public testing::Test {
 protected:
  Result<NamedText> make(const std::string& id) {
    DefinitionCache definitions(load_stored);
    MemoryStoredEvents events(world.broker);
    InstanceScenarios scenarios(world.environment(), definitions, events);
    return scenarios.make("default", parse_instance_id(id).value());
  }
  /// The text of the scenario of an instance. Expects that the scenario passes.
  std::string passing(const std::string& id) {
    const Result<NamedText> made = make(id);
    EXPECT_TRUE(made) << made.error().code << ": " << made.error().message;
    if (!made) return "";
    EXPECT_EQ(failures_of(made->text), "") << made->text;
    return made->text;
  }
  std::string code_of(const std::string& id) {
    const Result<NamedText> made = make(id);
    return made ? made->text : made.error().code;
  }
  std::string first_instance() { return world.instances().at(0)["id"]; }
  void command(Command command) {
    world.must(std::move(command));
    world.run_until_idle();
  }
  static InstanceId id_of(const std::string& id) { return parse_instance_id(id).value(); }

  World world;
};

constexpr const char* kWaitsForPayment = R"(
id: order          # one order
states:
  - id: wait
    type: consumeEvent
    event: {type: paid, context: {customer: jq(.customer)}}
    timeout: PT1H
    transform: {amount: jq(.paid.amount)}
    transition: rest
    catch: [{error: direktiv.stateTimeout, transition: lost}]
  - {id: rest, type: delay, duration: PT10S, transition: ship}
  - id: ship
    type: generateEvent
    event: {type: shipped, source: /order}
  - {id: lost, type: noop}
)";

TEST_F(InstanceScenariosTest, PlayAnEventThatWokeTheInstance) {
  world.apply(kWaitsForPayment);
  const std::string id = world.start_order({{"customer", "c-1"}});
  world.run_for(seconds(3));
  world.publish("paid", "e-1", {{"amount", 5}}, {{"customer", "c-1"}});
  world.run_for(seconds(20));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("id: order          # one order\n"));
  EXPECT_THAT(text, HasSubstr("      - at: 3s\n        event:\n"));
  EXPECT_THAT(text, HasSubstr("      took: \"13s\"\n"));
  EXPECT_THAT(text, HasSubstr("      output:\n        amount: 5\n"));
  EXPECT_THAT(text, HasSubstr("published:\n        - data:\n            amount: 5\n"));
}

TEST_F(InstanceScenariosTest, PlayATimeoutWhoseMessageHasATime) {
  world.apply(kWaitsForPayment);
  const std::string id = world.start_order({{"customer", "c-1"}});
  world.run_for(hours(2));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("took: \"1h\""));
  EXPECT_THAT(text, HasSubstr("outputContains:\n        customer: c-1\n"));
  EXPECT_THAT(text, Not(HasSubstr("timed out at")));
}

TEST_F(InstanceScenariosTest, EndBeforeAnInstanceThatWaitsIsWoken) {
  world.apply(kWaitsForPayment);
  const std::string id = world.start_order({{"customer", "c-1"}});
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("    until: \"1ms\"\n"));
  EXPECT_THAT(text, HasSubstr("      status: waiting\n"));
}

TEST_F(InstanceScenariosTest, PlayTheEventsOfAStateThatWaitsForAllOrOneOfThem) {
  world.apply(R"(
id: order
states:
  - id: both
    type: eventAnd
    events: [{type: paid}, {type: packed, capture: event}]
    transition: either
  - id: either
    type: eventXor
    events:
      - {type: taken, transition: end, transform: 'jq({taken})'}
      - {type: lost}
  - {id: end, type: noop}
)");
  const std::string id = world.start_order();
  world.run_for(seconds(1));
  world.publish("packed", "e-1", {{"shelf", "B4"}});
  world.run_for(seconds(2));
  world.publish("other", "e-2");
  world.publish("paid", "e-3", 7);
  world.run_for(milliseconds(500));
  world.publish("taken", "e-4", "home");
  world.run_until_idle();
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("- at: 3s\n"));
  EXPECT_THAT(text, HasSubstr("- at: 3s500ms\n"));
  EXPECT_THAT(text, Not(HasSubstr("e-2")));
}

TEST_F(InstanceScenariosTest, PlayTheEventThatStartedTheInstance) {
  world.apply(R"(
id: order
start: {type: event, event: {type: placed, filters: {source: ^/test}}}
states:
  - {id: end, type: noop, transform: {n: jq(.placed.n)}}
)");
  world.publish("placed", "e-1", {{"n", 4}}, {{"region", "eu"}});
  world.run_until_idle();
  const std::string text = passing(first_instance());
  EXPECT_THAT(text, HasSubstr("region: eu\n"));
  EXPECT_THAT(text, Not(HasSubstr("    start:\n")));
}

TEST_F(InstanceScenariosTest, PlayTheEventsThatStartedTheInstanceTogether) {
  world.apply(R"(
id: order
start: {type: eventsAnd, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
  - {id: end, type: noop}
)");
  world.publish("packed", "e-1", "B4", {{"orderid", "o-1"}});
  world.run_for(seconds(5));
  world.publish("paid", "e-2", 9, {{"orderid", "o-1"}});
  world.run_until_idle();
  const std::string text = passing(first_instance());
  EXPECT_THAT(text, HasSubstr("source: \"/scenario\""));
  EXPECT_THAT(text, HasSubstr("# Of the events that started it,"));
}

/// A workflow that calls `charge`.
std::string charging_order(const std::string& action, const std::string& state = "") {
  return fmt::format(R"(
id: order
functions: [{{id: charge, type: service, service: charge}}]
states:
  - id: pay
    type: action
    action: {{function: charge{}}}
    transition: end
{}
  - {{id: end, type: noop}}
)",
                     action, state);
}

TEST_F(InstanceScenariosTest, PlayTheAnswerOfAFunctionThatATransformShows) {
  world.functions.act("charge", {{.takes = seconds(2), .result = Json{{"receipt", "r-1"}}}});
  world.apply(charging_order("", "    transform: 'jq({customer, receipt: .return.receipt})'"));
  const std::string id = world.start_order({{"customer", "ada"}});
  world.run_for(seconds(5));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("functions:\n      charge:\n        return:\n          receipt: r-1\n"
                              "        takes: \"2s\"\n"));
}

TEST_F(InstanceScenariosTest, AreNotMadeIfATransformHidesAnAnswer) {
  world.functions.act("charge", {{.result = Json(7)}});
  world.apply(charging_order("", "    transform: 'jq({more: (.return + 1)})'"));
  const std::string id = world.start_order();
  world.run_until_idle();
  ASSERT_EQ(world.status(id), "complete");
  EXPECT_EQ(code_of(id), "scenario.not_recorded");
}

constexpr const char* kRetriesTwice = ", retries: {max_attempts: 2, delay: PT10S, codes: ['*']}";

TEST_F(InstanceScenariosTest, PlayAttemptsThatFailed) {
  world.functions.act("charge",
                      {{.takes = seconds(1), .result = tl::unexpected(Error{"card.busy", "later"})},
                       {.result = Json("done")}});
  world.apply(charging_order(kRetriesTwice));
  const std::string id = world.start_order();
  world.run_for(seconds(60));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("attempts:\n        - \"0s\"\n        - \"11s\"\n"));
  EXPECT_THAT(text, HasSubstr("msg: later\n"));
}

TEST_F(InstanceScenariosTest, PlayACallThatFails) {
  world.functions.act("charge", {{.result = tl::unexpected(Error{"card.declined", "no funds"})}});
  world.apply(charging_order(""));
  const std::string id = world.start_order();
  world.run_until_idle();
  ASSERT_EQ(world.status(id), "failed");
  EXPECT_THAT(passing(id), HasSubstr("code: card.declined\n        msg: \"no funds\"\n"));
}

TEST_F(InstanceScenariosTest, PlayTheResultsOfSeveralCalls) {
  world.functions.act("charge", {{.takes = seconds(3), .result = Json(1)},
                                 {.takes = seconds(1), .result = Json(2)}});
  world.apply(R"(
id: order
functions: [{id: charge, type: service, service: charge}]
states:
  - id: each
    type: foreach
    array: jq(.items)
    action: {function: charge}
    transform: {all: jq(.return)}
)");
  const std::string id = world.start_order({{"items", {"tea", "milk"}}});
  world.run_for(seconds(9));
  ASSERT_EQ(world.status(id), "complete");
  EXPECT_THAT(passing(id), HasSubstr("took: \"3s\"\n"));
}

TEST_F(InstanceScenariosTest, ReplaceSubflowsByWhatTheyAnswered) {
  world.apply(R"(
id: price
states:
  - {id: think, type: delay, duration: PT2S, transform: 'jq({price: 3})'}
)");
  world.apply(R"(
id: order
functions: [{id: price-of, type: subflow, workflow: price}]
states:
  - id: ask
    type: action
    action: {function: price-of}
    transform: 'jq({total: (.return.price + 1)})'
)");
  const std::string id = world.start_order();
  world.run_for(seconds(9));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("    id: price\n"));
  EXPECT_THAT(text, HasSubstr("return:\n          price: 3\n"));
  EXPECT_THAT(text, HasSubstr("took: \"2s\"\n"));
}

TEST_F(InstanceScenariosTest, PlayTheCommandsOfAnOperator) {
  world.apply(kWaitsForPayment);
  const std::string id = world.start_order({{"customer", "c-1"}});
  world.run_for(seconds(2));
  command(PauseInstance{"default", id_of(id)});
  EXPECT_THAT(passing(id), HasSubstr("status: paused"));
  world.run_for(seconds(2));
  command(ResumeInstance{"default", id_of(id)});
  world.run_for(seconds(1));
  command(CancelInstance{"default", id_of(id)});
  ASSERT_EQ(world.status(id), "cancelled");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("- at: 2s\n        pause: true\n"));
  EXPECT_THAT(text, HasSubstr("- at: 4s\n        resume: true\n"));
  EXPECT_THAT(text, HasSubstr("- at: 5s\n        cancel: true\n"));
  EXPECT_THAT(text, HasSubstr("code: direktiv.cancels.api\n"));
}

TEST_F(InstanceScenariosTest, PlayARunThatAnOperatorStarted) {
  world.functions.act("charge", {{.result = tl::unexpected(Error{"card.busy", "later"})},
                                 {.result = tl::unexpected(Error{"card.busy", "later"})},
                                 {.takes = seconds(1), .result = Json("done")}});
  world.apply(charging_order(""));
  const std::string id = world.start_order();
  world.run_for(seconds(4));
  command(RetryInstance{"default", id_of(id)});
  world.run_for(seconds(4));
  command(RerunInstance{"default", id_of(id), "pay"});
  world.run_for(seconds(4));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("- at: 4s\n        retry: true\n"));
  EXPECT_THAT(text, HasSubstr("- at: 8s\n        rerun: pay\n"));
}

TEST_F(InstanceScenariosTest, EndTasksThatACancellationStopped) {
  world.functions.act("charge", {{.takes = hours(1)}});
  world.apply(charging_order(""));
  const std::string id = world.start_order();
  world.run_for(seconds(4));
  command(CancelInstance{"default", id_of(id), true});
  ASSERT_EQ(world.status(id), "cancelled");
  EXPECT_THAT(passing(id), HasSubstr("takes: \"4s1ms\"\n"));
}

TEST_F(InstanceScenariosTest, PlayTheErrorOfAnErrorState) {
  world.apply(R"(
id: order
states:
  - {id: lost, type: error, error: order.lost, message: 'it was not paid by %s', args: ['jq(.who)']}
)");
  const std::string id = world.start_order({{"who", "ada"}});
  ASSERT_EQ(world.status(id), "failed");
  EXPECT_THAT(passing(id), HasSubstr("msg: \"it was not paid by ada\"\n"));
}

TEST_F(InstanceScenariosTest, LeaveOutEventsThatTheInstancePublishesItself) {
  world.apply(R"(
id: order
states:
  - {id: ask, type: generateEvent, delay: PT5S, event: {type: asked, source: /order, data: 1}, transition: wait}
  - {id: wait, type: consumeEvent, event: {type: asked}}
)");
  const std::string id = world.start_order();
  world.run_for(seconds(9));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, Not(HasSubstr("given:")));
  EXPECT_THAT(text, HasSubstr("took: \"5s\"\n"));
}

TEST_F(InstanceScenariosTest, FindEventsThatCameWhileTheInstanceWaitedForACall) {
  world.functions.act("charge", {{.takes = hours(1)}});
  world.apply(R"(
id: order
functions: [{id: charge, type: service, service: charge}]
states:
  - {id: pay, type: action, action: {function: charge}, transition: both}
  - {id: both, type: eventAnd, events: [{type: paid}, {type: packed}]}
)");
  const std::string id = world.start_order();
  world.run_for(seconds(1));
  world.publish("paid", "e-1", 7);
  world.run_for(seconds(1));
  world.publish("packed", "e-2", "B4");
  world.run_for(hours(2));
  ASSERT_EQ(world.status(id), "complete");
  const std::string text = passing(id);
  EXPECT_THAT(text, HasSubstr("- at: 1h\n"));
  EXPECT_THAT(text, HasSubstr("took: \"1h\"\n"));
}

TEST_F(InstanceScenariosTest, PlayEarlyEvents) {
  world.apply(R"(
id: order
states:
  - {id: wait, type: consumeEvent, event: {type: paid, lookback: PT5M}}
)");
  world.publish("paid", "e-1", 7);
  world.run_for(seconds(60));
  const std::string id = world.start_order();
  world.run_for(seconds(1));
  ASSERT_EQ(world.status(id), "complete");
  EXPECT_THAT(passing(id), HasSubstr("      - at: 0s\n        event:\n"));
}

TEST_F(InstanceScenariosTest, SetTheVariablesThatTheInstanceReads) {
  world.must(PutVariable{.place = {.ns = "default"},
                         .key = "rate",
                         .value = {.content_type = "application/json", .bytes = R"({"eur":2})"}});
  world.apply(R"(
id: order
states:
  - {id: keep, type: setter, variables: [{key: seen, scope: workflow, value: 1}], transition: read}
  - id: read
    type: getter
    variables: [{key: rate, scope: namespace}, {key: seen, scope: workflow}, {key: own}]
    transform: {rate: jq(.var.rate), seen: jq(.var.seen)}
)");
  const std::string id = world.start_order();
  world.run_until_idle();
  ASSERT_EQ(world.status(id), "complete");
  EXPECT_THAT(passing(id), HasSubstr("variables:\n      rate:\n        eur: 2\n"));
}

TEST_F(InstanceScenariosTest, StartAScheduledInstanceByACall) {
  world.apply(R"(
id: order
start: {type: scheduled, cron: "30 2 * * *"}
states:
  - {id: rest, type: delay, duration: PT1S}
)");
  world.run_for(hours(24));
  ASSERT_EQ(world.instances().size(), 1U);
  const std::string text = passing(first_instance());
  EXPECT_THAT(text, HasSubstr("    start:\n      input: {}\n"));
  EXPECT_THAT(text, HasSubstr("until: \"1s1ms\"\n"));
}

TEST_F(InstanceScenariosTest, PlayAStartThatDebounceHasPutOff) {
  world.apply(R"(
id: order
debounce: {period: PT10S}
start: {type: event, event: {type: placed}}
states: [{id: wait, type: consumeEvent, event: {type: paid}}]
)");
  world.publish("placed", "e-1", 1);
  world.run_for(seconds(12));
  world.publish("paid", "e-2", 2);
  world.run_until_idle();
  const std::string text = passing(first_instance());
  EXPECT_THAT(text, HasSubstr("- at: 12s\n"));
  EXPECT_THAT(text, HasSubstr("took: \"2s\"\n"));
}

TEST_F(InstanceScenariosTest, PlayStartsThatWaitedOrTookTheSlotOfAnotherOne) {
  const std::string states = "}\nstates: [{id: rest, type: delay, duration: PT10S}]\n";
  world.apply("id: order\nconcurrency: {limit: 1" + states);
  world.start_order();
  const std::string second = world.start_order();
  world.run_for(seconds(30));
  EXPECT_THAT(passing(second), HasSubstr("took: \"10s\"\n"));
  world.apply("id: order\nconcurrency: {limit: 1, onLimit: replace" + states);
  const std::string replaced = world.start_order();
  world.run_for(seconds(3));
  world.start_order();
  ASSERT_EQ(world.status(replaced), "cancelled");
  const std::string text = passing(replaced);
  EXPECT_THAT(text, HasSubstr("# Another start that took its place cancelled it;"));
  EXPECT_THAT(text, HasSubstr("- at: 3s\n        cancel: true\n"));
}

TEST_F(InstanceScenariosTest, AreNotMadeOfWhatIsNotThere) {
  EXPECT_EQ(code_of("0190b5a4-7c1e-7f2a-8000-000000000000"), "instance.not_found");
  DefinitionCache definitions(load_stored);
  MemoryStoredEvents events(world.broker);
  InstanceScenarios scenarios(world.environment(), definitions, events);
  const auto made = scenarios.make("none", InstanceId());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "namespace.not_found");
}

TEST_F(InstanceScenariosTest, AreNotMadeOfSealedInstances) {
  world.apply("id: order\nsealed: true\nstates: [{id: end, type: noop}]\n");
  EXPECT_EQ(code_of(world.start_order()), "scenario.sealed");
}

TEST_F(InstanceScenariosTest, AreNotMadeWithoutTheEventsOfTheInstance) {
  world.apply(kWaitsForPayment);
  const std::string id = world.start_order({{"customer", "c-1"}});
  world.publish("paid", "e-1", {{"amount", 5}}, {{"customer", "c-1"}});
  world.run_for(seconds(20));
  ASSERT_EQ(world.status(id), "complete");
  world.broker.drop_oldest(1);
  EXPECT_EQ(code_of(id), "scenario.lost");
}

}  // namespace
}  // namespace millrace
