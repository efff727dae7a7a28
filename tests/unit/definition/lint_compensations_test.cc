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
- {{id: a, type: action, action: {{function: f}}{}}}
)",
                     more, state);
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
- {id: act, type: action, action: {function: f}, compensate: {function: f}}
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
