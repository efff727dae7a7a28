// The format of scenario files: what is read, and that every mistake is reported at its position.
#include "scenarios/scenario_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/scenarios/texts.h"

namespace millrace {
namespace {

const Texts kWorkflows = {
    {"order.yaml",
     "id: order\nfunctions: [{id: f, type: service, service: f}]\nstates:\n  - {id: wait, type: "
     "noop, transition: ship}\n"
     "  - {id: ship, type: noop}\n"},
    {"bill.yaml", "id: bill\nstates:\n  - {id: pay, type: noop}\n"},
    {"broken.yaml", "id: broken\n"},
    {"trip.yaml",
     "id: trip\nfunctions:\n  - {id: book-hotel, type: service, service: hotels}\n"
     "  - {id: cancel-hotel, type: service, service: hotels}\n"
     "  - {id: bill, type: subflow, workflow: bill}\n"
     "states:\n  - {id: book, type: action, action: {function: book-hotel}}\n"},
};

/// `line:column path code` of each finding.
std::string findings_in(const std::string& text) {
  Findings findings;
  read_scenarios(text, kWorkflows, findings);
  std::string lines;
  for (const Finding& one : findings.sorted()) {
    lines += fmt::format("{}:{} {} {}\n", one.at.line, one.at.column, one.path, one.code);
  }
  return lines;
}

/// The findings of one scenario. `lines` start at column 5 in line 3.
std::string findings_of(const std::string& lines) {
  return findings_in("scenarios:\n  - name: x\n" + lines);
}

TEST(ScenarioFile, IsReadAndOmittedKeysGetTheirDefaults) {
  Findings findings;
  const ScenarioFile file = read_scenarios(R"(
workflows: [order.yaml, bill.yaml]
scenarios:
  - name: first
    start: {input: {n: 1}}
    given:
      - event: {type: a, source: /s, orderid: 7, data: {x: 1}}
      - at: 10m
        event: {type: b, source: /s, id: mine, specversion: "1.0"}
      - cancel: true
    until: P1M
    expect:
      states: [wait, ship]
      took: 10m
  - name: second
    given: [{at: 0s, event: {type: a, source: /s}}]
    expect:
      - {workflow: bill, instances: 0}
      - {status: waiting}
)",
                                           kWorkflows, findings);
  EXPECT_EQ(render_text(findings, "f"), "");
  ASSERT_EQ(file.workflows.size(), 2U);
  EXPECT_EQ(file.workflows[1].workflow->id, "bill");
  ASSERT_EQ(file.scenarios.size(), 2U);

  const Scenario& first = file.scenarios[0];
  EXPECT_EQ(first.at, (Position{4, 5}));
  EXPECT_EQ(first.start->workflow, "order") << "the first workflow of the file";
  EXPECT_EQ(first.start->input, Json::parse(R"({"n":1})"));
  EXPECT_EQ(first.until->months, 1);
  ASSERT_EQ(first.given.size(), 3U);
  const Event& event = std::get<Event>(first.given[0].what);
  EXPECT_TRUE(first.given[0].at.is_zero());
  EXPECT_EQ(event.id, "given-0");
  EXPECT_EQ(event.extensions.at("orderid"), AttributeValue(7));
  EXPECT_EQ(event.data, R"({"x":1})");
  EXPECT_EQ(std::get<Event>(first.given[1].what).id, "mine");
  EXPECT_EQ(std::get<Control>(first.given[2].what).verb, Control::Verb::kCancel);
  EXPECT_EQ(first.given[2].at, *Span::parse("10m"))
      << "an entry without a time has the time of the entry before it";
  ASSERT_EQ(first.expect.size(), 1U);
  EXPECT_EQ(first.expect[0].workflow, "order");
  ASSERT_EQ(first.expect[0].all.size(), 2U);
  EXPECT_EQ(first.expect[0].all[0].aspect, Aspect::kStates);
  EXPECT_EQ(first.expect[0].all[1].wanted.path, "scenarios[0].expect.took");

