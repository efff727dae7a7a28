#include "orchestrator/definition/lint.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/corpus.h"
#include "tests/unit/expressions/pool_fixture.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kExpected = "tests/corpus/lint/bad.expected";

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/lint/" + folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string described(const Finding& finding) {
  return fmt::format("{}:{} {}", finding.at.line, finding.at.column, finding.code);
}

/// Notes of these codes say how the text is read, and have nothing to mend.
bool is_fact(const Finding& finding) {
  return finding.code == "lint.attempts" || finding.code == "lint.ticks";
}

class LintCorpusTest : public PoolTest {
 protected:
  std::vector<Finding> all_findings_in(std::string_view text) {
    return load_and_lint(
               text, [&](std::span<const std::string> programs) { return pool().check(programs); })
        .findings.sorted();
  }

  /// Errors and warnings.
  std::vector<Finding> findings_in(std::string_view text) {
    std::vector<Finding> findings = all_findings_in(text);
    std::erase_if(findings, [](const Finding& one) { return one.severity == Severity::kNote; });
    return findings;
  }
};

/// Each file holds one mistake; where it is found and the message stand in bad.expected.
/// UPDATE_GOLDEN=1 rewrites.
TEST_F(LintCorpusTest, FindsTheOneMistakeOfEachFile) {
  std::string found;
  size_t files = 0;
  for (const auto& file : files_in("bad")) {
    const std::vector<Finding> findings = findings_in(read_text_file(file));
    ++files;
    ASSERT_EQ(findings.size(), 1U) << file;
    found += fmt::format("{} {}: {}\n", file.stem().string(), described(findings.front()),
                         findings.front().message);
  }
  EXPECT_GE(files, 60U);
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    write_text_file(kExpected, found);
  } else {
    EXPECT_EQ(found, read_text_file(kExpected));
  }
}

TEST_F(LintCorpusTest, FindsNothingInGoodFiles) {
  size_t files = 0;
  for (const auto& file : files_in("good")) {
    ++files;
    for (const Finding& finding : findings_in(read_text_file(file))) {
      ADD_FAILURE() << file << ": " << described(finding) << ": " << finding.message;
    }
  }
  EXPECT_GE(files, 60U);
}

/// Also of a note, and also where the definition is right otherwise.
TEST_F(LintCorpusTest, NamesAMendWithEveryDoubt) {
  size_t doubts = 0;
  for (const char* folder : {"bad", "good"}) {
    for (const auto& file : files_in(folder)) {
      for (const Finding& one : all_findings_in(read_text_file(file))) {
        if (one.severity == Severity::kError || is_fact(one)) continue;
        ++doubts;
        EXPECT_NE(one.mend, "") << file << ": " << described(one);
        EXPECT_THAT(one.message, EndsWith("; " + one.mend)) << file;
      }
    }
  }
  EXPECT_GE(doubts, 100U);
}

/// The rows of the table of findings in docs/language.md, each as its cells.
std::vector<std::vector<std::string>> documented_findings() {
  const std::string text = read_text_file("docs/language.md");
  std::istringstream lines(text.substr(text.find("## What lint finds")));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (size_t at = 2; at < line.size();) {
      const size_t end = line.find(" |", at);
      cells.push_back(line.substr(at, end - at));
      at = end + 2;
      if (line.compare(at, 2, " |") != 0) ++at;  // else the next cell is empty
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

TEST_F(LintCorpusTest, FindsWhatIsDocumentedWithAMend) {
  std::string codes;
  for (const std::vector<std::string>& cells : documented_findings()) {
    ASSERT_EQ(cells.size(), 4U) << cells.front();
    for (const std::string& cell : cells) EXPECT_NE(cell, "") << cells.front();
    codes += cells.front() + " ";
  }
  for (const auto& file : files_in("bad")) {
    for (const Finding& one : all_findings_in(read_text_file(file))) {
      if (one.severity == Severity::kError) continue;
      EXPECT_THAT(codes, HasSubstr("`" + one.code + "`")) << file;
    }
  }
}

TEST_F(LintCorpusTest, FindsNothingInTheExamples) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".yaml") || name.ends_with(".test.yaml")) continue;
    for (const Finding& finding : findings_in(read_text_file(entry.path()))) {
      ADD_FAILURE() << entry.path() << ": " << described(finding) << ": " << finding.message;
    }
  }
}

