// Loader: damaged definitions, and definitions of the maximum size.
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/document.h"
#include "orchestrator/definition/lint.h"
#include "tests/unit/definition/corpus.h"
#include "tests/unit/definition/described.h"

namespace millrace {
namespace {

/// Loads the text with a program check that accepts all jq programs.
Loaded load_damaged(std::string_view text) {
  return load_workflow(text, [](std::span<const std::string> programs) {
    return std::vector<std::optional<Error>>(programs.size());
  });
}

/// Loads and lints the text with a program check that accepts all jq programs.
Loaded load_and_lint(std::string_view text) {
  return millrace::load_and_lint(text, [](std::span<const std::string> programs) {
    return std::vector<std::optional<Error>>(programs.size());
  });
}

/// Damages texts in the same way each time the test is executed.
class Damage {
 public:
  explicit Damage(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  std::string next() {
    std::string text = texts_[below(texts_.size())];
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const size_t at = below(text.size() + 1);
      const size_t length = std::min(below(6), text.size() - at);
      switch (below(5)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, kPieces[below(kPieces.size())]);
          break;
        case 2:
          text.replace(at, length, kPieces[below(kPieces.size())]);
          break;
        case 3: {
          const std::string& other = texts_[below(texts_.size())];
          text.insert(at, other.substr(below(other.size()), below(60)));
          break;
        }
        default:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
      }
    }
    return text;
  }

 private:
  static constexpr auto kPieces = std::to_array<std::string_view>(
      {"jq(",   ")",     "(",    "[",   "]",     "{",    "}",     "\"",     "'",
       "*a",    "&a ",   "%",    "%s",  "é",     "\xff", "\n",    "\n- ",   ": ",
       "~",     "null",  "true", "-1",  "1e400", ".inf", "PT0S",  "P9999Y", "<<",
       "? ",    "|\n",   "\\",   "\\0", "\t",    "\r\n", "!!str", "switch", "eventOr",
       "error", "event", "{}",   "[]",  "\"\"",  "jq()"});

  size_t below(size_t end) { return end == 0 ? 0 : random_() % end; }

  std::vector<std::string> texts_;
  std::mt19937 random_{20210901};  ///< a fixed seed
};

TEST(Loader, GivesTheSameResultEachTimeItLoadsADamagedDefinition) {
  std::vector<std::string> texts;
  for (const std::string& file : corpus_files("good")) texts.push_back(read_text_file(file));
  Damage damage(std::move(texts));
  size_t loaded_well = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = damage.next();
    SCOPED_TRACE(fmt::format("text {}:\n{}", i, text));
    const Loaded loaded = load_and_lint(text);
    ASSERT_EQ(loaded.workflow == nullptr, loaded.findings.has_errors());
    const std::string findings = dump_json(to_json(loaded.findings));  // throws if it is not UTF-8
    const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n') +
                                           std::count(text.begin(), text.end(), '\r') + 1);
    for (const Finding& finding : loaded.findings.sorted()) {
      ASSERT_LE(finding.at.line, lines) << findings;
      ASSERT_NE(finding.code, "");
      ASSERT_NE(finding.message, "");
    }
    const Loaded again = load_and_lint(text);
    ASSERT_EQ(dump_json(to_json(again.findings)), findings);
    if (loaded.workflow) {
      ++loaded_well;
      ASSERT_EQ(described(*again.workflow), described(*loaded.workflow));
    }
  }
  EXPECT_GT(loaded_well, 250U);
  EXPECT_LT(loaded_well, 4000U);
}

/// A definition with as many such states as the maximum size allows.
std::string filled(const std::function<std::string(size_t)>& state) {
  std::string text = "id: large\nstates:\n";
  for (size_t i = 0;; ++i) {
    const std::string next = state(i);
    if (text.size() + next.size() > kMaxDocumentSize) return text;
    text += next;
  }
}

TEST(Loader, LoadsALargeDefinitionOfManyStates) {
  const std::string text = filled([](size_t i) {
    const size_t next = i / 2;
    return fmt::format(
        R"(- id: wait-{0}
  type: consumeEvent
  event: {{type: booking-{0}, context: {{source: ^s-{0}$, customerId: jq(.customerId)}}}}
  timeout: PT1H
  transition: choose-{1}
  catch: [{{error: "*", transition: fail-{1}}}]
- id: both-{0}
  type: eventAnd
  events: [{{type: a, context: {{source: a{0}.*}}}}, {{event: {{type: b}}}}]
  transform: {{all: jq(.), b: jq(.b)}}
- id: either-{0}
  type: eventXor
  events: [{{type: a, transition: tell-{1}}}, {{type: b, transform: .b}}]
- id: choose-{0}
  type: switch
  conditions: [{{condition: .a > {0}, transition: both-{1}}}, {{condition: .b | length > {0}}}]
  defaultTransition: either-{1}
- id: tell-{0}
  type: generateEvent
  event: {{type: told, source: /s/{0}, data: jq(.)}}
  transition: fail-{1}
- id: fail-{0}
  type: error
  error: e.{0}
  message: "%s"
  args: [jq(.customerId)]
  transition: wait-{1}
)",
        i, next);
  });
  ASSERT_GT(text.size(), kMaxDocumentSize - 2000);
  const Loaded loaded = load_damaged(text);
  EXPECT_EQ(render_text(loaded.findings, "f"), "");
  ASSERT_NE(loaded.workflow, nullptr);
  EXPECT_GT(loaded.workflow->states.size(), 5000U);
}

