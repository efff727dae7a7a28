#include "orchestrator/definition/loader.h"

#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/corpus.h"
#include "tests/unit/definition/described.h"
#include "tests/unit/expressions/pool_fixture.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Programs = std::vector<std::string>;

/// Stands in for the jq workers: refuses the programs that contain `nojq`.
std::vector<std::optional<Error>> refuse_nojq(std::span<const std::string> programs) {
  std::vector<std::optional<Error>> errors;
  for (const std::string& program : programs) {
    const bool is_bad = program.find("nojq") != std::string::npos;
    errors.push_back(is_bad ? std::optional(Error{"jq.syntax", fmt::format("{} is no jq", program)})
                            : std::nullopt);
  }
  return errors;
}

Loaded load(std::string_view text) { return load_workflow(text, refuse_nojq); }

/// The findings as `line:column code path: message`.
std::vector<std::string> findings_in(std::string_view text) {
  const Loaded loaded = load(text);
  EXPECT_EQ(loaded.workflow == nullptr, loaded.findings.has_errors());
  std::vector<std::string> out;
  for (const Finding& one : loaded.findings.sorted()) {
    out.push_back(fmt::format("{}:{} {} {}: {}", one.at.line, one.at.column, one.code, one.path,
                              one.message));
  }
  return out;
}

TEST(Loader, ReportsNoFindingsForGoodDefinitions) {
  for (const std::string& file : corpus_files("good")) {
    const Loaded loaded = load(read_text_file(file));
    EXPECT_EQ(render_text(loaded.findings, file), "");
    EXPECT_NE(loaded.workflow, nullptr) << file;
  }
}

/// The folder and the name of a file up to the first dot.
std::string workflow_of(const std::string& file) {
  return file.substr(0, file.find('.', file.rfind('/')));
}

TEST(Loader, LoadsEqualWorkflowsFromDifferentSpellingsOfADefinition) {
  std::map<std::string, std::pair<std::string, Json>> first;
  size_t compared = 0;
  for (const std::string& file : corpus_files("good")) {
    const Loaded loaded = load(read_text_file(file));
    ASSERT_NE(loaded.workflow, nullptr) << file;
    const Json description = described(*loaded.workflow);
    const auto [one, is_new] = first.try_emplace(workflow_of(file), file, description);
    if (is_new) continue;
    ++compared;
    const auto& [first_file, first_description] = one->second;
    EXPECT_EQ(description, first_description) << first_file << " and " << file << " differ:\n"
                                              << Json::diff(first_description, description).dump(1);
  }
  EXPECT_GE(compared, 18U);
  EXPECT_GE(first.size(), 11U);
}

TEST(Loader, ReadsEveryFieldOfADefinition) {
  const Loaded loaded = load(read_text_file("tests/corpus/definitions/good/every_field.yaml"));
  ASSERT_NE(loaded.workflow, nullptr);
  const Workflow& workflow = *loaded.workflow;
  EXPECT_EQ(workflow.id, "Every.field_of-2021");
  EXPECT_EQ(workflow.name, "every field");
  EXPECT_EQ(workflow.description, "what the loader reads");
  EXPECT_EQ(workflow.version, "1.0");

  const Start& start = workflow.start;
  EXPECT_EQ(start.kind, Start::Kind::kEventsAnd);
  EXPECT_EQ(start.state, 0U);
  EXPECT_THAT(start.correlate, ElementsAre("orderid", "region"));
  EXPECT_EQ(start.lifespan, Span{.fixed = std::chrono::hours(36)});
  const StartEvent placed{
      .filter = {.type = "order.placed",
                 .predicates = {{"source", Predicate::Kind::kPattern, "^shop$"},
                                {"region", Predicate::Kind::kPattern, "[en][uz]"}}},
      .capture = true};
  EXPECT_THAT(start.events, ElementsAre(placed, StartEvent{.filter = {.type = "order.paid"}}));

  std::vector<std::string> ids;
  for (const auto& state : workflow.states) {
    ids.push_back(fmt::format("{}: {}", state->common().id, state->common().type));
  }
  EXPECT_THAT(ids, ElementsAre("wait: consumeEvent", "both: eventAnd", "either: eventXor",
                               "choose: switch", "sleep: delay",
                               "tell"
                               ": generateEvent",
                               "give-up: error", "end: noop"));

  EXPECT_FALSE(workflow.states[1]->looks_back());
  EXPECT_TRUE(workflow.states[2]->looks_back());
  EXPECT_TRUE(workflow.looks_back);

  const StateCommon& wait = workflow.states[0]->common();
  EXPECT_EQ(wait.timeout, Span{.fixed = std::chrono::milliseconds(500)});
  ASSERT_TRUE(wait.log);
  EXPECT_EQ(wait.log->programs().size(), 1U);
  ASSERT_EQ(wait.catches.size(), 2U);
  EXPECT_EQ(wait.catches[0].error, "direktiv.stateTimeout");
  EXPECT_EQ(wait.catches[0].transition, 6U);
  EXPECT_EQ(wait.catches[1].transition, std::nullopt);
  ASSERT_EQ(wait.exits.size(), 1U);
  EXPECT_EQ(wait.exits[0].transition, 1U);
  EXPECT_NE(wait.exits[0].transform->whole(), nullptr);

  const std::vector<Exit>& choose = workflow.states[3]->common().exits;
  ASSERT_EQ(choose.size(), 3U);
  EXPECT_EQ(choose[0].transition, 5U);
  EXPECT_FALSE(choose[1].transform);
  EXPECT_FALSE(choose[1].transition);
  EXPECT_EQ(choose[2].transition, 4U);
  EXPECT_FALSE(workflow.states[7]->common().timeout);
}