/// A definition of the largest size: 2 000 states, each with a program of its own for the workers.
TEST_F(LintCorpusTest, FindsTheWrongProgramsAmongThousands) {
  std::string text = "id: big\nstates:\n";
  for (int i = 0; i < 2000; ++i) {
    const bool is_wrong = i == 0 || i == 777 || i == 1999;
    text += fmt::format(
        "- id: s{}\n  type: noop\n  log: {}\n"
        "  transform: 'jq(.items | map(select(.n > {})) | {} as $l | [$l, .x])'\n{}",
        i, std::string(390, 'x'), i, is_wrong ? "lenght" : "length",
        i < 1999 ? fmt::format("  transition: s{}\n", i + 1) : "");
  }
  std::vector<std::string> found;
  for (const Finding& finding : findings_in(text)) {
    found.push_back(fmt::format("{}: {}", finding.path, finding.message));
  }
  EXPECT_THAT(
      found,
      ElementsAre(
          "states[0].transform: there is no function `lenght` at column 32; did you mean `length`?",
          "states[777].transform: there is no function `lenght` at column 34; did you mean "
          "`length`?",
          "states[1999].transform: there is no function `lenght` at column 35; did you mean "
          "`length`?"));
}

/// What lint alone says of a text, all severities: `line:column path: message [code]`.
std::vector<std::string> lint_of(const std::string& text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (document) lint(*document, findings);
  std::vector<std::string> out;
  for (const Finding& one : findings.sorted()) {
    out.push_back(fmt::format("{} {}: {} [{}]",
                              one.severity == Severity::kNote ? "note" : "warning", one.path,
                              one.message, one.code));
  }
  return out;
}

/// The same without notes.
std::vector<std::string> warnings_of(const std::string& text) {
  std::vector<std::string> found = lint_of(text);
  std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
  return found;
}

/// The notes alone.
std::vector<std::string> notes_of(const std::string& text) {
  std::vector<std::string> found = lint_of(text);
  std::erase_if(found, [](const std::string& one) { return !one.starts_with("note"); });
  return found;
}

/// `severity path` of the findings with that code.
std::vector<std::string> places_of(std::string_view code, const std::string& text,
                                   const LintContext& context) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (document) lint(*document, findings, context);
  std::vector<std::string> out;
  for (const Finding& one : findings.sorted()) {
    if (one.code != code) continue;
    out.push_back((one.severity == Severity::kNote ? "note " : "warning ") + one.path);
  }
  return out;
}

TEST(LintNotes, PointOutWhatMayBeMeantOtherwise) {
  EXPECT_THAT(
      lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t, context: {venue: Sydney, source: ^a, time: "12:", town: "^b$", id: jq(.id)}}
  transform: .t
)"),
      ElementsAre("note states[0].event.context.venue: \"Sydney\" matches longer texts that "
                  "contain it, too; write ^…$ around it for itself alone [lint.unanchored]",
                  "note states[0].transform: a bare text is a jq program in this field "
                  "only; write jq(.t) [lint.bare_jq]"));
}

TEST(LintOfRetries, SpellsOutTheAttempts) {
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
            "direktiv: one attempt only: max_attempts counts those behind the first"},
           {"{maxAttempts: 5, delay: 1s, exponentialBackoff: 2, maxDelay: 3s}",
            "steep: up to 5 attempts in all, after waits of 1s, 2s, 3s, 3s"},
           {"{delay: 1s, exponentialBackoff: 2}", "steep: one attempt only"},
           {"{maxAttempts: 0, delay: 1s}", "steep: no attempt at all: the action is passed over"},
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

