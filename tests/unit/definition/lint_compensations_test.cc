#include "orchestrator/definition/lint_compensations.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow with further keys, and further keys of its state.
std::string workflow(const char* more, const char* state) {
  return fmt::format(R"(id: a
{}
functions: [{{id: f, type: subflow, workflow: w}}]
states:
- {{id: a, type: action, action: {{function: f}}, transition: b{}}}
- {{id: b, type: action, action: {{function: f}}}}
)",
                     more, state);
}

/// The states of an order that asks for its compensations.
std::string order(const std::string& states, const char* more = "compensate: true") {
  return fmt::format(R"(id: order
{}
functions:
- {{id: f, type: subflow, workflow: w}}
- {{id: own, type: subflow, workflow: order}}
states:
{})",
                     more, states);
}

/// A call for whose result nothing waits, with further keys, that `f` undoes.
std::string undone(const char* id, const char* more) {
  return fmt::format(
      "- {{id: {}, type: action, async: true, action: {{function: f}}, compensate: "
      "{{function: f}}{}}}\n",
      id, more);
}

std::vector<std::string> never_in(const std::string& text) {
  return places_of("lint.compensation_never", text, {});
}

TEST(LintCompensations, PointsOutThatNothingAsksForThem) {
  const char* const noted = ", compensate: {function: f}";
  const auto places = [](const std::string& text) {
    return places_of("lint.compensation_never", text, {});
  };
  EXPECT_THAT(places(workflow("name: x", noted)), ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(places(workflow("compensate: false", noted)),
              ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(places(workflow("compensate: true", noted)), IsEmpty());
  EXPECT_THAT(places(workflow("on_failure: {state: a, when: any, compensate: true}", noted)),
              IsEmpty());
  EXPECT_THAT(places(workflow("compensate: true", "")), ElementsAre("warning compensate"));
  EXPECT_THAT(places(workflow("name: x", "")), IsEmpty());
}

/// `line:column code` of the findings.
std::vector<std::string> at_of(const std::string& text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  EXPECT_TRUE(document);
  if (document) lint_compensations(*document, true, findings);
  std::vector<std::string> found;
  for (const Finding& one : findings.sorted()) found.push_back(described(one));
  return found;
}

TEST(LintCompensations, GiveTheLineAndTheColumnOfTheKey) {
  const std::string states = R"(states:
- id: wait
  type: delay
  duration: 1s
  compensate: {function: f}
  transition: act
- {id: act, type: action, action: {function: f}, compensate: {function: f}, transition: end}
- {id: end, type: action, action: {function: f}}
)";
  const std::string functions = "functions: [{id: f, type: subflow, workflow: w}]\n";
  EXPECT_THAT(at_of("id: a\n" + functions + states),
              ElementsAre("7:3 lint.compensation_idle", "7:3 lint.compensation_never"));
  EXPECT_THAT(at_of("id: a\ncompensate: true\n" + functions + states),
              ElementsAre("8:3 lint.compensation_idle"));
  EXPECT_THAT(at_of("id: a\n" + functions +
                    "states:\n- {id: act, type: action, action: {function: f}, compensate: "
                    "{function: f}}\n"),
              ElementsAre("4:50 lint.compensation_never"));
  EXPECT_THAT(at_of("id: a\ncompensate: true\nstates:\n- {id: a, type: noop}\n"),
              ElementsAre("2:1 lint.compensation_never"));
  EXPECT_THAT(at_of("id: a\non_failure: {state: a, when: any, compensate: true}\nstates:\n"
                    "- {id: a, type: noop}\n"),
              ElementsAre("2:35 lint.compensation_never"));
  EXPECT_THAT(at_of("id: a\nstates:\n- {id: a, type: error, error: a.b, message: m, compensate: "
                    "true}\n"),
              ElementsAre("3:48 lint.compensation_never"));
}

TEST(LintCompensations, PointsOutANoteThatTheEndOfTheInstanceDrops) {
  EXPECT_THAT(never_in(order(undone("a", ", transition: b") + undone("b", ""))),
              ElementsAre("warning states[1].compensate"));
  EXPECT_THAT(never_in(order(undone("a", ", transition: a"))), IsEmpty());
  EXPECT_THAT(never_in(order("- {id: a, type: generateEvent, event: {type: t, source: s}, catch: "
                             "[{error: x, transition: b}], compensate: {function: f}}\n"
                             "- {id: b, type: error, error: e, message: m}\n")),
              ElementsAre("warning states[0].compensate"))
      << "a state that has failed notes nothing";
  EXPECT_THAT(never_in(order(undone("a", ", transform: 'jq({n: .return.n})'"))), IsEmpty())
      << "the transform may fail after the note";
  EXPECT_THAT(
      never_in(order("- {id: a, type: eventXor, events: [{event: {type: t}, transition: b}, "
                     "{event: {type: u}}], compensate: {function: f}}\n" +
                     undone("b", ", transition: a"))),
      IsEmpty());
}

TEST(LintCompensations, PointsOutANoteThatTheNextRunDrops) {
  for (const char* const exit : {", continueAsNew: jq(.)", ", transform: jq(.), continueAsNew: .n"})
    EXPECT_THAT(never_in(order(undone("a", exit))), ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(never_in(order(undone("a", ", transition: b") +
                             "- {id: b, type: switch, conditions: [{condition: jq(.n), transition: "
                             "a}], defaultContinueAsNew: jq(.)}\n")),
              IsEmpty());
}

TEST(LintCompensations, KeepQuietAboutTheLastStateIfACancelMayWaitForItsTasks) {
  for (const char* const waits : {"type: action, action: {function: f}",
                                  "type: foreach, array: jq(.n), action: {function: f}",
                                  "type: parallel, actions: [{function: f}, {function: f}]"}) {
    for (const char* const exit : {"", ", continueAsNew: jq(.)"}) {
      EXPECT_THAT(never_in(order(fmt::format("- {{id: a, {}, compensate: {{function: f}}{}}}\n",
                                             waits, exit))),
                  IsEmpty())
          << waits << exit;
    }
  }
}

TEST(LintCompensations, KeepQuietAboutTheLastStateOfAnInstanceThatFails) {
  const std::string last = undone("b", "");
  const std::string first = "- {id: a, type: action, action: {function: f}}\n";
  EXPECT_THAT(never_in(order(first + last, "on_failure: {state: b, when: any, compensate: true}")),
              IsEmpty());
  EXPECT_THAT(never_in(order("- {id: a, type: error, error: e, message: m, compensate: true, "
                             "transition: b}\n" +
                                 last,
                             "name: x")),
              IsEmpty());
}

TEST(LintCompensations, PointsOutAPolicyOrACallThatNeverMakesThem) {
  const auto undoes = [](const char* how, const char* more = "compensate: true") {
    return never_in(order(fmt::format("- {{id: a, type: action, action: {{function: f}}, "
                                      "transition: b, compensate: {}}}\n- {{id: b, type: action, "
                                      "action: {{function: f}}}}\n",
                                      how),
                          more));
  };
  EXPECT_THAT(undoes("{function: f, retries: {vocabulary: steep, maxAttempts: 0}}"),
              ElementsAre("warning states[0].compensate.retries"));
  EXPECT_THAT(undoes("{function: f, retry: {maxAttempts: 1}}"), IsEmpty());
  const char* const batch = "compensate: true\nbatch: {maxSize: 2, timeout: 1s}";
  EXPECT_THAT(undoes("{function: own}", batch),
              ElementsAre("warning states[0].compensate.function"));
  EXPECT_THAT(undoes("{function: f}", batch), IsEmpty());
  EXPECT_THAT(undoes("{function: own}"), IsEmpty());
}

TEST(LintCompensations, PointsOutAReturnThatNoCallHasSet) {
  const auto places = [](const char* state, const char* before) {
    return places_of(
        "lint.compensation_input",
        order(fmt::format("{}- {{id: b, {}, transition: c, compensate: {{function: f, "
                          "input: jq(.return.id)}}}}\n- {{id: c, type: action, action: "
                          "{{function: f}}}}\n",
                          before, state)),
        {});
  };
  const char* const async = "type: action, async: true, action: {function: f}";
  const char* const event = "type: generateEvent, event: {type: t, source: s}";
  const char* const waits = "- {id: a, type: delay, duration: 1s, transition: b}\n";
  for (const char* const state : {async, event}) {
    EXPECT_THAT(places(state, ""), ElementsAre("warning states[0].compensate.input"));
    EXPECT_THAT(places(state, waits), ElementsAre("warning states[1].compensate.input"));
    EXPECT_THAT(places(state, "- {id: a, type: action, action: {function: f}, transition: b}\n"),
                IsEmpty());
    EXPECT_THAT(places(state, "- {id: a, type: noop, transform: jq(.), transition: b}\n"),
                IsEmpty());
  }
  EXPECT_THAT(places("type: action, action: {function: f}", ""), IsEmpty());
}

TEST(LintCompensations, LetAStateThatNotesThemRaiseTheirLimit) {
  const std::string catches =
      ", catch: [{error: millrace.limits.compensations}], compensate: {function: f}";
  EXPECT_THAT(places_of("lint.catch_never", workflow("compensate: true", catches.c_str()), {}),
              IsEmpty());
}

TEST(LintCompensations, PointsOutAStateThatHasNothingToUndo) {
  const auto places = [](const char* state) {
    return places_of("lint.compensation_idle",
                     fmt::format("id: a\ncompensate: true\nfunctions: [{{id: f, type: subflow, "
                                 "workflow: w}}]\nstates:\n- {{id: a, {}, compensate: {{function: "
                                 "f}}}}\n",
                                 state),
                     {});
  };
  EXPECT_THAT(places("type: noop"), ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(places("type: delay, duration: 1s"), ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(places("type: action, action: {function: f}"), IsEmpty());
  EXPECT_THAT(places("type: generateEvent, event: {type: t, source: s}"), IsEmpty());
  EXPECT_THAT(places("type: setter, variables: [{key: k, value: 1}]"),
              ElementsAre("warning states[0].compensate"));
  EXPECT_THAT(places("type: setter, variables: [{key: k, value: 1}, {key: k, scope: workflow, "
                     "value: 1}]"),
              IsEmpty());
}

TEST(LintCompensations, PointsOutAnInputThatReadsDataThatTheCompensationOfACallDoesNotHave) {
  const auto places = [](const char* state, const char* input) {
    return places_of("lint.compensation_input",
                     fmt::format("id: a\ncompensate: true\nfunctions: [{{id: f, type: subflow, "
                                 "workflow: w}}]\nstates:\n- {{id: a, {}, compensate: {{function: "
                                 "f, input: {}}}}}\n",
                                 state, input),
                     {});
  };
  const char* const foreach = "type: foreach, array: jq(.items), action: {function: f}";
  const char* const parallel = "type: parallel, actions: [{function: f}]";
  for (const char* const input :
       {"jq(.order)", "'jq({order, n: .return.n})'", "{n: jq(.return.n), order: jq(.order)}"}) {
    EXPECT_THAT(places(foreach, input), ElementsAre("warning states[0].compensate.input")) << input;
    EXPECT_THAT(places(parallel, input), ElementsAre("warning states[0].compensate.input"))
        << input;
    EXPECT_THAT(places("type: action, action: {function: f}", input), IsEmpty()) << input;
  }
  for (const char* const input : {"jq(.return.id)", "'jq({n: .return.n})'", "jq(.)", "5", "order",
                                  "'jq(.return | map(.n))'", "jq(length)"}) {
    EXPECT_THAT(places(foreach, input), IsEmpty()) << input;
  }
}

}  // namespace
}  // namespace millrace