/// A workflow with the states `a` and `b` and with these keys.
std::string with_states(std::string_view keys) {
  return fmt::format("id: w\n{}\nstates: [{{id: a, type: noop}}, {{id: b, type: noop}}]", keys);
}

TEST(Loader, ReadsWorkflowTimeoutsInEachVocabulary) {
  const auto timeouts = [](std::string_view keys) {
    const Loaded loaded = load(with_states(keys));
    EXPECT_EQ(render_text(loaded.findings, "f"), "") << keys;
    return loaded.workflow->timeouts;
  };
  const WorkflowTimeouts none = timeouts("");
  EXPECT_FALSE(none.interrupt || none.kill || none.run || none.task || none.execution ||
               none.on_failure || none.fails);

  const WorkflowTimeouts direktiv = timeouts("timeouts: {interrupt: PT1H, kill: PT2H}");
  EXPECT_EQ(direktiv.interrupt, Span{.fixed = std::chrono::hours(1)});
  EXPECT_EQ(direktiv.kill, Span{.fixed = std::chrono::hours(2)});

  const WorkflowTimeouts temporal =
      timeouts("workflowExecutionTimeout: P1D\nworkflowRunTimeout: 1h\nworkflowTaskTimeout: 10s");
  EXPECT_EQ(temporal.execution, Span{.fixed = std::chrono::hours(24)});
  EXPECT_EQ(temporal.run, Span{.fixed = std::chrono::hours(1)});
  EXPECT_EQ(temporal.task, Span{.fixed = std::chrono::seconds(10)});
  EXPECT_FALSE(temporal.fails);

  const WorkflowTimeouts zart = timeouts("timeout: 30m\non_failure: b");
  EXPECT_EQ(zart.execution, Span{.fixed = std::chrono::minutes(30)});
  EXPECT_TRUE(zart.fails);
  EXPECT_EQ(zart.on_failure, 1U);
  EXPECT_FALSE(timeouts("timeout: 30m").on_failure);
  EXPECT_FALSE(zart.on_any_failure);
  for (const char* const when : {"", ", when: timeout"}) {
    const WorkflowTimeouts mapped =
        timeouts(fmt::format("timeout: 30m\non_failure: {{state: b{}}}", when));
    EXPECT_EQ(mapped.on_failure, 1U);
    EXPECT_FALSE(mapped.on_any_failure);
  }
  const WorkflowTimeouts any = timeouts("on_failure: {state: b, when: any}");
  EXPECT_EQ(any.on_failure, 1U);
  EXPECT_TRUE(any.on_any_failure);
  EXPECT_FALSE(any.fails || any.execution);
}

TEST(Loader, ReadsTheRetryPolicyForTheRunsOfAWorkflow) {
  const auto retries = [](std::string_view keys) {
    const Loaded loaded = load(with_states(keys));
    EXPECT_EQ(render_text(loaded.findings, "f"), "") << keys;
    return loaded.workflow->retries;
  };
  EXPECT_FALSE(retries(""));
  EXPECT_EQ(retries("retries: {maximumAttempts: 5}")->attempts, 5U);
  EXPECT_EQ(retries("retry: {maxAttempts: 5}")->attempts, 5U);
  EXPECT_EQ(retries("retries: fixed(3, 1s)")->attempts, 3U);
  // `defaults` is for actions only.
  EXPECT_FALSE(retries("defaults: temporal"));
}