TEST(LintOfRetries, SpellsOutThoseOfFunctionsAndWorkflows) {
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

TEST(LintOfRetries, WarnsOfThoseThatNoActionTakes) {
  const auto warnings = [](const char* state) {
    std::vector<std::string> found = lint_of(fmt::format("id: a\nstates: [{{id: a, {}}}]", state));
    std::erase_if(found, [](const std::string& one) { return one.starts_with("note"); });
    return found;
  };
  const std::vector<std::string> hidden = {
      "warning states[0].retries: nothing is tried again by this: every action has a policy of its "
      "own; remove it here, or from an action [lint.retry_hidden]"};
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

TEST(LintOfRetries, NotesDefaultsThatNoActionNeeds) {
  const auto places = [](const char* action) {
    return places_of("lint.unused",
                     fmt::format("id: a\ndefaults: temporal\nfunctions: [{{id: f, type: subflow, "
                                 "workflow: w}}]\nstates: [{{id: a, type: action, {}}}]",
                                 action),
                     {});
  };
  EXPECT_THAT(places("action: {function: f, retries: 'fixed(3, 1s)'}"),
              ElementsAre("note defaults"));
  EXPECT_THAT(places("async: true, action: {function: f}"), ElementsAre("note defaults"));
  EXPECT_THAT(places("action: {function: f}"), IsEmpty());
}

TEST(LintOfRetries, AsksCatchFirstInDirektivsVocabularyOnly) {
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

TEST(LintOfTimeouts, WarnsOfThoseThatAreNeverOver) {
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
            "warning timeouts.interrupt: this has no effect: `timeouts.kill` (PT1H) expires first; "
            "write a shorter time here or a longer one there [lint.timeout_never]"},
           {"workflowExecutionTimeout: 1h\nworkflowRunTimeout: PT60M",
            "warning workflowRunTimeout: this has no effect: `workflowExecutionTimeout` (1h) "
            "expires first; write a shorter time here or a longer one there [lint.timeout_never]"},
           {"timeout: 1h\nworkflowRunTimeout: 2h",
            "warning workflowRunTimeout: this has no effect: `timeout` (1h) expires first; write a "
            "shorter time here or a longer one there [lint.timeout_never]"},
           {"workflowRunTimeout: 2h\ntimeouts: {kill: PT1H}",
            "warning workflowRunTimeout: this has no effect: `timeouts.kill` (PT1H) expires first; "
            "write a shorter time here or a longer one there [lint.timeout_never]"},
           {"timeout: 2h\non_failure: a\ntimeouts: {kill: PT1H}",
            "warning timeout: this has no effect: `timeouts.kill` (PT1H) expires first; write a "
            "shorter time here or a longer one there [lint.timeout_never]"},
       }) {
    EXPECT_THAT(warnings(row.keys), ElementsAre(row.warning)) << row.keys;
  }
  for (const char* keys : {
           "timeouts: {interrupt: PT1H, kill: PT2H}",
           "workflowExecutionTimeout: 2h\nworkflowRunTimeout: 1h",
           // Each run has its own kill.
           "timeout: 2h\ntimeouts: {kill: PT1H}\nretries: 'fixed(3, 1s)'",
           "timeout: 2h\ntimeouts: {kill: PT1H}\nstart: {type: scheduled, cron: '@daily'}",
       }) {
    EXPECT_THAT(warnings(keys), IsEmpty()) << keys;
  }
}

TEST(LintOfTimeouts, SaysWhichOneExpiresFirstAndWhatToWrite) {
  struct Row {
    const char* function;
    const char* state;
    const char* action;
    const char* warning;
  };
  constexpr const char* kMend = "expires first; write a shorter time here or a longer one there ";
  for (const Row& row : std::vector<Row>{
           {"", ", timeout: PT5M", ", timeout: 6m",
            "action.timeout: this has no effect: the "
            "state's `timeout` (PT5M) "},
           {", deadline: 1h", "", ", timeout: 2h, timeout_scope: per_attempt",
            "action.timeout: this has no effect: `deadline` (1h) "},
           {"", "", ", maxInactivity: 2h, maxRuntime: {timeout: 1h}",
            "action.maxInactivity: this has no effect: `maxRuntime` (1h) "},
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
          "warning functions[0].startToCloseTimeout: this has no effect: an `async` call is "
          "made once, and nothing waits for it; remove it, or remove `async` [lint.timeout_never]",
          "warning functions[0].retries: nothing is tried again by this: an `async` call is "
          "made once, and nothing waits for it; remove it, or remove `async` "
          "[lint.retry_hidden]"));
}