  ASSERT_EQ(file.scenarios[1].expect.size(), 2U);
  EXPECT_EQ(file.scenarios[1].expect[0].workflow, "bill");
  EXPECT_EQ(file.scenarios[1].expect[1].workflow, "order");
}

TEST(ScenarioFile, ReportsEveryMistakeInTheFileAtItsPosition) {
  EXPECT_EQ(findings_in(""), "1:1  definition.empty\n");
  EXPECT_EQ(findings_in("[]"), "1:1  definition.type\n");
  EXPECT_EQ(findings_in("{}"), "1:1 scenarios definition.missing\n");
  EXPECT_EQ(findings_in("scenarios: []"), "1:12 scenarios definition.value\n");
  EXPECT_EQ(findings_in("workflows: [nope.yaml, 3]\nscenarios: [a]"),
            "1:13 workflows[0] scenario.file\n1:24 workflows[1] definition.type\n"
            "2:13 scenarios[0] definition.type\n");
  EXPECT_EQ(findings_in("workflows: [order.yaml, order.yaml]\nscenarios:\n"
                        "  - {name: a, start: {}, expect: {status: complete}}"),
            "1:25 workflows[1] scenario.workflow_twice\n");
  EXPECT_EQ(findings_in("scenarios:\n"
                        "  - {name: a, start: {}, expect: {status: complete}}\n"
                        "  - {name: a, start: {}, expect: {status: complete}}\n"),
            "3:12 scenarios[1].name scenario.name_twice\n");
  EXPECT_EQ(findings_in("scenario: []\nscenarios:\n"
                        "  - {nam: a, start: {}, expect: {status: complete}}\n"),
            "1:1 scenario definition.unknown_key\n3:5 scenarios[0].name definition.missing\n"
            "3:6 scenarios[0].nam definition.unknown_key\n");
}

/// The messages about a scenario of `trip.yaml` with those `functions`.
std::string complaints_about(const std::string& workflows, const std::string& functions) {
  Findings findings;
  read_scenarios(fmt::format("workflows: {}\nscenarios:\n  - name: x\n    functions: {}\n"
                             "    start: {{}}\n    expect: {{status: complete}}\n",
                             workflows, functions),
                 kWorkflows, findings);
  return render_text(findings, "f");
}

TEST(ScenarioFile, ReportsFunctionsThatNoWorkflowHas) {
  EXPECT_EQ(complaints_about("[trip.yaml]", "{book-hotel: {}, cancel-hotel: [{}, {}]}"), "");
  EXPECT_EQ(complaints_about("[order.yaml, trip.yaml]", "{book-hotel: {}}"), "");
  EXPECT_EQ(complaints_about("[trip.yaml]", "{book-hotel: {}, cancel-hotl: {}}"),
            "f:4:33: error: scenarios[0].functions.cancel-hotl: there is no function "
            "\"cancel-hotl\"; the functions are \"book-hotel\", \"cancel-hotel\"; did you mean "
            "\"cancel-hotel\"? [scenario.unknown_function]\n");
  EXPECT_EQ(
      complaints_about("[bill.yaml]", "{pay: {}}"),
      "f:4:17: error: scenarios[0].functions.pay: there is no function \"pay\"; no workflow of "
      "this file has a function that is no subflow [scenario.unknown_function]\n");
  EXPECT_EQ(
      complaints_about("[trip.yaml]", "{bill: {}}"),
      "f:4:17: error: scenarios[0].functions.bill: the function \"bill\" is a subflow, so its "
      "workflow runs; write the workflow under \"workflows\", and here what the functions of "
      "that workflow do [scenario.unknown_function]\n");
  EXPECT_EQ(complaints_about("[trip.yaml, broken.yaml]", "{pay: {}}"), "")
      << "the functions of the broken workflow are not known";
}

TEST(ScenarioFile, ReportsEveryMistakeInAScenarioAtItsPosition) {
  struct Row {
    const char* lines;
    const char* findings;
  };
  const Row rows[] = {
      {"    expect: {instances: 0}\n", "2:5 scenarios[0] scenario.nothing_happens\n"},
      {"    start: {}\n", "2:5 scenarios[0].expect definition.missing\n"},
      {"    start: {}\n    expect: {}\n", "4:13 scenarios[0].expect scenario.expects_nothing\n"},
      {"    start: {}\n    expect: []\n", "4:13 scenarios[0].expect definition.value\n"},
      {"    start: {}\n    expect: soon\n", "4:13 scenarios[0].expect definition.type\n"},
      {"    start: {workflow: oder}\n    expect: {status: complete}\n",
       "3:23 scenarios[0].start.workflow scenario.unknown_workflow\n"},
      {"    start: {}\n    until: never\n    expect: {status: complete}\n",
       "4:12 scenarios[0].until duration.malformed\n"},
      {"    functions: {f: {accepts: true, never: begins}}\n    start: {}\n"
       "    expect: {status: complete}\n",
       "3:30 scenarios[0].functions.f.accepts scenario.performance\n"},
      {"    functions: {f: {files: {instance: {1a: 2}, all: {}}}}\n    start: {}\n"
       "    expect: {status: complete}\n",
       "3:40 scenarios[0].functions.f.files.instance.1a scenario.variable\n"
       "3:48 scenarios[0].functions.f.files.all definition.unknown_key\n"},
      {"    given: []\n    expect: {instances: 0}\n", "3:12 scenarios[0].given definition.value\n"},
      {"    given: [{at: 1h}]\n    expect: {instances: 0}\n",
       "3:13 scenarios[0].given[0].event scenario.given\n"},
      {"    given: [{cancel: true, event: {type: a, source: b}}]\n    expect: {instances: 0}\n",
       "3:35 scenarios[0].given[0].event scenario.given\n"},
      {"    given: [{event: 7}]\n    expect: {instances: 0}\n",
       "3:21 scenarios[0].given[0].event definition.type\n"},
      {"    given: [{event: {type: a}}]\n    expect: {instances: 0}\n",
       "3:21 scenarios[0].given[0].event event.missing_attribute\n"},
      {"    given: [{event: {type: a, source: s, orderId: x}}]\n    expect: {instances: 0}\n",
       "3:21 scenarios[0].given[0].event event.attribute_name\n"},
      {"    given:\n      - {at: 1h, cancel: true}\n      - {at: 59m, cancel: true}\n"
       "    expect: {instances: 0}\n",
       "5:14 scenarios[0].given[1].at scenario.order\n"},
      {"    given: [{at: 2h, cancel: true}]\n    until: 1h\n    expect: {instances: 0}\n",
       "3:18 scenarios[0].given[0].at scenario.order\n"},
      {"    start: {}\n    expect: {status: done}\n",
       "4:22 scenarios[0].expect.status definition.value\n"},
      {"    start: {}\n    expect: {states: [wait, shop, 1]}\n",
       "4:29 scenarios[0].expect.states[1] scenario.unknown_state\n"
       "4:35 scenarios[0].expect.states[2] definition.type\n"},
      {"    start: {}\n    expect: {compensated: [shop]}\n",
       "4:28 scenarios[0].expect.compensated[0] scenario.unknown_state\n"},
      {"    start: {}\n    expect: {compensations: [{state: shop}, {stat: wait}]}\n",
       "4:38 scenarios[0].expect.compensations[0].state scenario.unknown_state\n"
       "4:46 scenarios[0].expect.compensations[1].stat definition.unknown_key\n"},
      {"    start: {}\n    expect: {compensationsLeft: [wait]}\n",
       "4:34 scenarios[0].expect.compensationsLeft[0] definition.type\n"},
      {"    start: {}\n    expect: {waits: event}\n",
       "4:21 scenarios[0].expect.waits definition.value\n"},
      {"    start: {}\n    expect: {instance: 0, status: waiting}\n",
       "4:24 scenarios[0].expect.instance definition.value\n"},
      {"    start: {}\n    expect: {instance: 1}\n",
       "4:13 scenarios[0].expect scenario.expects_nothing\n"},
      {"    start: {}\n    expect: {workflow: bill, instances: 0}\n",
       "4:24 scenarios[0].expect.workflow scenario.unknown_workflow\n"},
      {"    start: {}\n    expect: {error: {cod: a}}\n",
       "4:22 scenarios[0].expect.error.cod definition.unknown_key\n"},
      {"    start: {}\n    expect: {published: [a]}\n",
       "4:26 scenarios[0].expect.published[0] definition.type\n"},
      {"    start: {}\n    expect: {took: 5}\n", "4:20 scenarios[0].expect.took definition.type\n"},
      {"    start: {}\n    expect: {instances: -1}\n",
       "4:25 scenarios[0].expect.instances definition.value\n"},
      {"    start: {}\n    expect: {outputs: {}}\n",
       "4:13 scenarios[0].expect scenario.expects_nothing\n"
       "4:14 scenarios[0].expect.outputs definition.unknown_key\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(findings_of(row.lines), row.findings) << row.lines;
}

TEST(ScenarioFile, ReportsNoErrorThatFollowsFromABrokenWorkflow) {
  EXPECT_EQ(findings_in("workflows: [broken.yaml, order.yaml]\nscenarios:\n"
                        "  - name: a\n    start: {workflow: broken}\n"
                        "    expect: {states: [x], took: soon}\n"),
            "5:33 scenarios[0].expect.took duration.malformed\n");
}

TEST(ScenarioFile, ThatIsAWorkflowHasOneErrorThatNamesWhereScenariosAre) {
  EXPECT_EQ(findings_in("id: order\nstates:\n  - {id: a, type: noop}\n"),
            "1:1  scenario.is_workflow\n");
  EXPECT_EQ(findings_in("id: order\nstates: []\nscenarios: []\n"),
            "1:1 id definition.unknown_key\n2:1 states definition.unknown_key\n"
            "3:12 scenarios definition.value\n");
}

TEST(ScenarioFile, IsDetectedByItsName) {
  EXPECT_TRUE(is_scenario_file("order.test.yaml"));
  EXPECT_TRUE(is_scenario_file("order.test.yml"));
  EXPECT_TRUE(is_scenario_file("order.test.json"));
  EXPECT_FALSE(is_scenario_file("order.yaml"));
  EXPECT_FALSE(is_scenario_file("test.yaml"));
  EXPECT_FALSE(is_scenario_file("order.test.txt"));
  EXPECT_EQ(workflow_beside("order.test.yaml"), "order.yaml");
  EXPECT_EQ(workflow_beside("a.test.b.test.json"), "a.test.b.json");
}

}  // namespace
}  // namespace millrace
