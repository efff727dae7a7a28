#include "language/editor_schema.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "language/document.h"

namespace millrace {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

class EditorSchema : public testing::Test {
 protected:
  EditorSchema() {
    const nlohmann::json schema = nlohmann::json::parse(editor_schema().dump());
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(Adapter(schema), schema_);
  }

  /// The errors that the schema reports for the text; empty: none.
  std::string complaint(const std::string& text) const {
    Findings findings;
    const std::optional<Node> document = parse_document(text, findings);
    if (!document) return "no document";
    const nlohmann::json value = nlohmann::json::parse(to_json(*document).dump());
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    if (validator.validate(schema_, Adapter(value), &results)) return "";
    valijson::ValidationResults::Error error;
    std::string all;
    while (results.popError(error)) {
      for (const std::string& step : error.context) all += step;
      all += ": " + error.description + "\n";
    }
    return all;
  }

  std::string complaint_of_file(const std::filesystem::path& path) const {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return complaint(text.str());
  }

 private:
  valijson::Schema schema_;
};

TEST_F(EditorSchema, AcceptsExamplesAndGoodDefinitionsUnlessLintWarnsOfThem) {
  size_t files = 0;
  for (const char* folder : {"examples", "docs/samples", "tests/corpus/definitions/good",
                             "tests/corpus/direktiv", "tests/corpus/lint/good"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() != ".yaml" && path.extension() != ".json") continue;
      // This file has null values for keys for which the schema does not offer null.
      if (path.filename() == "smallest.null.yaml") continue;
      if (path.stem().extension() == ".test") continue;
      // This file has anchors and aliases; the schema is not tested with it.
      if (path.filename() == "anchors.yaml") continue;
      ++files;
      // Lint warns of these files, too: numbers in quotes without a unit, and a query as plain
      // text.
      const std::string name = path.filename();
      const bool has_warning =
          name == "policies.twin.json" || name == "durations.other.yaml" || name == "jq.yaml";
      EXPECT_EQ(complaint_of_file(path).empty(), !has_warning) << complaint_of_file(path) << path;
    }
  }
  EXPECT_GE(files, 100U);
}

TEST_F(EditorSchema, AcceptsADefinitionWithEachKindOfFunctionAndRetryPolicy) {
  EXPECT_EQ(complaint(R"(
id: all
singular: true
timeouts: {interrupt: PT1H, kill: PT2H}
retries: {maximumAttempts: 3, initialInterval: 1s, nonRetryableErrorTypes: [a]}
defaults: stevora
workflowRunTimeout: 1h
workflowTaskTimeout: 5s
timeout: 30m
on_failure: {state: act, when: any}
start: {type: scheduled, cron: "*/5 * * * *", state: act}
functions:
- {id: a, type: knative-global, service: mail, files: [{key: k, scope: workflow, as: f, type: tar}]}
- {id: b, type: knative-namespace, service: mail}
- {id: c, type: reusable, image: i, cmd: run, size: medium, scale: 1}
- {id: d, type: isolated, image: i, size: large}
- {id: f, type: service, global: true, service: mail}
- {id: g, type: container, image: i}
- {id: h, type: container-pool, image: i, scale: 1}
- id: e
  type: subflow
  workflow: other
  retry: fixed(3, 1s)
  scheduleToStartTimeout: 1m
  startToCloseTimeout: 1m
  heartbeatTimeout: 1s
  deadline: {timeout: 5000, errorOnTimeout: true}
schemas: [{id: order, schema: {type: object}}]
states:
- id: act
  type: action
  async: false
  action: {function: a, input: {x: jq(.x)}, secrets: [KEY], retries: {max_attempts: 3, codes: ["*"]}}
  retry: {max_attempts: 0, delay: PT1S, multiplier: 1.5, codes: [".*"]}
- {id: each, type: foreach, array: [1, 2], concurrency: 4, action: {function: a}}
- id: both
  type: parallel
  mode: or
  actions:
  - {function: a, maxInactivity: 500, maxRuntime: 1h, retries: {maxAttempts: -1, delay: 5}}
  - {function: b, timeout: 1m, timeout_scope: per_attempt, retry: {backoffMs: 100}}
  timeout: PT1S
  retries: {vocabulary: steep, maxAttempts: 3}
- {id: get, type: getter, variables: [{key: a}, {key: b, scope: namespace}]}
- {id: set, type: setter, variables: [{key: a, scope: workflow, value: null}]}
- {id: check, type: validate, subject: .a, schema: order}
- {id: check-too, type: validate, schema: {required: [name]}}
)"),
            "");
}