/// A function's key is pointed out only where no call uses it.
TEST(LintOfTimeouts, LooksAtEveryCallOfAFunction) {
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

TEST(LintOfRetries, PointsOutKeysThatChangeNothing) {
  const auto keys = [](const char* policy) {
    std::vector<std::string> found;
    for (const std::string& one : lint_of(
             fmt::format("id: a\nstates: [{{id: a, type: generateEvent, event: {{type: t, source: "
                         "s}}, retries: {}}}]",
                         policy))) {
      if (one.find("lint.retry_never") == std::string::npos) continue;
      const std::string path = one.substr(0, one.find(": "));
      found.push_back((one.starts_with("note") ? "note " : "") + path.substr(path.rfind('.') + 1));
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  for (const auto& [policy, expected] : std::vector<std::pair<const char*, Keys>>{
           {"{maxAttempts: 1, delay: 1s, exponentialBackoff: 2, maxDelay: 5s}",
            {"delay", "exponentialBackoff", "maxDelay"}},
           {"{max_attempts: 0, delay: 1s, codes: ['*']}", {"delay"}},
           {"{max_attempts: 2, multiplier: 2, codes: ['*']}", {"multiplier"}},
           {"{max_attempts: 1, delay: 1s, multiplier: 2, codes: ['*']}", {"multiplier"}},
           {"{maxAttempts: 3, delay: 1s, maxDelay: 5s}", {"maxDelay"}},
           {"{maxAttempts: 3, delay: 1s, exponentialBackoff: 2, maxDelay: 2s}", {"note maxDelay"}},
           {"{maximumAttempts: 1, nonRetryableErrorTypes: [millrace.event.invalid]}",
            {"nonRetryableErrorTypes"}},
           // near misses
           {"{max_attempts: 2, delay: 1s, multiplier: 2, codes: ['*']}", {}},
           {"{max_attempts: 1, delay: 1s, multiplier: 1, codes: ['*']}", {}},
           {"{maxAttempts: 1, delay: 0, vocabulary: steep}", {}},
           {"{maxAttempts: 3, delay: 1s, exponentialBackoff: 2, maxDelay: 1999ms}", {}},
           {"{maxAttempts: -1, delay: 1s, exponentialBackoff: 1.1, maxDelay: 1h}", {}},
           {"{maximumAttempts: 2, nonRetryableErrors: [millrace.event.invalid]}", {}},
       }) {
    EXPECT_EQ(keys(policy), expected) << policy;
  }
}

TEST(LintOfTimeouts, OnFailureIsAWayInBesideTheStart) {
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

TEST(LintOfTimeouts, WarnsWhereOnFailureLeavesOutAFailure) {
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
        "warning on_failure: this state runs when `timeout` expires, and not when the instance "
        "fails otherwise, such as by {}; write on_failure: {{state: refund, when: any}} to run it "
        "behind every failure, or {{state: refund, when: timeout}} to keep it as it is "
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
  // What the author says, or what makes no difference.
  for (const char* said : {"{state: refund, when: any}", "{state: refund, when: timeout}"}) {
    EXPECT_THAT(warnings(said, kCall), IsEmpty());
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
  EXPECT_THAT(warnings("tell",
                       "- {id: w, type: delay, duration: 1m}\n- {id: tell, type: action, "
                       "action: {function: f}}"),
              IsEmpty())
      << "behind on_failure the instance has failed already";
}

TEST(LintOfTimeouts, OnFailureBehindAnyFailureIsAWayInToo) {
  EXPECT_THAT(lint_of(R"(
id: a
on_failure: {state: refund, when: any}
states:
- {id: pay, type: delay, duration: PT1H}
- {id: refund, type: noop}
)"),
              IsEmpty());
}

TEST(LintOfRetries, WarnsWhereACatchTakesTheErrorBefore) {
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
  EXPECT_EQ(warnings("['shop']", "'shop'"), 0U) << "the pattern is searched, the glob is not";
}

TEST(LintOfFunctions, WarnsOfWhatNothingUses) {
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
      ElementsAre("note functions[0].scale: an isolated function runs in a container of its "
                  "own for each call, whatever `scale` says; remove `scale`, or write `type: "
                  "reusable` [lint.scale]",
                  "warning functions[1].id: no action calls it; remove it, or name it in the "
                  "`function` of an action [lint.unused]",
                  "warning schemas[1].id: no state refers to it; remove it, or name it in the "
                  "`schema` of a validate state [lint.unused]",
                  "warning start: without `cron` the schedule never starts an instance; write "
                  "`cron`, such as cron: '@hourly' [lint.never_starts]"));
}

TEST(LintOfCatches, KnowsWhichGlobsCoverOthers) {
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

TEST(LintOfLargeDefinitions, FindsNothingInThousandsOfEntriesThatDiffer) {
  // All of one state, so that whatever is compared with what stands before it would be quadratic.
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
  EXPECT_THAT(lint_of(chain), IsEmpty()) << "what a last transition names is the loader's business";
}

TEST(LintOfCalls, PointsOutACallThatNothingEnds) {
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
  EXPECT_THAT(notes_of(unbounded),
              ElementsAre("note states[0].action.function: nothing ends this call if no worker "
                          "takes tasks of the service \"stock\"; give the action or its function a "
                          "timeout, such as `scheduleToCloseTimeout: 1h` [lint.call_unbounded]"));
  for (const std::string& bounded :
       {text("timeouts: {interrupt: 1h}", "", "", ""), text("workflowRunTimeout: 1h", "", "", ""),
        text("", ", scheduleToCloseTimeout: 1h", "", ""),
        text("", "", "", ", scheduleToCloseTimeout: 1h"), text("", "", ", timeout: 1h", ""),
        text("", "", "", ", maxRuntime: 1h")}) {
    EXPECT_NE(load_and_lint(bounded, nullptr).workflow, nullptr) << bounded;
    EXPECT_THAT(places_of(kCode, bounded, {}), IsEmpty()) << bounded;
  }
}

TEST(LintOfCodes, NamesTheCodeThatWasMeant) {
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

TEST(LintOfCodes, TakesAPatternWithAnAlternativeThatAFunctionMayRaise) {
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

TEST(LintOfCodes, SaysWhatAStateCanRaise) {
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
          "digits, `.`, `-` and `_` only, and \"card\\\\.*\" has others; write a code; `*` in it "
          "stands for any run of such characters, `?` for one [lint.catch_never]",
          "warning states[1].id: nothing leads to this state; remove it, or name it in a "
          "`transition` [lint.unreachable]",
          "warning states[1].catch[0].error: this entry catches nothing: this state can raise no "
          "error; remove this entry [lint.catch_never]"));
}

/// A timeout that is final anyway is a note, and none where a subflow may end with that code.
TEST(LintOfRetries, PointsOutTimeoutsThatAreFinalAnyway) {
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
                          "never tried again, with or without this entry; remove this entry "
                          "[lint.retry_never]"));
  EXPECT_THAT(notes("type: subflow, workflow: w"), IsEmpty());
}

TEST(LintOfDurations, PointsOutANumberWithoutAUnit) {
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

TEST(LintOfQueries, SaysHowToReadAKeyWithDots) {
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: payment.received}
  transform: jq(.payment.received.amount)
)"),
              ElementsAre("warning states[0].transform: .payment.received reads several keys, one "
                          "within the other, but the data of the event stands under the one key "
                          "\"payment.received\"; write .[\"payment.received\"] "
                          "[lint.split_key]"));
}

TEST(LintOfQueries, NamesEveryKeyWithDotsThatIsSplit) {
  const auto split = [](const char* query) {
    std::vector<std::string> found;
    for (const std::string& one : warnings_of(fmt::format(
             "id: a\nstates:\n- id: a\n  type: eventXor\n  events:\n  - event: {{type: "
             "payment.received}}\n  - event: {{type: order.placed}}\n  - event: {{type: "
             "order.placed.late}}\n  - event: {{type: amount.paid}}\n  log: jq({})\n",
             query))) {
      found.push_back(one.substr(one.find("; ") + 2));
    }
    return found;
  };
  EXPECT_THAT(split("[.payment.received.amount, .order.placed.id]"),
              ElementsAre("write .[\"payment.received\"] [lint.split_key]",
                          "write .[\"order.placed\"] [lint.split_key]"));
  EXPECT_THAT(split(".order.placed.late.id"),
              ElementsAre("write .[\"order.placed.late\"] [lint.split_key]"));
  EXPECT_THAT(split("[.order.placed.late.id, .order.placed.id, .order.placed.n]"),
              ElementsAre("write .[\"order.placed.late\"] [lint.split_key]",
                          "write .[\"order.placed\"] [lint.split_key]"));
  EXPECT_THAT(split(".payment.received.amount.paid"),
              ElementsAre("write .[\"payment.received\"] [lint.split_key]"));
  EXPECT_THAT(split(".[\"payment.received\"].amount"), IsEmpty());
  EXPECT_THAT(split(".[\"order.placed\"].late"), IsEmpty());
  for (const char* query : {".order[\"placed\"].id", ".\"order\".placed", ".order | .placed",
                            "(.order).placed", "[.[\"order\"][\"placed\"]]"}) {
    EXPECT_THAT(split(query), ElementsAre("write .[\"order.placed\"] [lint.split_key]")) << query;
  }
}

/// The warnings of a definition that waits for `order.new` and `user.name`, and then has these
/// states.
std::vector<std::string> warnings_behind_events(const std::string& states) {
  std::vector<std::string> found = warnings_of(
      fmt::format("id: a\nfunctions: [{{id: f, type: subflow, workflow: w}}]\nstates:\n"
                  "- id: wait\n  type: eventAnd\n"
                  "  events: [{{type: order.new}}, {{type: user.name}}]\n  transition: s\n{}",
                  states));
  std::erase_if(found, [](const std::string& one) { return one.ends_with("[lint.unused]"); });
  return found;
}

TEST(LintOfQueries, TakesAPathWhoseFirstKeyTheDefinitionMakes) {
  for (const char* states : {R"(
- {id: s, type: noop, transform: 'jq({order: {new: .["order.new"]}})', transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)",
                             R"(
- {id: s, type: noop, transform: {order: {new: 'jq(.["order.new"])'}}, transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)",
                             R"(
- {id: s, type: action, action: {function: f}, transform: jq(.user = .return), transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)",
                             R"(
- {id: s, type: action, action: {function: f}, transform: 'jq({user: .return})', transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)",
                             R"(
- {id: s, type: noop, transform: jq(.order.new += 1)}
)",
                             R"(
- {id: s, type: noop, log: 'jq({order: {new: .new}} | .order.new)'}
)",
                             R"(
- {id: s, type: foreach, array: jq(.users), action: {function: f, input: jq(.user.name)}}
)",
                             R"(
- {id: s, type: consumeEvent, event: {type: user}, transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)"}) {
    EXPECT_THAT(warnings_behind_events(states), IsEmpty()) << states;
  }
}

