#include "orchestrator/definition/lint_errors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(LintErrors, KnowsWhichStatesCanRaiseTheErrorOfATimeThatIsNotPossible) {
  const auto warnings = [](const char* state, const char* code) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, {}, catch: [{{error: {}}}]}}]", state, code));
  };
  for (const char* state : {
           "type: delay, duration: jq(.wait)",
           "type: delay, until: jq(.at)",
           "type: delay, until: {cron: '@hourly'}",
           "type: consumeEvent, event: {type: t}, timeout: jq(.wait)",
           "type: generateEvent, event: {type: t, source: s}, delay: jq(.wait)",
           "type: noop, transform: .a, retries: {max_attempts: 1, codes: ['*'], delay: jq(.wait)}",
       }) {
    EXPECT_THAT(warnings(state, "millrace.duration.invalid"), IsEmpty()) << state;
    EXPECT_THAT(
        warnings(state, "direktiv.jq.*"),
        std::string_view(state).find("jq(") == std::string_view::npos ? SizeIs(1U) : SizeIs(0U))
        << state;
  }
  for (const char* state : {
           "type: delay, duration: PT1H",
           "type: consumeEvent, event: {type: t}, timeout: PT1H",
           "type: noop, transform: .a",
       }) {
    EXPECT_THAT(warnings(state, "millrace.duration.invalid"),
                ElementsAre(HasSubstr("lint.catch_never")))
        << state;
  }
  EXPECT_THAT(
      warnings("type: consumeEvent, event: {type: t}, until: jq(.at)", "direktiv.stateTimeout"),
      IsEmpty());
}

TEST(LintErrors, KnowsWhetherOneGlobCoversAnother) {
  const auto hidden = [](const char* first, const char* second) {
    return !lint_of(fmt::format("id: a\nstates: [{{id: a, type: action, action: {{function: f}}, "
                                "catch: [{{error: '{}'}}, {{error: '{}'}}]}}]",
                                first, second))
                .empty();
  };
  for (const auto& [first, second] :
       std::vector<std::pair<const char*, const char*>>{{"*", "*"},
                                                        {"*", "a?b*"},
                                                        {"a*", "ab"},
                                                        {"a*", "a*b"},
                                                        {"a*c", "a?c"},
                                                        {"??", "a?"},
                                                        {"*.b", "a.?.b"},
                                                        {"a**", "a*"},
                                                        {"a", "a"},
                                                        {"*a*", "ba"}}) {
    EXPECT_TRUE(hidden(first, second)) << first << " " << second;
  }
  for (const auto& [first, second] :
       std::vector<std::pair<const char*, const char*>>{{"a", "*"},
                                                        {"?", "*"},
                                                        {"a?", "a*"},
                                                        {"a*b", "a*"},
                                                        {"??", "a"},
                                                        {"ab", "a?"},
                                                        {"a.*", "a*"},
                                                        {"*.b", "*.b?"}}) {
    EXPECT_FALSE(hidden(first, second)) << first << " " << second;
  }
}

TEST(LintErrors, WarnsOfACatchOfAnErrorThatItsStateCannotRaise) {
  EXPECT_THAT(
      warnings_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t, context: {order: jq(.order)}}
  catch: [{error: direktiv.stateTimeout}, {error: direktiv.cancels.timeout}, {error: "card\\.*"}]
- id: b
  type: delay
  duration: 1h
  catch: [{error: card.declined}]
)"),
      ElementsAre(
          "warning states[0].catch[0].error: this entry catches nothing: this state can raise "
          "direktiv.event.jq, direktiv.jq.notObject and millrace.limits.data; give the state a "
          "`timeout`, or remove this entry [lint.catch_never]",
          "warning states[0].catch[1].error: this entry catches nothing: this state can raise "
          "direktiv.event.jq, direktiv.jq.notObject and millrace.limits.data; give the workflow an "
          "`interrupt` in `timeouts`, or remove this entry [lint.catch_never]",
          "warning states[0].catch[2].error: this entry catches nothing: an error code has "
          "letters, "
          "digits, `.`, `-` and `_` only, and \"card\\\\.*\" has other characters; write a code; "
          "`*` in it "
          "stands for any run of such characters, `?` for one [lint.catch_never]",
          "warning states[1].id: nothing leads to this state; remove it, or name it in a "
          "`transition` [lint.unreachable]",
          "warning states[1].catch[0].error: this entry catches nothing: this state can raise no "
          "error; remove this entry [lint.catch_never]"));
}

