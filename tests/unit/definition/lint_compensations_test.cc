#include "orchestrator/definition/lint_compensations.h"

#include <string>

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

}  // namespace
}  // namespace millrace