TEST(LintOfQueries, PointsOutAPathWhoseFirstKeyIsMadeElsewhere) {
  for (const char* states : {R"(
- {id: s, type: noop, transform: 'jq({order: .order.new})'}
)",
                             R"(
- {id: s, type: action, action: {function: f, input: 'jq({order: .order.new})'}}
)",
                             R"(
- {id: s, type: foreach, array: jq(.order.new), action: {function: f}}
)",
                             R"(
- {id: s, type: noop, transform: 'jq({orders: .a})', transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)"}) {
    EXPECT_THAT(warnings_behind_events(states), ElementsAre(HasSubstr("lint.split_key"))) << states;
  }
}

TEST(LintOfQueries, PointsOutAnAssignmentThatAConditionYields) {
  const auto warnings = [](const char* condition) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: switch, conditions: "
                    "[{{condition: 'jq({})'}}]}}]",
                    condition));
  };
  for (const char* condition : {".a = 3", ".a | .b = 3", "(.a = 3)"}) {
    EXPECT_THAT(warnings(condition), ElementsAre(HasSubstr("lint.condition_assigns"))) << condition;
  }
  for (const char* condition : {".return.updated |= . // 0 | .return.updated > 3",
                                "(.a = 1).a == 1", "(.a == 1) and (.b = 2)", "(.a = 3) | .a"}) {
    EXPECT_THAT(warnings(condition), IsEmpty()) << condition;
  }
}