TEST(LintErrors, KnowsThatOnlyAStateThatLooksBackRaisesTheErrorOfItsLimit) {
  const auto warnings = [](const char* key) {
    return warnings_of(fmt::format(R"(
id: a
states:
- id: a
  type: eventXor
  events: [{{type: t{}}}, {{type: u}}]
  catch: [{{error: millrace.limits.lookback}}]
)",
                                   key));
  };
  EXPECT_THAT(warnings(", lookback: PT5M"), IsEmpty());
  EXPECT_THAT(warnings(""), ElementsAre(HasSubstr("lint.catch_never")));
}

TEST(LintErrors, SuggestsTheErrorCodeForAMisspeltErrorCode) {
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: action
  action: {function: f}
  catch:
  - {error: Direktiv.statetimeout}
  - {error: "millrace.timeout.*"}
  - {error: timeout}
)"),
              ElementsAre("warning states[0].catch[0].error: millrace does not raise an error with "
                          "the code \"Direktiv.statetimeout\"; did you mean "
                          "\"direktiv.stateTimeout\"? If not, remove this entry "
                          "[lint.unknown_code]"));
}

TEST(LintErrors, AcceptsAPatternOfCodesThatMatchesACodeThatAFunctionMayRaise) {
  const auto warnings = [](const char* code) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: action, action: {{function: f, "
                    "retries: {{max_attempts: 2, codes: ['{}']}}}}}}]",
                    code));
  };
  for (const char* code : {"direktiv.x|foo", "foo|direktiv.x", "direktiv.x|", "(direktiv.x|foo)",
                           R"(^direktiv\.x$|^foo$)"}) {
    EXPECT_THAT(warnings(code), IsEmpty()) << code;
  }
  for (const char* code : {"direktiv.x", "direktiv.x|millrace.y", R"(direktiv\.(x|y))",
                           "direktiv.x[|]foo", R"(direktiv.x\|foo)"}) {
    EXPECT_THAT(warnings(code), ElementsAre(HasSubstr("lint.unknown_code"))) << code;
  }
}

TEST(LintErrors, WarnsOfRetriesThatACatchPreventsInDirektivsVocabularyOnly) {
  for (const auto& [policy, count] :
       {std::pair("{max_attempts: 1, codes: ['*']}", 1U), std::pair("'fixed(3, 1s)'", 0U)}) {
    std::vector<std::string> found = lint_of(
        fmt::format("id: a\nstates: [{{id: a, type: action, action: {{function: f, retries: "
                    "{}}}, catch: [{{error: '*'}}]}}]",
                    policy));
    std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
    EXPECT_EQ(found.size(), count) << policy;
  }
}

TEST(LintErrors, WarnsOfARetryIfACatchTakesTheErrorFirst) {
  const auto warnings = [](const char* codes, const char* caught) {
    std::vector<std::string> found =
        lint_of(fmt::format("id: a\nstates: [{{id: a, type: action, action: {{function: f}}, "
                            "retries: {{max_attempts: 1, codes: {}}}, catch: [{{error: {}}}]}}]",
                            codes, caught));
    std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
    return found.size();
  };
  EXPECT_EQ(warnings("['*']", "'*'"), 1U);
  EXPECT_EQ(warnings("['.*', ^shop.late$]", "'**'"), 2U);
  EXPECT_EQ(warnings("['^shop\\.late$']", "'shop.*'"), 1U);
  EXPECT_EQ(warnings("['*']", "'shop.*'"), 0U);
  EXPECT_EQ(warnings("['shop']", "'shop'"), 0U)
      << "a pattern may match a part of the code, a glob must match the whole code";
}

