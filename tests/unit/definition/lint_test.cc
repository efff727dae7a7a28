#include "orchestrator/definition/lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Lint, PointsOutUnusedFunctionsUnusedSchemasUselessScaleAndMissingCron) {
  EXPECT_THAT(
      lint_of(R"(
id: a
functions:
- {id: used, type: isolated, image: i, scale: 2}
- {id: idle, type: subflow, workflow: w}
schemas:
- {id: order, schema: {}}
- {id: other, schema: {}}
start: {type: scheduled}
states:
- {id: a, type: foreach, array: jq(.a), action: {function: used}, transition: b}
- {id: b, type: validate, schema: order}
)"),
      ElementsAre(
          "note functions[0].scale: `scale` has no effect: this type starts a new container "
          "for each call; remove `scale`, or write `type: container-pool` [lint.scale]",
          "warning functions[1].id: no action calls this function; remove it, or name it in the "
          "`function` of an action [lint.unused]",
          "warning schemas[1].id: no state refers to this schema; remove it, or name it in the "
          "`schema` of a validate state [lint.unused]",
          "warning start: without `cron` the schedule never starts an instance; write "
          "`cron`, such as cron: '@hourly' [lint.never_starts]"));
}

TEST(Lint, TreatsAnOnFailureStateThatRunsAfterATimeoutAsReachable) {
  EXPECT_THAT(
      lint_of(R"(
id: a
timeout: 1h
on_failure: refund
states:
- {id: pay, type: delay, duration: PT1M}
- {id: refund, type: noop, transition: tell}
- {id: tell, type: noop}
- {id: lost, type: noop}
)"),
      ElementsAre("warning states[3].id: nothing leads to this state; remove it, or name it in a "
                  "`transition` [lint.unreachable]"));
  EXPECT_THAT(
      lint_of(R"(
id: a
timeout: 1h
on_failure: pay
start: {type: default, state: refund}
states:
- {id: pay, type: noop}
- {id: refund, type: noop}
- {id: lost, type: noop}
)"),
      ElementsAre("warning states[2].id: nothing leads to this state; remove it, or name it in a "
                  "`transition` [lint.unreachable]"));
}

TEST(Lint, TreatsAnOnFailureStateThatRunsAfterAnyFailureAsReachable) {
  EXPECT_THAT(lint_of(R"(
id: a
on_failure: {state: refund, when: any}
states:
- {id: pay, type: delay, duration: PT1H}
- {id: refund, type: noop}
)"),
              IsEmpty());
}

TEST(Lint, ReportsNothingAboutThousandsOfDifferentEntriesOrStates) {
  // All entries of each list are in one state, so a comparison of each entry with all entries
  // before it would take quadratic time.
  std::string text = "id: a\nstates:\n- id: a\n  type: eventXor\n  events:\n";
  for (int i = 0; i < 15'000; ++i) {
    text += fmt::format("  - {{type: t, context: {{n: '^{}$'}}{}}}\n", i,
                        i == 0 ? ", transition: b" : "");
  }
  text += "- id: b\n  type: action\n  action: {function: f}\n  catch:\n";
  for (int i = 0; i < 15'000; ++i) text += fmt::format("  - error: e{}x*\n", i);
  EXPECT_THAT(lint_of(text), IsEmpty());
  std::string chain = "id: a\nstates:\n";
  for (int i = 0; i < 20'000; ++i) {
    chain += fmt::format("- {{id: s{}, type: noop, transition: s{}}}\n", i, i + 1);
  }
  EXPECT_THAT(lint_of(chain), IsEmpty())
      << "the loader, not lint, reports that state s20000 is missing";
}

TEST(Lint, PointsOutANumberWithoutAUnitInADuration) {
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t}
  timeout: '1h 30'
)"),
              ElementsAre("warning states[0].timeout: 30 without a unit is milliseconds; write "
                          "1h 30ms, or 1h 30s for seconds [lint.unit]"));
}