TEST(LintOfQueries, PointsOutAQueryInTheMessageOfAnError) {
  const auto warnings = [](const char* message) {
    return warnings_of(fmt::format(
        "id: a\nstates: [{{id: a, type: error, error: late, message: '{}'}}]", message));
  };
  for (const auto& [message, part] :
       std::vector<std::pair<const char*, const char*>>{{"${ .x }", "${ .x }"},
                                                        {"{{ .x }}", "{{ .x }}"},
                                                        {".x", ".x"},
                                                        {"order jq(.x) is late", "jq(.x)"}}) {
    EXPECT_THAT(warnings(message), ElementsAre(fmt::format(
                                       "warning states[0].message: \"{}\" is text here and not jq; "
                                       "write %s in its place, and jq(.x) in `args` "
                                       "[lint.literal_jq]",
                                       part)));
  }
  EXPECT_THAT(warnings("the order is late"), IsEmpty());
}

TEST(LintOfEvents, PointsOutATypeThatLooksLikeAPattern) {
  const auto warnings = [](const char* type) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: consumeEvent, event: {{type: '{}'}}}}]", type));
  };
  for (const char* type : {"order.>", ">", "order.{a,b}", "order.*"}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("looks like a pattern"))) << type;
  }
  for (const char* type : {" order", "order "}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("begins or ends with a blank; write "
                                                      "\"order\" [lint.literal_type]")))
        << type;
  }
  for (const char* type : {"order", "https://a.test/b?c=d+e#f", "order->paid"}) {
    EXPECT_THAT(warnings(type), IsEmpty()) << type;
  }
}