/// A policy gets a note if it excludes a timeout from retries, and the timeout is never retried
/// anyway. There is no note for a subflow, which may itself end with the code of the timeout.
TEST(LintErrors, PointsOutATimeoutExcludedFromRetriesThatIsNeverRetriedAnyway) {
  const auto notes = [](const char* type) {
    std::vector<std::string> found =
        notes_of(fmt::format("id: a\nfunctions: [{{id: f, {}}}]\nstates: [{{id: a, type: action, "
                             "timeout: 1h, action: {{function: f, retries: {{maximumAttempts: 2, "
                             "nonRetryableErrors: [millrace.timeout.scheduleToClose, "
                             "millrace.timeout.startToClose]}}}}}}]",
                             type));
    std::erase_if(found, [](const std::string& one) {
      return one.find("lint.retry_never") == std::string::npos;
    });
    return found;
  };
  EXPECT_THAT(notes("type: knative-namespace, service: s"),
              ElementsAre("note states[0].action.retries.nonRetryableErrors[0]: this timeout is "
                          "never retried, with or without this entry; remove this entry "
                          "[lint.retry_never]"));
  EXPECT_THAT(notes("type: subflow, workflow: w"), IsEmpty());
}

TEST(LintErrors, WarnsIfOnFailureDoesNotHandleEveryFailure) {
  const auto warnings = [](const char* on_failure, const char* states) {
    std::vector<std::string> found;
    for (const std::string& one : warnings_of(fmt::format(
             "id: a\ntimeout: 1h\non_failure: {}\nfunctions: [{{id: f, type: knative-namespace, "
             "service: s}}]\nstates:\n{}\n- {{id: refund, type: noop}}\n",
             on_failure, states))) {
      if (one.find("lint.on_failure") != std::string::npos) found.push_back(one);
    }
    return found;
  };
  constexpr const char* kCall = "- {id: pay, type: action, action: {function: f}}";
  const auto warning = [](const char* failure) {
    return fmt::format(
        "warning on_failure: this state runs when `timeout` expires, but not after other failures, "
        "such as {}; write on_failure: {{state: refund, when: any}} to run it after every failure, "
        "or {{state: refund, when: timeout}} to keep it as it is "
        "[lint.on_failure]",
        failure);
  };
  EXPECT_THAT(warnings("refund", kCall), ElementsAre(warning("an error of a call in \"pay\"")));
  EXPECT_THAT(warnings("{state: refund}", kCall),
              ElementsAre(warning("an error of a call in \"pay\"")));
  EXPECT_THAT(warnings("refund", "- {id: no, type: error, error: a.b, message: c}"),
              ElementsAre(warning("the Error state \"no\"")));
  EXPECT_THAT(warnings("refund", "- {id: w, type: consumeEvent, timeout: 1m, event: {type: t}}"),
              ElementsAre(warning("direktiv.stateTimeout in \"w\"")));
  EXPECT_THAT(warnings("refund", "- {id: n, type: noop, transform: 'jq({a: .b.c})'}"),
              ElementsAre(warning("direktiv.jq.badCommand in \"n\"")));
  // There is no warning if `when` is written, or if `any` and `timeout` have the same effect.
  for (const char* choice : {"{state: refund, when: any}", "{state: refund, when: timeout}"}) {
    EXPECT_THAT(warnings(choice, kCall), IsEmpty());
  }
  for (const char* state :
       {"- {id: w, type: consumeEvent, event: {type: t}}",
        "- {id: w, type: consumeEvent, timeout: 1m, event: {type: t}, catch: [{error: "
        "direktiv.stateTimeout}]}",
        "- {id: pay, type: action, action: {function: f}, catch: [{error: '*'}]}",
        "- {id: pay, type: action, async: true, action: {function: f}, catch: [{error: "
        "'direktiv.*'}]}"}) {
    EXPECT_THAT(warnings("refund", state), IsEmpty()) << state;
  }
  EXPECT_THAT(warnings("notify",
                       "- {id: w, type: delay, duration: 1m}\n- {id: notify, type: action, "
                       "action: {function: f}}"),
              IsEmpty())
      << "the instance has already failed when it enters on_failure";
}

}  // namespace
}  // namespace millrace
