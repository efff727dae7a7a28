#include "language/graph.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string graph(std::string_view text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  return document ? mermaid_graph(*document) : render_text(findings, "f");
}

TEST(Graph, HasStatesTransitionsAndTheirLabels) {
  EXPECT_EQ(graph(R"(
id: order
start:
  type: eventsAnd
  state: pay
  events: [{type: order.placed}, {event: {type: order.confirmed}}]
states:
- id: decide
  type: switch
  conditions:
  - condition: jq(.amount > 100)
    transition: pay
  - condition: .amount == "<none>"
  defaultTransition: pay
- id: pay
  type: eventXor
  timeout: PT1H
  events:
  - {type: paid, transition: decide}
  - event: {type: refused}
  catch:
  - {error: direktiv.stateTimeout, transition: sleep}
  - error: "*"
- id: sleep
  type: delay
  duration: P1D
  transition: pay
)"),
            R"x(flowchart TD
  start_((start))
  start_ -->|"order.placed and order.confirmed"| s1
  s0["decide<br/><i>switch</i>"]
  s0 -->|"jq(.amount #62; 100)"| s1
  s0 -->|".amount == #34;#60;none#62;#34;"| end_
  s0 -->|"otherwise"| s1
  s1["pay<br/><i>eventXor</i>"]
  s1 -->|"paid"| s0
  s1 -->|"refused"| end_
  s1 -.->|"direktiv.stateTimeout"| s2
  s1 -.->|"*"| end_
  s2["sleep<br/><i>delay</i>"]
  s2 --> s1
  end_(((end)))
)x");
}

TEST(Graph, LeadsToTheStartOfTheNextRun) {
  const std::string text = R"(
id: rounds
start: {type: default, state: wait}
states:
- {id: other, type: noop}
- id: wait
  type: eventXor
  events:
  - {type: next, continueAsNew: {}}
  catch:
  - {error: "*", continueAsNew: jq(.error)}
- {id: last, type: noop, continueAsNew: .a}
)";
  EXPECT_EQ(graph(text), R"x(flowchart TD
  start_((start))
  start_ --> s1
  s0["other<br/><i>noop</i>"]
  s0 --> end_
  s1["wait<br/><i>eventXor</i>"]
  s1 ==>|"next: next run"| s1
  s1 ==>|"*: next run"| s1
  s2["last<br/><i>noop</i>"]
  s2 ==>|"next run"| s1
  end_(((end)))
)x");
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  ASSERT_TRUE(document);
  const Json ways = to_json(workflow_graph(*document))["ways"];
  EXPECT_FALSE(ways[0].contains("nextRun"));
  EXPECT_EQ(ways[1]["to"], "wait");
  EXPECT_EQ(ways[1]["nextRun"], true);
  EXPECT_EQ(ways[1]["line"], 9);
}

TEST(Graph, OmitsTheEndOfAWorkflowThatNeverEnds) {
  EXPECT_EQ(graph("id: a\nstates: [{id: b-c.d, type: noop, transition: b-c.d}]"),
            R"(flowchart TD
  start_((start))
  start_ --> s0
  s0["b-c.d<br/><i>noop</i>"]
  s0 --> s0
)");
}

TEST(Graph, HasATransitionFromTheTimeoutToTheOnFailureState) {
  EXPECT_EQ(graph(R"(
id: a
timeout: 30m
on_failure: refund
states:
- {id: pay, type: noop}
- {id: refund, type: noop}
)"),
            R"(flowchart TD
  start_((start))
  start_ --> s0
  timeout_((timeout))
  timeout_ -.->|"30m"| s1
  s0["pay<br/><i>noop</i>"]
  s0 --> end_
  s1["refund<br/><i>noop</i>"]
  s1 --> end_
  end_(((end)))
)");
}

TEST(Graph, HasATransitionFromAnyFailureToTheOnFailureState) {
  EXPECT_EQ(graph(R"(
id: a
on_failure: {state: refund, when: any}
states:
- {id: pay, type: noop}
- {id: refund, type: noop}
)"),
            R"(flowchart TD
  start_((start))
  start_ --> s0
  failure_((failure))
  failure_ -.-> s1
  s0["pay<br/><i>noop</i>"]
  s0 --> end_
  s1["refund<br/><i>noop</i>"]
  s1 --> end_
  end_(((end)))
)");
}