TEST(Loader, RefusesWrongTimeoutsAndRetryPoliciesOfAWorkflow) {
  struct Row {
    const char* keys;
    const char* finding;
  };
  for (
      const Row& row : std::vector<Row>{
          {"on_failure: b",
           "2:13 definition.not_here on_failure: on_failure runs when `timeout` expires, but there "
           "is no `timeout`; write one, or {state: …, when: any} to run it after any failure"},
          {"on_failure: b\nworkflowExecutionTimeout: 1h",
           "2:13 definition.not_here on_failure: on_failure runs when `timeout` expires, but there "
           "is no `timeout`; write one, or {state: …, when: any} to run it after any failure"},
          {"timeout: 1h\nworkflowExecutionTimeout: 1h",
           "2:10 definition.both_keys timeout: \"workflowExecutionTimeout\" (temporal) and "
           "\"timeout\" (zart) set the same timeout; write one of them"},
          {"on_failure: {state: b}",
           "2:13 definition.not_here on_failure: on_failure runs when `timeout` expires, but there "
           "is no `timeout`; write one, or {state: …, when: any} to run it after any failure"},
          {"on_failure: {when: any}",
           "2:13 definition.missing on_failure.state: \"state\" is missing"},
          {"on_failure: {state: c, when: any}",
           "2:21 definition.no_state on_failure.state: there is no state \"c\"; did you mean "
           "\"a\"?"},
          {"timeout: 1h\non_failure: {state: b, when: never}",
           "3:30 definition.value on_failure.when: when is \"never\"; write one of \"timeout\", "
           "\"any\""},
          {"timeout: 1h\non_failure: c",
           "3:13 definition.no_state on_failure: there is no state \"c\"; did you mean \"a\"?"},
          {"workflowExecutionTimeout: 0s",
           "2:27 duration.zero workflowExecutionTimeout: \"0s\" is zero; it must be longer"},
          {"workflowRunTimeout: 0s",
           "2:21 duration.zero workflowRunTimeout: \"0s\" is zero; it must be longer"},
          {"workflowTaskTimeout: 0s",
           "2:22 duration.zero workflowTaskTimeout: \"0s\" is zero; it must be longer"},
          {"timeout: 0s", "2:10 duration.zero timeout: \"0s\" is zero; it must be longer"},
          {"timeout: 101d 876000h",
           "2:10 duration.overflow timeout: \"101d 876000h\" is not a duration: it is longer than "
           "100 "
           "years (byte 5)"},
          {"workflowExecutonTimeout: 1h",
           "2:1 definition.unknown_key workflowExecutonTimeout: \"workflowExecutonTimeout\" is not "
           "a known key here; did you mean \"workflowExecutionTimeout\"?"},
          {"retries: {maxAttempts: 0, delay: 1s}",
           "2:10 definition.value retries: zero attempts skip an action, but there is no action "
           "here; write at least one attempt"},
          {"retries: {maxAttempts: 3}",
           "2:10 definition.vocabulary retries: the keys of this policy fit several vocabularies: "
           "steep or "
           "stevora; add `vocabulary: steep` or `vocabulary: stevora`"},
          {"defaults: camunda",
           "2:11 definition.value defaults: defaults is \"camunda\"; write one of \"stevora\", "
           "\"temporal\", \"steep\", \"zart\", \"direktiv\""},
      }) {
    EXPECT_THAT(findings_in(with_states(row.keys)), ElementsAre(row.finding)) << row.keys;
  }
}

TEST(Loader, FindsExactlyTheMistakesThatAreMarkedInBadDefinitions) {
  const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
  for (const std::string& file : corpus_files("bad")) {
    const std::string annotated = read_text_file(file);
    const std::string text = without_marks(annotated);
    const Loaded loaded = load(text);
    EXPECT_TRUE(loaded.findings.has_errors()) << file;
    EXPECT_EQ(loaded.workflow, nullptr) << file;
    const std::string found = with_marks(text, loaded.findings);
    if (update) {
      write_text_file(file, found);
    } else {
      EXPECT_EQ(found, annotated) << file << "; UPDATE_GOLDEN=1 writes the actual findings";
    }
  }
}

