#include "orchestrator/definition/lint_calls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LintCalls, PointsOutACallThatNoTimeoutEnds) {
  const auto text = [](const char* workflow, const char* function, const char* state,
                       const char* action) {
    return fmt::format(
        "id: a\n{}\nfunctions:\n- {{id: f, type: knative-namespace, service: stock{}}}\n"
        "states:\n- {{id: s, type: action{}, action: {{function: f{}}}}}\n",
        workflow, function, state, action);
  };
  const std::string unbounded = text("", "", "", "");
  constexpr const char* kCode = "lint.call_unbounded";
  EXPECT_THAT(places_of(kCode, unbounded, {}), ElementsAre("note states[0].action.function"));
  EXPECT_THAT(places_of(kCode, unbounded,
                        {.names_service = [](const std::string&, bool) { return false; }}),
              ElementsAre("warning states[0].action.function"));
  const auto names_stock = [](const std::string& service, bool is_global) {
    return service == "stock" && !is_global;
  };
  EXPECT_THAT(places_of(kCode, unbounded, {.names_service = names_stock}), IsEmpty());
  EXPECT_THAT(
      notes_of(unbounded),
      ElementsAre("note states[0].action.function: no timeout ends this call if no worker "
                  "takes tasks of the service \"stock\"; give the action or its function a "
                  "timeout, such as `scheduleToCloseTimeout: 1h`, or name the service in the "
                  "settings of the namespace [lint.call_unbounded]"));
  for (const std::string& bounded :
       {text("timeouts: {interrupt: 1h}", "", "", ""), text("workflowRunTimeout: 1h", "", "", ""),
        text("", ", scheduleToCloseTimeout: 1h", "", ""),
        text("", "", "", ", scheduleToCloseTimeout: 1h"), text("", "", ", timeout: 1h", ""),
        text("", "", "", ", maxRuntime: 1h")}) {
    EXPECT_NE(load_and_lint(bounded, nullptr).workflow, nullptr) << bounded;
    EXPECT_THAT(places_of(kCode, bounded, {}), IsEmpty()) << bounded;
  }
}

}  // namespace
}  // namespace millrace