TEST(Loader, ReadsALargeDefinitionWithManyMistakesToItsEnd) {
  const std::string long_name(100, 'n');
  struct Row {
    const char* what;
    std::function<std::string(size_t)> state;
  };
  const std::vector<Row> rows = {
      {"transitions to states that do not exist",
       [](size_t i) { return fmt::format("- {{id: s{0}, type: noop, transition: t{0}}}\n", i); }},
      {"long ids that differ by little",
       [&](size_t i) {
         return fmt::format("- {{id: {0}{1}, type: noop, transition: {0}{1}x}}\n",
                            long_name.substr(0, 55), i);
       }},
      {"the same id for all states", [](size_t) { return "- {id: a, type: noop}\n"; }},
      {"empty states", [](size_t) { return "-\n"; }},
      {"malformed patterns",
       [](size_t i) {
         return fmt::format(
             "- {{id: s{0}, type: consumeEvent, event: {{type: t, context: {{a: '(x{0}'}}}}}}\n",
             i);
       }},
      {"unclosed programs",
       [](size_t i) { return fmt::format("- {{id: s{}, type: noop, log: jq((((( }}\n", i); }},
  };
  for (const Row& row : rows) {
    const Loaded loaded = load_damaged(filled(row.state));
    EXPECT_EQ(loaded.workflow, nullptr) << row.what;
    EXPECT_EQ(loaded.findings.sorted().size() + loaded.findings.omitted() >= Findings::kMost, true)
        << row.what << ": " << loaded.findings.sorted().size();
  }
}

TEST(Loader, LoadsALargeDefinitionOfOneState) {
  struct Row {
    const char* what;
    std::string begin;
    std::function<std::string(size_t)> piece;
    std::string end;
  };
  const std::string event =
      "id: a\nstates:\n- id: a\n  type: consumeEvent\n  event:\n    type: t\n";
  const std::string noop = "id: a\nstates:\n- id: a\n  type: noop\n";
  const std::vector<Row> rows = {
      {"attributes", event + "    context:\n",
       [](size_t i) { return fmt::format("      a{}: jq(.a)\n", i); }, ""},
      {"many patterns in one state", event + "    context:\n",
       [](size_t i) { return fmt::format("      a{0}: (a|b|{0})+c\n", i); }, ""},
      {"many programs in one text", noop + "  log: '",
       [](size_t i) { return fmt::format("jq(.a{}) ", i); }, "'\n"},
      {"many programs in one object", noop + "  transform:\n",
       [](size_t i) { return fmt::format("    a{0}: jq(keys | .[{0}])\n", i); }, ""},
      {"catches", noop + "  catch:\n", [](size_t i) { return fmt::format("  - error: e{}\n", i); },
       ""},
  };
  for (const Row& row : rows) {
    std::string text = row.begin;
    for (size_t i = 0; text.size() + row.end.size() + 40 < kMaxDocumentSize; ++i) {
      text += row.piece(i);
    }
    const Loaded loaded = load_damaged(text + row.end);
    EXPECT_EQ(render_text(loaded.findings, row.what), "");
    EXPECT_NE(loaded.workflow, nullptr) << row.what;
  }
}

TEST(Loader, RefusesMoreActionsThanAStateMayHave) {
  for (const size_t count : {kMostCalls, kMostCalls + 1}) {
    SCOPED_TRACE(count);
    std::string text =
        "{id: w, functions: [{id: f, type: subflow, workflow: b}], states: [{id: p, type: "
        "parallel, "
        "actions: [";
    for (size_t i = 0; i < count; ++i) text += i == 0 ? "{function: f}" : ",{function: f}";
    const Loaded loaded = load_damaged(text + "]}]}");
    EXPECT_EQ(loaded.workflow != nullptr, count == kMostCalls);
    if (loaded.workflow) continue;
    const std::vector<Finding> findings = loaded.findings.sorted();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "definition.value");
    EXPECT_EQ(findings[0].path, "states[0].actions");
    EXPECT_EQ(findings[0].message, "there are 10001 actions; a state may have at most 10000");
  }
}

}  // namespace
}  // namespace millrace