/// The warning of a value of `context` without its severity and place; empty: there is none.
std::string warning_of_pattern(const char* state, const std::string& value) {
  Findings findings;
  const std::optional<Node> document =
      parse_document(fmt::format(fmt::runtime(state), value), findings);
  if (document) lint(*document, findings);
  for (const Finding& one : findings.sorted()) {
    if (one.severity == Severity::kWarning) return fmt::format("{} [{}]", one.message, one.code);
  }
  return "";
}

TEST(LintOfQueries, SaysWhatToWriteForAQueryOfAnotherLanguage) {
  constexpr const char* kConsume =
      "id: a\nstates: [{{id: a, type: consumeEvent, event: {{type: t, context: {{a: '{}'}}}}}}]";
  constexpr const char* kData =
      "id: a\nstates: [{{id: a, type: generateEvent, event: {{type: t, source: s, data: {{a: "
      "'{}'}}}}}}]";
  struct Row {
    const char* text;
    const char* part;
    const char* query;
  };
  for (const Row& row : std::vector<Row>{{"${ .order }", "${ .order }", ".order"},
                                         {"${.order}", "${.order}", ".order"},
                                         {"x-${ .order }-y", "${ .order }", ".order"},
                                         {"$.order", "$.order", ".order"},
                                         {"$.order.id", "$.order.id", ".order.id"},
                                         {"$(.order)", "$(.order)", ".order"},
                                         {"{{ .order }}", "{{ .order }}", ".order"},
                                         {"${{ .order }}", "{{ .order }}", ".order"},
                                         {"jq (.order)", "jq (.order)", ".order"},
                                         {".order", ".order", ".order"},
                                         {".order[0].id", ".order[0].id", ".order[0].id"}}) {
    EXPECT_EQ(warning_of_pattern(kConsume, row.text),
              fmt::format("\"{}\" is a pattern here and not jq; write jq({}) [lint.literal_jq]",
                          row.part, row.query));
    const std::string constant = fmt::format("jq(\"{}\")", row.text);
    EXPECT_EQ(warning_of_pattern(kData, row.text),
              fmt::format("\"{}\" is text here and not jq; write jq({}), or {} for the text itself "
                          "[lint.literal_jq]",
                          row.part, row.query, constant));
    EXPECT_EQ(warning_of_pattern(kData, constant), "");
  }
  // In a pattern only: as data these may be meant.
  for (const auto& [text, query] : std::vector<std::pair<const char*, const char*>>{
           {"${order}", "jq(.order)"},
           {"{{ order.id }}", "jq(.order.id)"},
           {"${ @a }", "jq(…) around the query"},
           {R"(.order // "a")", R"(jq(.order // "a"))"}}) {
    EXPECT_THAT(warning_of_pattern(kConsume, text),
                EndsWith(fmt::format("; write {} [lint.literal_jq]", query)));
  }
  EXPECT_EQ(warning_of_pattern(kData, "${order}"), "");
  // Patterns.
  for (const char* pattern : {R"(^\$\{.*\}$)", R"(\{{2})", ".[a-z]+", "^(a$|b)", ".a+", ".*",
                              ".order[a-z]", "^jq$", R"(\$\.a)"}) {
    EXPECT_EQ(warning_of_pattern(kConsume, pattern), "") << pattern;
  }
}

