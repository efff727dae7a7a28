#include "orchestrator/definition/lint_timeouts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LintTimeouts, WarnsOfTimeoutsThatNeverExpire) {
  const auto warnings = [](const char* keys) {
    std::vector<std::string> found =
        lint_of(fmt::format("id: a\n{}\nstates: [{{id: a, type: noop}}]", keys));
    std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
    return found;
  };
  struct Row {
    const char* keys;
    const char* warning;
  };
  for (const Row& row : std::vector<Row>{
           {"timeouts: {interrupt: PT2H, kill: PT1H}",
            "warning timeouts.interrupt: this timeout has no effect: `timeouts.kill` (PT1H) "
            "expires first; write a shorter time here or a longer one there [lint.timeout_never]"},
           {"workflowExecutionTimeout: 1h\nworkflowRunTimeout: PT60M",
            "warning workflowRunTimeout: this timeout has no effect: `workflowExecutionTimeout` "
            "(1h) expires first; write a shorter time here or a longer one there "
            "[lint.timeout_never]"},
           {"timeout: 1h\nworkflowRunTimeout: 2h",
            "warning workflowRunTimeout: this timeout has no effect: `timeout` (1h) expires first; "
            "write a shorter time here or a longer one there [lint.timeout_never]"},
           {"workflowRunTimeout: 2h\ntimeouts: {kill: PT1H}",
            "warning workflowRunTimeout: this timeout has no effect: `timeouts.kill` (PT1H) "
            "expires first; write a shorter time here or a longer one there [lint.timeout_never]"},
           {"timeout: 2h\non_failure: a\ntimeouts: {kill: PT1H}",
            "warning timeout: this timeout has no effect: `timeouts.kill` (PT1H) expires first; "
            "write a shorter time here or a longer one there [lint.timeout_never]"},
       }) {
    EXPECT_THAT(warnings(row.keys), ElementsAre(row.warning)) << row.keys;
  }
  for (const char* keys : {
           "timeouts: {interrupt: PT1H, kill: PT2H}",
           "workflowExecutionTimeout: 2h\nworkflowRunTimeout: 1h",
           // Each run has its own `kill` timeout.
           "timeout: 2h\ntimeouts: {kill: PT1H}\nretries: 'fixed(3, 1s)'",
           "timeout: 2h\ntimeouts: {kill: PT1H}\nstart: {type: scheduled, cron: '@daily'}",
       }) {
    EXPECT_THAT(warnings(keys), IsEmpty()) << keys;
  }
}

TEST(LintTimeouts, NamesTheTimeoutThatExpiresFirstAndTheCorrection) {
  struct Row {
    const char* function;
    const char* state;
    const char* action;
    const char* warning;
  };
  constexpr const char* kMend = "expires first; write a shorter time here or a longer one there ";
  for (const Row& row : std::vector<Row>{
           {"", ", timeout: PT5M", ", timeout: 6m",
            "action.timeout: this timeout has no effect: the state's `timeout` (PT5M) "},
           {", deadline: 1h", "", ", timeout: 2h, timeout_scope: per_attempt",
            "action.timeout: this timeout has no effect: `deadline` (1h) "},
           {"", "", ", maxInactivity: 2h, maxRuntime: {timeout: 1h}",
            "action.maxInactivity: this timeout has no effect: `maxRuntime` (1h) "},
       }) {
    EXPECT_THAT(
        warnings_of(
            fmt::format("id: a\nfunctions: [{{id: f, type: knative-namespace, service: s{}}}]\n"
                        "states: [{{id: a, type: action{}, action: {{function: f{}}}}}]",
                        row.function, row.state, row.action)),
        ElementsAre(fmt::format("warning states[0].{}{}[lint.timeout_never]", row.warning, kMend)));
  }
  EXPECT_THAT(
      warnings_of(R"(
id: a
functions:
- {id: f, type: subflow, workflow: w, startToCloseTimeout: 1h, retries: 'fixed(3, 1s)'}
states:
- {id: a, type: action, async: true, action: {function: f}}
)"),
      ElementsAre(
          "warning functions[0].startToCloseTimeout: this timeout has no effect: an `async` call "
          "is made once, and nothing waits for it; remove it, or remove `async` "
          "[lint.timeout_never]",
          "warning functions[0].retries: this policy never causes a retry: an `async` call is made "
          "once, and nothing waits for it; remove it, or remove `async` [lint.retry_hidden]"));
}

/// A key of a function is reported only if no call uses it.
TEST(LintTimeouts, ReportsATimeoutOrRetriesOfAFunctionOnlyIfNoCallUsesThem) {
  const auto places = [](const char* second) {
    std::vector<std::string> found;
    for (const std::string& one : warnings_of(fmt::format(
             "id: a\nfunctions: [{{id: f, type: knative-namespace, service: s, "
             "startToCloseTimeout: 1h, retries: 'fixed(3, 1h)'}}]\nstates:\n"
             "- {{id: a, type: action, timeout: 1m, action: {{function: f}}, transition: b}}\n"
             "- {{id: b, type: action, action: {{function: f{}}}}}\n",
             second))) {
      found.push_back(one.substr(0, one.find(": ")));
    }
    return found;
  };
  EXPECT_THAT(places(""), IsEmpty());
  EXPECT_THAT(places(", startToCloseTimeout: 1m"),
              ElementsAre("warning functions[0].startToCloseTimeout"));
  EXPECT_THAT(places(", retries: 'fixed(3, 1s)'"), ElementsAre("warning functions[0].retries"));
}

TEST(LintTimeouts, WarnsOfTheRetriesOfAStateIfEachActionSetsItsOwnRetries) {
  const auto warnings = [](const char* state) {
    std::vector<std::string> found = lint_of(fmt::format("id: a\nstates: [{{id: a, {}}}]", state));
    std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
    return found;
  };
  const std::vector<std::string> hidden = {
      "warning states[0].retries: this policy never causes a retry: every action has its own "
      "policy; remove it here, or from an action [lint.retry_hidden]"};
  EXPECT_EQ(warnings("type: action, retries: 'fixed(3, 1s)', action: {function: f, retry: {}}"),
            hidden);
  EXPECT_EQ(warnings("type: parallel, retries: 'fixed(3, 1s)', actions: [{function: f, retry: {}}, "
                     "{function: f, retries: {maximumAttempts: 1}}]"),
            hidden);
  EXPECT_THAT(warnings("type: action, retries: 'fixed(3, 1s)', action: {function: f}"), IsEmpty());
  EXPECT_THAT(warnings("type: parallel, retries: 'fixed(3, 1s)', actions: [{function: f}, "
                       "{function: f, retry: {}}]"),
              IsEmpty());
  EXPECT_THAT(warnings("type: noop, log: jq(.a), retries: 'fixed(3, 1s)'"), IsEmpty());
}

}  // namespace
}  // namespace millrace