TEST(Graph, LabelsTheStartWithItsScheduleOrEvents) {
  const std::string states = "\nstates: [{id: a, type: noop}]";
  EXPECT_NE(graph("id: a\nstart: {type: scheduled, cron: '@hourly'}" + states)
                .find("start_ -->|\"@hourly\"| s0\n"),
            std::string::npos);
  EXPECT_NE(graph("id: a\nstart: {type: event, event: {type: t}}" + states)
                .find("start_ -->|\"t\"| s0\n"),
            std::string::npos);
  EXPECT_NE(graph("id: a\nstart: {type: eventXor, events: [{type: t}, {type: u}]}" + states)
                .find("start_ -->|\"t or u\"| s0\n"),
            std::string::npos);
}

TEST(Graph, CutsLongLabelsBetweenCharacters) {
  std::string condition;
  for (int i = 0; i < 70; ++i) condition += "é";
  std::string cut;
  for (int i = 0; i < 60; ++i) cut += "é";
  const std::string text = graph(
      "id: a\nstates: [{id: a, type: switch, conditions: [{condition: '\"" + condition + "\"'}]}]");
  EXPECT_NE(text.find("|\"#34;" + cut.substr(0, 59 * 2) + "…\"|"), std::string::npos) << text;
}

TEST(Graph, HasStatesAndWaysWithTheirLinesAsJson) {
  Findings findings;
  const std::optional<Node> document = parse_document(R"(id: order
timeout: PT1H
on_failure: sorry
start: {type: event, state: pay, event: {type: ordered}}
functions:
- {id: charge, type: service}
states:
- id: pay
  type: action
  action: {function: charge}
  transition: wait
- id: wait
  type: eventXor
  events:
  - event: {type: paid}
    transition: decide
  - {type: refused}
- id: decide
  type: switch
  conditions:
  - condition: jq(.ok)
    transition: pay
  defaultTransition: sorry
  catch:
  - error: "*"
    transition: sorry
- {id: sorry, type: noop}
)",
                                                      findings);
  ASSERT_TRUE(document) << render_text(findings, "f");
  EXPECT_EQ(to_json(workflow_graph(*document)), Json::parse(R"JSON({
    "start": {"state": "pay", "label": "ordered"},
    "states": [
      {"id": "pay", "type": "action", "line": 8, "waits": [], "calls": ["charge"]},
      {"id": "wait", "type": "eventXor", "line": 12, "waits": ["paid", "refused"], "calls": []},
      {"id": "decide", "type": "switch", "line": 18, "waits": [], "calls": []},
      {"id": "sorry", "type": "noop", "line": 27, "waits": [], "calls": []}],
    "ways": [
      {"from": null, "to": "sorry", "kind": "on_failure", "label": "PT1H", "line": 3},
      {"from": "pay", "to": "wait", "kind": "transition", "label": "", "line": 11},
      {"from": "wait", "to": "decide", "kind": "event", "label": "paid", "line": 16},
      {"from": "wait", "to": null, "kind": "event", "label": "refused", "line": 17},
      {"from": "decide", "to": "pay", "kind": "condition", "label": "jq(.ok)", "line": 22},
      {"from": "decide", "to": "sorry", "kind": "default", "label": "otherwise", "line": 23},
      {"from": "decide", "to": "sorry", "kind": "catch", "label": "*", "line": 26},
      {"from": "sorry", "to": null, "kind": "transition", "label": "", "line": 27}]
})JSON"));
}

TEST(Graph, NamesTheEventsAndFunctionsOfEachStateOnce) {
  Findings findings;
  const std::optional<Node> document = parse_document(R"(id: a
states:
- {id: one, type: consumeEvent, event: {type: paid}}
- {id: both, type: eventAnd, events: [{event: {type: x}}, {event: {type: y}}]}
- {id: send, type: generateEvent, event: {type: sent, source: a}}
- {id: many, type: parallel, actions: [{function: f}, {function: g}, {function: f}]}
)",
                                                      findings);
  ASSERT_TRUE(document) << render_text(findings, "f");
  const std::vector<GraphState> states = workflow_graph(*document).states;
  ASSERT_EQ(states.size(), 4U);
  using Names = std::vector<std::string>;
  EXPECT_EQ(states[0].waits, Names{"paid"});
  EXPECT_EQ(states[1].waits, (Names{"x", "y"}));
  EXPECT_EQ(states[2].waits, Names{});
  EXPECT_EQ(states[3].calls, (Names{"f", "g"}));
}