TEST(LintOfQueries, AsksForAPatternWhereAStartHasNoData) {
  EXPECT_EQ(warning_of_pattern("id: a\nstart: {{type: event, event: {{type: t, context: {{a: "
                               "'{}'}}}}}}\nstates: [{{id: a, type: noop}}]",
                               "${ .order }"),
            "\"${ .order }\" is a pattern here and not jq; write a pattern; here are no data yet "
            "that jq(…) could read [lint.literal_jq]");
}

/// What the loader and lint find together: `line:column code`.
std::vector<std::string> all_findings_in(const std::string& text) {
  std::vector<std::string> found;
  for (const Finding& one : load_and_lint(text, nullptr).findings.sorted()) {
    found.push_back(described(one));
  }
  return found;
}

TEST(LintBesideErrors, ReportsWhatIsDoubtfulInOtherPlaces) {
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

/// A value that was refused has an effect on no finding, whether by its text or by its absence.
TEST(LintBesideErrors, LeavesOutWhatFollowsFromAValueThatWasRefused) {
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
      << "a timeout that was refused is not missing";
  EXPECT_THAT(all_findings_in("id: a\nstates:\n- id: a\n  type: setter\n  variables:\n"
                              "  - {scope: instnace, key: k, value: 1}\n"
                              "  - {scope: instance, key: k, value: 2}\n"),
              ElementsAre("6:13 definition.value"));
  EXPECT_THAT(all_findings_in("id: a\nstates:\n- id: a\n  type: consumeEvent\n"
                              "  event: {type: t}\n  timeout: 0\n"
                              "  catch: [{error: direktiv.stateTimeout}]\n"),
              ElementsAre("6:12 definition.type"));
}

/// What is said of a whole definition may be wrong only because a name in it is.
TEST(LintBesideErrors, LeavesOutWhatFollowsFromAMisspeltName) {
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

TEST(Lint, TellsTheNextFiveTicksOfASchedule) {
  const Loaded loaded = load_and_lint(
      "id: a\nstart: {type: scheduled, cron: CRON_TZ=Europe/Vienna 30 2 * * *}\n"
      "states: [{id: s, type: noop}]\n",
      nullptr, nullptr, {.now = from_millis(1'711'670'400'000)});  // 2024-03-29T00:00:00Z
  ASSERT_NE(loaded.workflow, nullptr);
  const std::vector<Finding> findings = loaded.findings.sorted();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(findings[0].message,
            "its next ticks are 2024-03-29T01:30:00.000Z, 2024-03-30T01:30:00.000Z, "
            "2024-03-31T01:00:00.000Z, 2024-04-01T00:30:00.000Z, 2024-04-02T00:30:00.000Z");
}

}  // namespace
}  // namespace millrace