TEST(Lint, SpellsOutTheAttemptsOfTheRetryPolicyOfAnAction) {
  struct Row {
    const char* policy;
    const char* message;
  };
  for (const Row& row : std::vector<Row>{
           {"{max_attempts: 3, delay: PT1S, multiplier: 2, codes: [a]}",
            "direktiv: up to 4 attempts in all, after waits of 1s, 2s, 4s"},
           {"{max_attempts: 9, delay: PT1M, codes: [a]}",
            "direktiv: up to 10 attempts in all, after waits of 1m, 1m, 1m, 1m, …"},
           {"{max_attempts: 2, delay: 1500ms, multiplier: 1.5, codes: [a]}",
            "direktiv: up to 3 attempts in all, after waits of 1500ms, 2250ms"},
           {"{max_attempts: 2, codes: [a]}", "direktiv: up to 3 attempts in all, without waits"},
           {"{max_attempts: 1, delay: P1M, codes: [a]}",
            "direktiv: up to 2 attempts in all, the first wait being P1M"},
           {"{max_attempts: 0, codes: [a]}",
            "direktiv: one attempt only: max_attempts counts the attempts after the first"},
           {"{maxAttempts: 5, delay: 1s, exponentialBackoff: 2, maxDelay: 3s}",
            "steep: up to 5 attempts in all, after waits of 1s, 2s, 3s, 3s"},
           {"{delay: 1s, exponentialBackoff: 2}", "steep: one attempt only"},
           {"{maxAttempts: 0, delay: 1s}", "steep: no attempt at all: the action is skipped"},
           {"{maxAttempts: -1, delay: 1s}",
            "steep: attempts without end, after waits of 1s, 1s, 1s, 1s, …"},
           {"{maximumAttempts: 0}",
            "temporal: attempts for 10 years, after waits of 1s, 2s, 4s, 8s, …"},
           {"{maxAttempts: 3}",
            "stevora: up to 3 attempts in all, after waits of 1s, 2s, each up to 25% shorter"},
           {"'fixed(3, 1s)'", "zart: up to 3 attempts in all, after waits of 1s, 1s"},
       }) {
    EXPECT_THAT(
        notes_of(fmt::format("id: a\nstates: [{{id: a, type: action, action: {{function: f, "
                             "retry: {}}}}}]",
                             row.policy)),
        ElementsAre(fmt::format("note states[0].action.retry: {} [lint.attempts]", row.message)));
  }
}

TEST(Lint, SpellsOutTheAttemptsOfTheRetryPoliciesOfFunctionsAndWorkflows) {
  EXPECT_THAT(
      lint_of(R"(
id: a
retries: {maximumAttempts: 2}
functions: [{id: f, type: subflow, workflow: w, retry: {}}]
states: [{id: a, type: action, action: {function: f}}]
)"),
      ElementsAre("note retries: temporal: up to 2 attempts in all, after waits of 1s "
                  "[lint.attempts]",
                  "note functions[0].retry: stevora: up to 3 attempts in all, after waits of "
                  "1s, 2s, each up to 25% shorter [lint.attempts]"));
}

TEST(Lint, SpellsOutTheAttemptsThatTemporalsTimeoutsImply) {
  EXPECT_THAT(lint_of(R"(
id: a
functions:
- {id: f, type: subflow, workflow: w}
- {id: g, type: subflow, workflow: w, scheduleToCloseTimeout: 1h}
- {id: h, type: subflow, workflow: w, startToCloseTimeout: 1h, retries: {maximumAttempts: 2}}
states:
- {id: a, type: action, action: {function: f, startToCloseTimeout: 5m}, transition: b}
- {id: b, type: action, action: {function: f, maxRuntime: 5m}, transition: c}
- {id: c, type: action, action: {function: g}, transition: d}
- {id: d, type: action, action: {function: h}, transition: e}
- {id: e, type: action, action: {function: g, retries: {maximumAttempts: 1}}, transition: f}
- {id: f, type: action, retries: {maximumAttempts: 1}, action: {function: g}}
)"),
              ElementsAre("note functions[2].retries: temporal: up to 2 attempts in all, after "
                          "waits of 1s [lint.attempts]",
                          "note states[0].action.function: temporal, by default because of "
                          "`startToCloseTimeout`: attempts for 10 years, after waits of 1s, 2s, "
                          "4s, 8s, …; with `retries: {maximumAttempts: 1}` there is one attempt "
                          "[lint.attempts]",
                          "note states[2].action.function: temporal, by default because of "
                          "`scheduleToCloseTimeout`: attempts for 10 years, after waits of 1s, 2s, "
                          "4s, 8s, …; with `retries: {maximumAttempts: 1}` there is one attempt "
                          "[lint.attempts]",
                          "note states[4].action.retries: temporal: one attempt only "
                          "[lint.attempts]",
                          "note states[5].retries: temporal: one attempt only [lint.attempts]"));
}

TEST(Lint, SpellsOutTheAttemptsThatTemporalsTimeoutsOfACompensationImply) {
  const auto notes = [](const char* function, const char* undo) {
    return places_of("lint.attempts",
                     fmt::format(R"(
id: a
compensate: true
functions: [{{id: f, type: subflow, workflow: w{}}}]
states:
- id: a
  type: action
  retries: {{maximumAttempts: 1}}
  action: {{function: f}}
  compensate: {{function: f{}}}
)",
                                 function, undo),
                     {});
  };
  const char* const timeout = ", scheduleToCloseTimeout: 1h";
  const char* const retried = ", scheduleToCloseTimeout: 1h, retries: {maximumAttempts: 2}";
  const char* const own = "note states[0].retries";
  EXPECT_THAT(notes("", ""), ElementsAre(own));
  EXPECT_THAT(notes("", timeout), ElementsAre(own, "note states[0].compensate.function"));
  EXPECT_THAT(notes(timeout, ""), ElementsAre(own, "note states[0].compensate.function"));
  EXPECT_THAT(notes("", retried), ElementsAre(own, "note states[0].compensate.retries"));
  EXPECT_THAT(notes(retried, ""), ElementsAre("note functions[0].retries", own));
}