TEST(Graph, HasTheLimitsOfStartsAndCallsInShort) {
  Findings findings;
  const std::optional<Node> document = parse_document(R"(id: a
singular: false
concurrency: {limit: 2, key: jq(.customer), timeout: PT2H}
priority: jq(.rank // 0)
functions:
- {id: f, type: service, service: bank, throttle: {limit: 10, period: PT1M}}
states:
- id: each
  type: foreach
  array: jq(.all)
  concurrency: 4
  action: {function: f, concurrency: {limit: 1}}
)",
                                                      findings);
  ASSERT_TRUE(document) << render_text(findings, "f");
  EXPECT_EQ(to_json(workflow_graph(*document))["limits"], Json::parse(R"JSON([
    {"kind": "concurrency", "text": "limit 2, key jq(.customer), timeout PT2H", "line": 3},
    {"kind": "priority", "text": "jq(.rank // 0)", "line": 4},
    {"kind": "throttle", "function": "f", "text": "limit 10, period PT1M", "line": 6},
    {"kind": "concurrency", "state": "each", "text": "4", "line": 11},
    {"kind": "concurrency", "state": "each", "text": "limit 1", "line": 12}])JSON"));
}

TEST(Graph, CutsALongValueOfALimit) {
  Findings findings;
  const std::string key(61, 'k');
  const std::optional<Node> document = parse_document(
      "id: a\nsingular: true\nrateLimit: {limit: 1, period: PT1H, key: " + key + "}\nstates: []\n",
      findings);
  ASSERT_TRUE(document) << render_text(findings, "f");
  const std::vector<GraphLimit> limits = workflow_graph(*document).limits;
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0].kind, "singular");
  EXPECT_EQ(limits[0].text, "true");
  EXPECT_EQ(limits[1].text, "limit 1, period PT1H, key " + std::string(60, 'k') + "…");
}

TEST(Graph, NamesTheFunctionThatUndoesAState) {
  Findings findings;
  const std::optional<Node> document = parse_document(R"(id: a
states:
- {id: pay, type: action, action: {function: f}, compensate: {function: g, input: 1}}
)",
                                                      findings);
  ASSERT_TRUE(document) << render_text(findings, "f");
  const Json state = to_json(workflow_graph(*document))["states"][0];
  EXPECT_EQ(state["calls"], Json::array({"f"}));
  EXPECT_EQ(state["undo"], "g");
  EXPECT_NE(mermaid_graph(*document).find("<i>action</i><br/>undone by g\"]"), std::string::npos);
}

TEST(Graph, ShowsWhatMakesTheCompensations) {
  const std::string text = R"(
id: a
compensate: true
timeout: 30m
on_failure: {state: refund, compensate: true}
states:
- {id: pay, type: action, action: {function: f}, compensate: {function: g}, transition: stop}
- {id: stop, type: error, error: order.stopped, message: it had to, compensate: true}
- {id: keep, type: error, error: order.kept, message: it had to, compensate: false}
- {id: refund, type: noop}
)";
  EXPECT_EQ(graph(text), R"(flowchart TD
  start_((start))
  start_ --> s0
  timeout_((timeout))
  timeout_ -.->|"30m: compensates"| s3
  s0["pay<br/><i>action</i><br/>undone by g"]
  s0 --> s1
  s1["stop<br/><i>error</i><br/>compensates"]
  s1 --> end_
  s2["keep<br/><i>error</i>"]
  s2 --> end_
  s3["refund<br/><i>noop</i>"]
  s3 --> end_
  end_(((end)))
  limits_>"compensate: true"]
)");
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  ASSERT_TRUE(document);
  const Json json = to_json(workflow_graph(*document));
  EXPECT_EQ(json["compensates"], true);
  EXPECT_EQ(json["ways"][0]["compensates"], true);
  EXPECT_FALSE(json["ways"][1].contains("compensates"));
  EXPECT_FALSE(json["states"][0].contains("compensates")) << "its own is noted there";
  EXPECT_EQ(json["states"][1]["compensates"], true);
  EXPECT_FALSE(json["states"][2].contains("compensates"));
  EXPECT_NE(graph("id: a\non_failure: {state: b, when: any, compensate: true}\n"
                  "states: [{id: b, type: noop}]")
                .find("failure_ -.->|\"compensates\"| s0\n"),
            std::string::npos);
}

TEST(Graph, HasABoxWithTheLimits) {
  const std::string shown = graph(R"(
id: a
rateLimit: {limit: 9, period: PT1H}
concurrency: {limit: 2, key: jq("a" + .c)}
functions:
- {id: f, type: service, service: bank, throttle: {limit: 10, period: PT1M}}
states:
- {id: each, type: foreach, array: jq(.all), concurrency: 4, action: {function: f}}
)");
  EXPECT_NE(shown.find("  end_(((end)))\n"
                       "  limits_>\"rateLimit: limit 9, period PT1H<br/>"
                       "concurrency: limit 2, key jq(#34;a#34; + .c)<br/>"
                       "throttle of calls of f: limit 10, period PT1M<br/>"
                       "concurrency of state each: 4\"]\n"),
            std::string::npos)
      << shown;
}

}  // namespace
}  // namespace millrace