TEST_F(EditorSchema, PointsOutPatternsThatNeverMatchAndErrorCodesThatAreNeverRaised) {
  const std::string head =
      "id: a\nstates:\n- {id: a, type: consumeEvent, timeout: 1h, event: {type: t";
  EXPECT_NE(complaint(head + ", context: {orderid: .order}}}"), "");
  EXPECT_NE(complaint(head + "}, catch: [{error: direktiv.statetimeout}]}"), "");
  EXPECT_NE(complaint(head + "}, catch: [{error: Millrace.poison}]}"), "");
  EXPECT_EQ(complaint(head + ", context: {orderid: '.[a-z]+', n: 5}}, "
                             "catch: [{error: direktiv.stateTimeout}, {error: 'direktiv.*'}, "
                             "{error: card.declined}]}"),
            "");
}

TEST_F(EditorSchema, PointsOutQueriesWrittenAsPlainText) {
  const std::string head = "id: a\nstates:\n- {id: a, type: ";
  const std::string generate = head + "generateEvent, event: {type: t, source: s, ";
  for (const std::string& text : {
           head + "noop, transform: '${ .a }'}",
           head + "noop, transform: {x: '${ .a }'}}",
           head + "noop, transform: {x: [{y: .order}]}}",
           head + "noop, log: .order}",
           head + "noop, log: 'costs ${5} for ${.name}'}",
           head + "noop, log: 'costs $(.price)'}",
           head + "noop, transform: {x: $.order}}",
           head + "noop, transform: {x: jq (.order)}}",
           head + "switch, conditions: [{condition: '{{ .a }}', transition: a}]}",
           head + "foreach, array: '${ .items }', action: {function: f}}",
           head + "foreach, array: [.a], action: {function: f}}",
           head + "action, action: {function: f, input: {a: '${ .a }'}}}",
           head + "setter, variables: [{key: a, value: .a}]}",
           head + "validate, subject: '{{ .a }}', schema: {}}",
           head + "consumeEvent, event: {type: t, context: {a: '{{ .a }}'}}}",
           head + "consumeEvent, event: {type: t, context: {a: '${ .a }'}}}",
           generate + "data: .order}}",
           generate + "data: {a: ['{{ .order.id }}']}}}",
           generate + "context: {a: .order}}}",
       }) {
    EXPECT_NE(complaint(text), "") << text;
  }
  for (const std::string& text : {
           head + "noop, transform: .a}",
           head + "noop, transform: '.a + {b: 1}'}",
           head + "noop, transform: {x: '${ jq(.a) }', y: '${HOME} of .a', z: .}}",
           head + "noop, transform: {x: '\\${.a}', y: $(date), z: $5}}",
           head + "noop, transform: {x: ['... and', '.5', '{ .a }']}}",
           head + "noop, log: '{{ jq(.a) }}'}",
           head + "switch, conditions: [{condition: .a, transition: a}, {condition: true}]}",
           head + "foreach, array: [jq(.a), 1], action: {function: f, input: .}}",
           head + "consumeEvent, event: {type: t, context: {a: 'x{2}', b: '{{jq(.a)}}', c: "
                  "'^\\{{2}$'}}}",
           generate + "data: ., context: {a: null, b: '5', c: jq(.a)}}}",
       }) {
    EXPECT_EQ(complaint(text), "") << text;
  }
}