TEST(Loader, ReportsExactlyTheListedCodesForTheBadDefinitionsOfTheCorpus) {
  std::set<std::string> codes;
  for (const std::string& file : corpus_files("bad")) {
    for (const Finding& finding : load(without_marks(read_text_file(file))).findings.sorted()) {
      codes.insert(finding.code);
    }
  }
  EXPECT_EQ(codes, (std::set<std::string>{
                       "cron.never",
                       "cron.range",
                       "definition.alias",
                       "definition.alias_bomb",
                       "definition.alias_cycle",
                       "definition.attribute_name",
                       "definition.attribute_value",
                       "definition.both_keys",
                       "definition.content_type",
                       "definition.documents",
                       "definition.duplicate_id",
                       "definition.duplicate_key",
                       "definition.empty",
                       "definition.file_name",
                       "definition.identifier",
                       "definition.jq_not_here",
                       "definition.key",
                       "definition.merge_key",
                       "definition.message_args",
                       "definition.message_format",
                       "definition.missing",
                       "definition.no_schema",
                       "definition.no_state",
                       "definition.not_here",
                       "definition.not_jq",
                       "definition.number",
                       "definition.query",
                       "definition.state_type",
                       "definition.syntax",
                       "definition.tag",
                       "definition.type",
                       "definition.unknown_key",
                       "definition.value",
                       "definition.variable_key",
                       "definition.vocabulary",
                       "duration.malformed",
                       "duration.negative",
                       "duration.overflow",
                       "duration.unit",
                       "duration.zero",
                       "jq.empty",
                       "jq.malformed",
                       "jq.syntax",
                       "jq.unbalanced",
                       "jq.unterminated",
                       "pattern.malformed",
                       "retry.malformed",
                       "schema.ref",
                       "schema.type",
                       "schema.unknown_key",
                       "schema.value",
                       "zone.unknown",
                   }));
}

TEST(Loader, RefusesTextsThatAreEmptyTooLargeTooDeepOrHaveInvalidBytes) {
  struct Row {
    const char* what;
    std::string text;
    const char* finding;
  };
  const std::string noop = "id: a\nstates: [{id: a, type: noop, transform: ";
  const std::vector<Row> rows = {
      {"an empty text", "", "1:1 definition.empty : the text has no document"},
      {"more than 1 MiB", std::string((1 << 20) + 1, ' '),
       "1:1 definition.too_large : the text has 1048577 bytes; at most 1048576 are read"},
      {"bytes that are not UTF-8", "id: \xff",
       "1:5 definition.syntax : invalid leading UTF-8 octet; the text must "
       "be UTF-8 without control characters"},
      {"deep nesting", noop + std::string(126, '[') + std::string(126, ']') + "}]",
       "2:166 definition.depth : lists and mappings are nested deeper than 128"},
      {"a program that is too long", noop + "'" + std::string(4097, '1') + "'}]",
       "2:41 jq.too_long states[0].transform: the jq program has 4097 bytes, the limit is 4096"},
      {"a zero in an id", "id: \"a\\0\"\nstates: [{id: a, type: noop}]",
       "1:5 definition.identifier id: \"a\\x00\" is not an identifier; write 1 to 128 letters, "
       "digits, \".\", \"-\" or \"_\""},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(findings_in(row.text), ElementsAre(row.finding)) << row.what;
  }
}

TEST(Loader, SuggestsSimilarStatesForALimitedNumberOfWrongTransitions) {
  std::string text = "id: a\nstates:\n";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("- {{id: state-{}, type: noop, transition: stat-{}}}\n", i, i);
  }
  const std::vector<std::string> findings = findings_in(text);
  ASSERT_EQ(findings.size(), Findings::kMost);
  EXPECT_EQ(findings.front(),
            "3:41 definition.no_state states[0].transition: there is no state \"stat-0\"; did you "
            "mean \"state-0\"?");
  EXPECT_THAT(findings.back(), testing::EndsWith("there is no state \"stat-999\""));
}

TEST(Loader, SuggestsSimilarFunctionsForALimitedNumberOfWrongCalls) {
  std::string text = "id: a\nfunctions:\n";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("- {{id: function-{}, type: subflow, workflow: b}}\n", i);
  }
  text += "states:\n";
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("- {{id: s{}, type: action, action: {{function: functio-{}}}}}\n", i, i);
  }
  const std::vector<std::string> findings = findings_in(text);
  ASSERT_EQ(findings.size(), Findings::kMost);
  EXPECT_THAT(findings.front(), testing::EndsWith("did you mean \"function-0\"?"));
  EXPECT_THAT(findings.back(), testing::EndsWith("no function \"functio-999\" among `functions`"));
}

/// A program check that records the programs of each call.
class RecordingCheck {
 public:
  ProgramCheck check() {
    return [this](std::span<const std::string> programs) {
      calls_.emplace_back(programs.begin(), programs.end());
      return refuse_nojq(programs);
    };
  }
  const std::vector<Programs>& calls() const { return calls_; }

 private:
  std::vector<Programs> calls_;
};

