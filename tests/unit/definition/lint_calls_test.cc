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
                  "timeout, such as `scheduleToCloseTimeout: 1h` with `retries: "
                  "{maximumAttempts: 1}`, which makes one attempt only, or name the service in the "
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

TEST(LintCalls, PointsOutACompensationThatNoTimeoutEndsAlsoIfTheWorkflowHasOne) {
  const auto text = [](const char* more) {
    return fmt::format(
        "id: a\ntimeout: 1h\ncompensate: true\nfunctions:\n- {{id: f, type: service, service: s}}\n"
        "states:\n- {{id: s, type: action, action: {{function: f}}, timeout: 1h, "
        "compensate: {{function: f{}}}}}\n",
        more);
  };
  EXPECT_THAT(places_of("lint.call_unbounded", text(""), {}),
              ElementsAre("note states[0].compensate.function"));
  EXPECT_THAT(places_of("lint.call_unbounded", text(", scheduleToCloseTimeout: 1h"), {}),
              IsEmpty());
}

TEST(LintCalls, ProposesOneAttemptUnlessTheCallHasARetryPolicy) {
  const auto proposes = [](const char* function, const char* state, const char* action,
                           const char* undo) {
    std::string found;
    for (const std::string& note : notes_of(fmt::format(
             "id: a\ncompensate: true\nfunctions:\n- {{id: f, type: service, service: s{}}}\n"
             "states:\n- {{id: s, type: action{}, action: {{function: f{}}}, "
             "compensate: {{function: f{}}}}}\n",
             function, state, action, undo))) {
      if (!note.ends_with("[lint.call_unbounded]")) continue;
      found += note.find("maximumAttempts") == std::string::npos ? "no " : "yes ";
    }
    return found;
  };
  const char* const retries = ", retries: {maximumAttempts: 2}";
  EXPECT_EQ(proposes("", "", "", ""), "yes yes ");
  EXPECT_EQ(proposes(retries, "", "", ""), "no no ");
  EXPECT_EQ(proposes("", retries, "", ""), "no yes ");
  EXPECT_EQ(proposes("", "", retries, ""), "no yes ");
  EXPECT_EQ(proposes("", "", "", retries), "yes no ");
}

TEST(LintCalls, PointsOutAServiceThatNothingServes) {
  constexpr const char* kCalls =
      "id: a\nfunctions:\n- {id: f, type: service, service: ship, scheduleToCloseTimeout: 1h}\n"
      "- {id: g, type: knative-global, service: ship, scheduleToCloseTimeout: 1h}\n"
      "states:\n- {id: s, type: action, action: {function: f}, transition: t}\n"
      "- {id: t, type: action, action: {function: g}}\n";
  constexpr const char* kCode = "lint.service_unserved";
  const auto unserved = [&](const IsUnserved& is_unserved) {
    return places_of(kCode, kCalls, {.is_unserved = is_unserved});
  };
  EXPECT_THAT(unserved(nullptr), IsEmpty()) << "that is not known";
  EXPECT_THAT(unserved([](const std::string&, bool) { return false; }), IsEmpty());
  EXPECT_THAT(unserved([](const std::string& service, bool is_global) {
                return service == "ship" && !is_global;
              }),
              ElementsAre("warning functions[0].service"));
  EXPECT_THAT(unserved([](const std::string&, bool is_global) { return is_global; }),
              ElementsAre("warning functions[1].service"));
}

TEST(LintCalls, PointsOutFilesThatWorkersWouldGet) {
  constexpr const char* kCalls =
      "id: a\nfunctions:\n"
      "- {id: f, type: service, service: ship, files: [{key: x}], scheduleToCloseTimeout: 1h}\n"
      "- {id: g, type: knative-global, service: ship, files: [{key: x}], "
      "scheduleToCloseTimeout: 1h}\n"
      "- {id: h, type: service, service: ship, scheduleToCloseTimeout: 1h}\n"
      "states:\n- {id: s, type: action, action: {function: f}, transition: t}\n"
      "- {id: t, type: action, action: {function: g}, transition: u}\n"
      "- {id: u, type: action, action: {function: h}}\n";
  constexpr const char* kCode = "lint.files_for_workers";
  EXPECT_THAT(places_of(kCode, kCalls, {}),
              ElementsAre("note functions[0].files", "note functions[1].files"));
  const LintContext context{
      .has_workers = [](const std::string&, bool is_global) { return !is_global; },
      .is_unserved = [](const std::string&, bool) { return true; }};
  EXPECT_THAT(places_of(kCode, kCalls, context), ElementsAre("warning functions[0].files"));
  EXPECT_THAT(places_of("lint.service_unserved", kCalls, context),
              ElementsAre("warning functions[2].service"))
      << "calls with files do not wait for a worker";
}

TEST(LintCalls, PointsOutAnImageThatNoContainerMayHave) {
  const auto text = [](const char* image) {
    return fmt::format(
        "id: a\nfunctions:\n- {{id: f, type: container, image: '{}'}}\n"
        "states:\n- {{id: s, type: action, action: {{function: f}}, timeout: 1h}}\n",
        image);
  };
  EXPECT_THAT(
      warnings_of(text("oci:shop")),
      ElementsAre("warning functions[0].image: each call of this function ends with "
                  "millrace.function.unavailable: `oci:shop` may be a place on the machine of the "
                  "runtime; write the registry of the image, such as docker.io/library/oci:shop; "
                  "correct the name of the image [lint.call_never]"));
  for (const char* const image : {"dir:x", "docker-archive:x.tar", "x:", "x//y"}) {
    EXPECT_NE(load_and_lint(text(image), nullptr).workflow, nullptr) << image;
    EXPECT_THAT(places_of("lint.call_never", text(image), {}),
                ElementsAre("warning functions[0].image"))
        << image;
  }
  for (const char* const image : {"busybox", "docker.io/library/oci:shop", "docker:27"}) {
    EXPECT_THAT(warnings_of(text(image)), IsEmpty()) << image;
  }
}

}  // namespace
}  // namespace millrace