TEST_F(EditorSchema, PointsOutQueriesWrittenAsPatterns) {
  const std::string waiting =
      "id: a\nstates:\n- {id: a, type: consumeEvent, event: {type: t, context: {a: ";
  const std::string start =
      "id: a\nstates:\n- {id: a, type: noop}\nstart: {type: event, event: {type: t, context: {a: ";
  for (const char* pattern :
       {".order", ".orders[0].id", ".orders[].id", ".[\"order.paid\"].id", ".a[\"b\"]",
        ".order // \"none\"", ".orders | first", " .order ", "$.order", "$(.order)",
        "x $( .order )", "jq (.order)", "${ .order }", "${order}", "{{ .order }}", "^{{order}}$"}) {
    const std::string text = "'" + std::string(pattern) + "'}}";
    EXPECT_NE(complaint(waiting + text + "}"), "") << pattern;
    EXPECT_NE(complaint(start + text + "}"), "") << pattern;
  }
  for (const char* pattern : {"^order$", ".[a-z]+", ".*", ".a+", ".order-[0-9]", "order$", "$",
                              "x$(y)?", "\\$(.order)", "a{2}", "^\\{{2}$", "^jq$", "a.b[0]", "."}) {
    const std::string text = "'" + std::string(pattern) + "'}}";
    EXPECT_EQ(complaint(waiting + text + "}"), "") << pattern;
    EXPECT_EQ(complaint(start + text + "}"), "") << pattern;
  }
  EXPECT_EQ(complaint(waiting + "'x-jq(.orders[0].id)'}}}"), "");
  EXPECT_NE(complaint(start + "'x-jq(.orders[0].id)'}}}"), "");
}

TEST_F(EditorSchema, PointsOutConditionsThatAssign) {
  const std::string head = "id: a\nstates:\n- {id: a, type: switch, conditions: [{condition: '";
  for (const char* condition : {"jq(.a = 3)", ".a |= 3", ".a = \"x\"", "jq( .a.b += 1 )", ".a -= 1",
                                ".a *= 2", ".a /= 2", ".a %= 2", ".a //= 3", " .a_1=.b "}) {
    EXPECT_NE(complaint(head + condition + "', transition: a}]}"), "") << condition;
  }
  for (const char* condition :
       {"jq(.a == 3)", ".a==3", ".a >= 3", ".a <= 3", ".a != 3", ".a // .b == 3", ".a == \"b = c\"",
        "(.a = 3) | .b", ".a = 3 | .b", "jq(.a |= 3 | .b)", ".a | . == 3", "{a: 1} == .b"}) {
    EXPECT_EQ(complaint(head + condition + "', transition: a}]}"), "") << condition;
  }
  EXPECT_EQ(complaint("id: a\nstates:\n- {id: a, type: noop, transform: .a = 3}"), "");
}

TEST_F(EditorSchema, PointsOutDurationsWithoutAUnit) {
  const std::string head = "id: a\nstates:\n- {id: a, type: ";
  const std::string noop = "id: a\nstates:\n- {id: a, type: noop}\n";
  const auto action = [&](const std::string& policy) {
    return head + "action, action: {function: f, " + policy + "}}";
  };
  for (const std::string& text : {
           head + "delay, duration: '30'}",
           head + "consumeEvent, event: {type: t}, timeout: '1h 30'}",
           head + "noop, retries: {max_attempts: 1, codes: ['*'], delay: '500 '}}",
           action("maxRuntime: '30'"),
           action("deadline: {timeout: '30', errorOnTimeout: true}"),
           action("startToCloseTimeout: '30'"),
           action("retries: {initialInterval: '5'}"),
           action("retries: {exponentialBackoff: 2, maxDelay: '5'}"),
           action("retry: 'fixed(3, 30)'"),
           noop + "timeouts: {kill: '7200'}",
           noop + "workflowRunTimeout: '60'",
           noop + "start: {type: eventsAnd, events: [{type: t}], lifespan: '60'}",
           noop + "start: {type: scheduled, cron: '@every 5000'}",
           noop + "start: {type: scheduled, cron: ' @every 1h 30 '}",
           noop + "start: {type: scheduled, cron: 'CRON_TZ=Asia/Tokyo @every 5000'}",
       }) {
    EXPECT_NE(complaint(text), "") << text;
  }
  for (const std::string& text : {
           head + "delay, duration: 30s}",
           head + "delay, duration: PT30S}",
           head + "consumeEvent, event: {type: t}, timeout: '1h 30 minutes '}",
           action("maxRuntime: 30"),
           action("deadline: {timeout: 30, errorOnTimeout: true}"),
           action("retry: 'fixed(3, 30s)'"),
           action("retry: 'fixed(3, 0)'"),
           noop + "timeouts: {kill: 2h}",
           noop + "start: {type: scheduled, cron: '@every 90s'}",
           noop + "start: {type: scheduled, cron: '@every PT90S'}",
           noop + "start: {type: scheduled, cron: 'CRON_TZ=Asia/Tokyo @every 1d'}",
           noop + "start: {type: scheduled, cron: '0 7 * * 5'}",
       }) {
    EXPECT_EQ(complaint(text), "") << text;
  }
}