TEST(Lint, ShowsTheNextFiveTicksOfASchedule) {
  const Loaded loaded = load_and_lint(
      "id: a\nstart: {type: scheduled, cron: CRON_TZ=Europe/Vienna 30 2 * * *}\n"
      "states: [{id: s, type: noop}]\n",
      nullptr, nullptr, {.now = from_millis(1'711'670'400'000)});  // 2024-03-29T00:00:00Z
  ASSERT_NE(loaded.workflow, nullptr);
  const std::vector<Finding> findings = loaded.findings.sorted();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(
      findings[0].message,
      "the next ticks of this schedule are 2024-03-29T01:30:00.000Z, 2024-03-30T01:30:00.000Z, "
      "2024-03-31T01:00:00.000Z, 2024-04-01T00:30:00.000Z, 2024-04-02T00:30:00.000Z");
}

/// The findings of the loader and lint: `line:column code`.
std::vector<std::string> all_findings_in(const std::string& text) {
  std::vector<std::string> found;
  for (const Finding& one : load_and_lint(text, nullptr).findings.sorted()) {
    found.push_back(described(one));
  }
  return found;
}

TEST(Lint, WarnsAboutThePartsWithoutErrorsOfADefinitionThatHasErrors) {
  EXPECT_THAT(
      all_findings_in(R"(id: a
timeouts: {kill: PT1H, interupt: PT1H}
functions:
- {id: f, type: subflow, workflow: w}
states:
- id: wait
  type: consumeEvent
  event: {type: payment.received, context: {order: .order}}
  timeout: P1D
  transform: jq(.payment.received.amount)
  catch:
  - {error: direktiv.statetimeout, transition: done}
  transition: don
- id: choose
  type: switch
  conditions:
  - {condition: jq(.a = 3), transition: done}
  - {condition: jq(1 +), transition: done}
  - {condition: jq(false), transition: done}
- {id: done, type: noop}
)"),
      ElementsAre("2:24 definition.unknown_key", "8:52 lint.literal_jq", "9:12 lint.timeout_never",
                  "10:14 lint.split_key", "12:13 lint.unknown_code", "13:15 definition.no_state",
                  "17:17 lint.condition_assigns", "19:17 lint.condition_never"));
}

/// A refused value causes no other finding, neither by its text nor by its absence.
TEST(Lint, OmitsFindingsThatFollowFromARefusedValue) {
  EXPECT_THAT(all_findings_in("id: a\ntimeouts: {kill: 30}\nstates:\n"
                              "- {id: a, type: consumeEvent, event: {type: t}, timeout: PT1H}\n"),
              ElementsAre("2:18 definition.type"));
  EXPECT_THAT(all_findings_in("id: a\ntimeouts: {kill: PT1X, interrupt: PT2H}\nstates:\n"
                              "- {id: a, type: delay, duration: PT1H}\n"),
              ElementsAre("2:18 duration.unit"));
  EXPECT_THAT(
      all_findings_in("id: a\nfunctions: [{id: f, type: knative-namespace, service: s, "
                      "startToCloseTimeout: 30}]\n"
                      "states: [{id: a, type: action, action: {function: f}, timeout: -1h}]\n"),
      ElementsAre("2:79 definition.type", "3:64 duration.negative"))
      << "a refused timeout does not count as missing";
  EXPECT_THAT(all_findings_in("id: a\nstates:\n- id: a\n  type: setter\n  variables:\n"
                              "  - {scope: instnace, key: k, value: 1}\n"
                              "  - {scope: instance, key: k, value: 2}\n"),
              ElementsAre("6:13 definition.value"));
  EXPECT_THAT(all_findings_in("id: a\nstates:\n- id: a\n  type: consumeEvent\n"
                              "  event: {type: t}\n  timeout: 0\n"
                              "  catch: [{error: direktiv.stateTimeout}]\n"),
              ElementsAre("6:12 definition.type"));
}

/// A misspelt name causes no finding about the whole definition.
TEST(Lint, OmitsFindingsThatFollowFromAMisspeltName) {
  EXPECT_THAT(all_findings_in(R"(id: a
timeouts: {interrupt: PT1H}
on_failure: {state: clena, when: any}
functions:
- {id: charge, type: subflow, workflow: w, startToCloseTimeout: 1h, retries: 'fixed(3, 1s)'}
states:
- {id: pay, type: action, async: true, action: {function: charge}, transition: both}
- id: both
  type: parallel
  actions: [{function: chrage}]
  catch: [{error: direktiv.cancels.timeout, transition: laet}]
- {id: late, type: delay, duration: PT2H}
- {id: clean, type: delay, duration: PT2H}
)"),
              ElementsAre("3:21 definition.no_state", "5:69 lint.attempts",
                          "10:24 definition.no_function", "11:57 definition.no_state"));
}

}  // namespace
}  // namespace millrace