constexpr std::string_view kSlowPrograms = R"yaml(id: a
states:
- id: a
  type: noop
  log: jq(.a)
  transform: {x: jq(keys), y: ["jq(keys)", jq(nojq | keys)], z: jq(nojq | keys)}
)yaml";

TEST(Loader, ChecksAllJqProgramsInOneCallAndEachOnlyOnce) {
  RecordingCheck recording;
  const Loaded loaded = load_workflow(kSlowPrograms, recording.check());
  EXPECT_THAT(recording.calls(), ElementsAre(Programs{"keys", "nojq | keys"}));
  EXPECT_EQ(render_text(loaded.findings, "f"),
            "f:6:44: error: states[0].transform.y[1]: nojq | keys is no jq [jq.syntax]\n"
            "f:6:65: error: states[0].transform.z: nojq | keys is no jq [jq.syntax]\n");
}

TEST(Loader, ChecksNoFurtherJqProgramAfterTooManyInvalidOnes) {
  struct Row {
    size_t wrong;
    size_t calls;
    size_t findings;
  };
  for (const Row& row : std::vector<Row>{{0, 3, 0}, {19, 3, 19}, {20, 1, 21}, {200, 1, 201}}) {
    std::string text = "id: a\nstates:\n- id: a\n  type: noop\n  transform:\n";
    for (size_t i = 0; i < 450; ++i) {
      text += fmt::format("  - jq({} | keys | .[{}])\n", i < row.wrong ? "nojq" : ".", i);
    }
    RecordingCheck recording;
    const Loaded loaded = load_workflow(text, recording.check());
    EXPECT_EQ(recording.calls().size(), row.calls) << row.wrong;
    const std::vector<Finding> findings = loaded.findings.sorted();
    ASSERT_EQ(findings.size(), row.findings) << row.wrong;
    if (findings.size() <= row.wrong) continue;
    EXPECT_EQ(
        findings.back(),
        (Finding{.severity = Severity::kWarning,
                 .code = "jq.unchecked",
                 .path = "states[0].transform[200]",
                 .at = {206, 5},
                 .message =
                     "250 jq programs from here on were not checked, because too many jq programs "
                     "before them have errors; correct the jq programs with errors first",
                 .mend = "correct the jq programs with errors first"}));
  }
}

TEST(Loader, ChecksNoJqProgramThatTheFastLaneRuns) {
  RecordingCheck recording;
  const Loaded loaded = load_workflow(
      "id: a\nstates: [{id: a, type: noop, transform: '{a: .b.c}'}]", recording.check());
  EXPECT_NE(loaded.workflow, nullptr);
  EXPECT_THAT(recording.calls(), IsEmpty());
}

TEST(Loader, LoadsADefinitionWithoutACheckOfItsJqPrograms) {
  EXPECT_NE(load_workflow(kSlowPrograms, nullptr).workflow, nullptr);
}

class LoaderWithWorkersTest : public PoolTest {};

TEST_F(LoaderWithWorkersTest, ReportsTheErrorsThatLibjqFinds) {
  const ProgramCheck check = [&](std::span<const std::string> programs) {
    return pool().check(programs, kPatience);
  };
  const Loaded loaded = load_workflow(R"yaml(id: a
states:
- id: a
  type: switch
  conditions:
  - condition: .items | length > 5
    transform: {good: jq(now | todate), bad: [1, jq(.a |)]}
  - condition: jq(nosuch(1))
  - condition: "\"é\" é"
  defaultTransform: jq($x)
)yaml",
                                      check);
  EXPECT_EQ(render_text(loaded.findings, "f"),
            "f:7:50: error: states[0].conditions[0].transform.bad[1]: unexpected end of the query "
            "at column 5; expected a value, such as `.key`, a number or a function [jq.syntax]\n"
            "f:8:16: error: states[0].conditions[1].condition: there is no function `nosuch` at "
            "column 1; write `.nosuch` for a key, or \"nosuch\" for a text [jq.syntax]\n"
            "f:9:16: error: states[0].conditions[2].condition: unexpected `é` at column 5; "
            "expected an operator, such as `|`, or the end [jq.syntax]\n"
            "f:10:21: error: states[0].defaultTransform: the variable `$x` at column 1 is not "
            "bound; write `… as "
            "$x | …` before it [jq.syntax]\n");
}

TEST_F(LoaderWithWorkersTest, ReportsNoFindingsForGoodDefinitions) {
  for (const std::string& file : corpus_files("good")) {
    const Loaded loaded = load_workflow(
        read_text_file(file),
        [&](std::span<const std::string> programs) { return pool().check(programs, kPatience); });
    EXPECT_EQ(render_text(loaded.findings, file), "");
  }
}

}  // namespace
}  // namespace millrace