TEST_F(EditorSchema, AllowsJqInDurationsThatTheDataMayDecideAndChecksUntil) {
  const std::string head = "id: a\nstates:\n- {id: a, type: ";
  const std::string wait = head + "consumeEvent, event: {type: t}, ";
  for (const std::string& text : {
           head + "delay, duration: jq(.wait)}",
           head + "delay, duration: PTjq(.n)S}",
           head + "delay, until: 2027-01-01T09:00:00+01:00}",
           head + "delay, until: 1798790400}",
           head + "delay, until: jq(now + 60)}",
           head + "delay, until: {cron: jq(.cron), timezone: jq(.zone)}}",
           head + "generateEvent, event: {type: t, source: s}, delay: jq(.wait)}",
           head + "noop, retries: {max_attempts: 1, codes: ['*'], delay: jq(.wait)}}",
           wait + "timeout: jq(.wait)}",
           wait + "until: {cron: '@hourly'}}",
       }) {
    EXPECT_EQ(complaint(text), "") << text;
  }
  for (const std::string& text : {
           head + "delay, duration: 1s, until: jq(.at)}",
           head + "delay, until: PT1H}",
           head + "delay, until: 2027-01-01T09:00:00}",
           head + "delay, until: [1]}",
           head + "delay, until: {timezone: UTC}}",
           head + "delay, until: {cron: '@hourly', holidays: x}}",
           head + "noop, until: jq(.at)}",
           head + "action, action: {function: f, startToCloseTimeout: jq(.wait)}}",
           std::string("id: a\nstates:\n- {id: a, type: noop}\ntimeouts: {kill: jq(.wait)}"),
           std::string("id: a\nstates:\n- {id: a, type: noop}\nworkflowRunTimeout: jq(.wait)"),
       }) {
    EXPECT_NE(complaint(text), "") << text;
  }
}

// The loader refuses the same pairs (definition.both_keys).
TEST_F(EditorSchema, PointsOutKeysThatExcludeEachOther) {
  const std::string noop = "id: a\nstates:\n- {id: a, type: noop}\n";
  const std::string head = "id: a\nstates:\n- {id: a, type: ";
  const std::string wait = head + "consumeEvent, event: {type: t}";
  const std::string action = head + "action, action: {function: f";
  struct Pair {
    std::string before;
    std::string first;
    std::string second;
    std::string behind;
  };
  for (const auto& [before, first, second, behind] : std::vector<Pair>{
           {noop, "singular: true\n", "concurrency: {limit: 1}\n", ""},
           {noop, "debounce: {period: 1m}\n", "batch: {maxSize: 5, timeout: 1m}\n", ""},
           {noop, "timeout: 1h\n", "workflowExecutionTimeout: 1h\n", ""},
           {noop, "retries: fixed(3, 1s)\n", "retry: fixed(3, 1s)\n", ""},
           {head + "noop", ", transition: a", ", continueAsNew: .", "}"},
           {head + "switch, conditions: [{condition: true}]", ", defaultTransition: a",
            ", defaultContinueAsNew: .", "}"},
           {wait, ", timeout: 1h", ", until: jq(.at)", "}"},
           {head + "consumeEvent, event: {type: t", ", context: {a: b}", ", filters: {a: b}", "}}"},
           {action, ", maxInactivity: 1h", ", heartbeatTimeout: 1h", "}}"},
           {action, ", maxRuntime: 1h", ", startToCloseTimeout: 1h", "}}"},
       }) {
    EXPECT_EQ(complaint(before + first + behind), "") << first;
    EXPECT_EQ(complaint(before + second + behind), "") << second;
    EXPECT_NE(complaint(before + first + second + behind), "") << first << second;
  }
  EXPECT_EQ(complaint(noop + "singular: false\nconcurrency: {limit: 1}\n"), "");
}

TEST_F(EditorSchema, ExplainsInTheDescriptionsOfKeysWhatToWrite) {
  const Json definitions = editor_schema()["definitions"];
  const auto description = [&](const char* mapping, const char* key) {
    return definitions.at(mapping).at("properties").at(key).at("description").get<std::string>();
  };
  EXPECT_TRUE(
      description("DelayState", "duration").ends_with("a number in quotes is milliseconds."));
  EXPECT_TRUE(description("NoopState", "transform").ends_with("Write jq(…) around a query."));
  EXPECT_TRUE(
      description("GenerateEventDefinition", "data").ends_with("Write jq(…) around a query."));
  EXPECT_TRUE(description("ConsumeEventDefinition", "context")
                  .ends_with("compared as plain text. Write jq(…) around a query."));
  for (const char* key : {"filters", "context"}) {
    EXPECT_TRUE(description("StartEventDefinition", key)
                    .ends_with("is not possible in a start. Write a pattern."));
  }
  EXPECT_NE(description("Workflow", "on_failure").find("{state: x, when: any}"), std::string::npos);
}

/// Adds every mapping within the schema to `all`.
void gather(const Json& schema, std::vector<Json>& all) {
  if (schema.is_object()) all.push_back(schema);
  if (!schema.is_structured()) return;
  for (const Json& inner : schema) gather(inner, all);
}

// The language server of an editor shows `errorMessage` for a `pattern`, but not for a `not`.
TEST_F(EditorSchema, HasAnErrorMessageForEachPatternThatRefusesText) {
  std::vector<Json> all;
  gather(editor_schema(), all);
  size_t refusals = 0;
  for (const Json& schema : all) {
    EXPECT_FALSE(schema.contains("not")) << schema;
    const auto pattern = schema.find("pattern");
    if (pattern == schema.end() || !pattern->is_string()) continue;
    if (!pattern->get<std::string>().starts_with("^(?!")) continue;
    ++refusals;
    EXPECT_TRUE(schema.contains("errorMessage")) << schema;
  }
  EXPECT_GE(refusals, 20U);

  const auto has_message = [](const Json& schema, const char* message) {
    return schema.dump().find(message) != std::string::npos;
  };
  const Json definitions = editor_schema()["definitions"];
  const auto property = [&](const char* mapping, const char* key) {
    return definitions.at(mapping).at("properties").at(key);
  };
  EXPECT_TRUE(has_message(property("ConsumeEventDefinition", "context"), "Write jq(…) around"));
  const Json start = property("StartEventDefinition", "context");
  EXPECT_TRUE(has_message(start, "Write a pattern: a start has no data"));
  EXPECT_FALSE(has_message(start, "Write jq(…)"));
  EXPECT_TRUE(has_message(property("SwitchConditionDefinition", "condition"), "Write == to"));
  EXPECT_TRUE(has_message(property("ScheduledStartDefinition", "cron"), "such as @every 30s"));
  // The message is beside the alternatives of the key, because the key may also have a mapping.
  for (const char* key : {"retry", "maxRuntime", "deadline"}) {
    EXPECT_TRUE(property("ActionDefinition", key).contains("errorMessage")) << key;
  }
  EXPECT_TRUE(has_message(property("ErrorDefinition", "error"), "does not raise an error with"));
}

TEST_F(EditorSchema, PointsOutErrorCodesThatMatchNoErrorAndAForeachArrayOfTheWrongType) {
  const std::string head = "id: a\nstates:\n- {id: a, type: ";
  const auto retries = [&](const char* code) {
    return head + "action, action: {function: f, retries: {nonRetryableErrors: [" + code + "]}}}";
  };
  const auto of_types = [&](const char* code) {
    return head + "noop, retries: {maximumAttempts: 3, nonRetryableErrorTypes: [" + code + "]}}";
  };
  EXPECT_NE(complaint(retries("'card.*'")), "");
  EXPECT_EQ(complaint(retries("card.declined")), "");
  for (const char* code :
       {"direktiv.statetimeout", "Millrace.poison", "DIREKTIV.stateTimeout", "millrace.none"}) {
    EXPECT_NE(complaint(retries(code)), "") << code;
    EXPECT_NE(complaint(of_types(code)), "") << code;
    EXPECT_NE(complaint(head + "noop, catch: [{error: " + code + "}]}"), "") << code;
  }
  for (const char* code : {"direktiv.stateTimeout", "millrace.poison", "direktivs.a", "xmillrace.a",
                           "direktiv", "a.direktiv.b"}) {
    EXPECT_EQ(complaint(retries(code)), "") << code;
    EXPECT_EQ(complaint(of_types(code)), "") << code;
    EXPECT_EQ(complaint(head + "noop, catch: [{error: " + code + "}]}"), "") << code;
  }
  EXPECT_NE(complaint(head + "noop, catch: [{error: 'card\\.(a|b)'}]}"), "");
  EXPECT_EQ(complaint(head + "noop, catch: [{error: 'card.?-*'}]}"), "");
  EXPECT_NE(complaint(head + "foreach, array: 3, action: {function: f}}"), "");
  EXPECT_NE(complaint(head + "foreach, array: {a: 1}, action: {function: f}}"), "");
  EXPECT_EQ(complaint(head + "foreach, array: jq(.a), action: {function: f}}"), "");
}

TEST_F(EditorSchema, RefusesWhatTheLoaderRefuses) {
  const std::string head = "id: a\nstates:\n";
  for (const std::string& text : {
           std::string("states: [{id: a, type: noop}]"),
           std::string("id: a"),
           std::string("id: a b\nstates: [{id: a, type: noop}]"),
           std::string("id: a\nstates: []"),
           head + "- {id: a, type: nope}",
           head + "- {id: a, type: noop, transtion: b}",
           head + "- {id: a, type: noop, timeout: PT1H}",
           head + "- {id: a, type: delay}",
           head + "- {id: a, type: delay, duration: 5}",
           head + "- {id: a, type: consumeEvent, event: {type: t, context: {a-b: c}}}",
           head + "- {id: a, type: consumeEvent, event: {type: t, context: {a: [c]}}}",
           head + "- {id: a, type: eventXor, events: [{event: {type: t}, type: t}]}",
           head + "- {id: a, type: eventAnd, events: [{capture: event}]}",
           head + "- {id: a, type: eventXor, events: [{type: t}], transition: a}",
           head + "- {id: a, type: action, action: {function: f, retries: {max_attempts: -1, "
                  "codes: [a]}}}",
           head + "- {id: a, type: noop, retries: {maxAttempts: 3, initialInterval: 1s}}",
           head + "- {id: a, type: noop, retries: {vocabulary: steep, backoffMs: 100}}",
           head + "- {id: a, type: noop, retries: {exponentialBackoff: 0}}",
           head + "- {id: a, type: noop, retries: 'exponential(3, 1s)'}",
           head + "- {id: a, type: noop, retries: 'fixed(0, 1s)'}",
           head + "- {id: a, type: action, action: {function: f, timeout_scope: attempt}}",
           head +
               "- {id: a, type: action, action: {function: f, deadline: {errorOnTimeout: true}}}",
           "defaults: camunda\n" + head + "- {id: a, type: noop}",
           head + "- {id: a, type: foreach, array: ., action: {function: f}, concurrency: 0}",
           head + "- {id: a, type: parallel, actions: [{function: f}], mode: xor}",
           head + "- {id: a, type: noop, catch: [{transition: a}]}",
           "start: {type: event}\n" + head + "- {id: a, type: noop}",
           "functions: [{id: f, type: subflow, image: i}]\n" + head + "- {id: a, type: noop}",
           "singular: yes\n" + head + "- {id: a, type: noop}",
       }) {
    EXPECT_NE(complaint(text), "") << text;
  }
}

}  // namespace
}  // namespace millrace
