// Lint: its findings in definitions with one mistake each, in good definitions and in a definition
// of the maximum size, and their codes in the table of docs/language.md.
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/lint.h"
#include "tests/unit/definition/corpus.h"
#include "tests/unit/definition/lint_findings.h"
#include "tests/unit/expressions/pool_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kExpected = "tests/corpus/lint/bad.expected";

std::vector<std::filesystem::path> files_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/corpus/lint/" + folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Whether the finding only explains how the text is read, and needs no correction.
bool is_fact(const Finding& finding) {
  return finding.code == "lint.attempts" || finding.code == "lint.ticks";
}

class LintCorpus : public PoolTest {
 protected:
  std::vector<Finding> all_findings_in(std::string_view text) {
    return load_and_lint(text,
                         [&](std::span<const std::string> programs) {
                           return pool().check(programs, kPatience);
                         })
        .findings.sorted();
  }

  /// The errors and warnings, without the notes.
  std::vector<Finding> findings_in(std::string_view text) {
    std::vector<Finding> findings = all_findings_in(text);
    std::erase_if(findings, [](const Finding& one) { return one.severity == Severity::kNote; });
    return findings;
  }
};

/// Each file contains one mistake; bad.expected has its place and its message. UPDATE_GOLDEN=1
/// rewrites bad.expected.
TEST_F(LintCorpus, FindsTheOneMistakeOfEachBadFile) {
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
    std::istringstream lines(found);
    std::istringstream expected(read_text_file(kExpected));
    std::string line;
    std::string other;
    while (std::getline(lines, line)) {
      std::getline(expected, other);
      EXPECT_EQ(line, other) << kExpected << "; UPDATE_GOLDEN=1 writes the actual findings";
    }
    EXPECT_FALSE(std::getline(expected, other)) << kExpected << " has one more line: " << other;
  }
}

TEST_F(LintCorpus, ReportsAWordAsAPriorityOnce) {
  const auto codes = [&](const std::string& limits) {
    std::string found;
    for (const Finding& one : findings_in(
             fmt::format("id: a\n{}\nconcurrency: {{limit: 1}}\nstates:\n- {{id: a, type: noop, "
                         "transform: {{priority: jq(high)}}}}\n",
                         limits))) {
      found += fmt::format("{} {}, ", one.path, one.code);
    }
    return found;
  };
  const std::string other = "states[0].transform.priority jq.syntax, ";
  EXPECT_EQ(codes("priority: high"), "priority definition.query, " + other);
  EXPECT_EQ(codes("throttle: {limit: 1, period: 1m, key: jq(high)}"),
            "throttle.key definition.query, throttle.key jq.syntax, " + other);
}

TEST_F(LintCorpus, FindsNoErrorOrWarningInGoodFiles) {
  size_t files = 0;
  for (const auto& file : files_in("good")) {
    ++files;
    for (const Finding& finding : findings_in(read_text_file(file))) {
      ADD_FAILURE() << file << ": " << described(finding) << ": " << finding.message;
    }
  }
  EXPECT_GE(files, 60U);
}

/// Every warning and every note has a correction, in good definitions, too.
TEST_F(LintCorpus, NamesACorrectionWithEveryWarningAndNote) {
  size_t count = 0;
  for (const char* folder : {"bad", "good"}) {
    for (const auto& file : files_in(folder)) {
      for (const Finding& one : all_findings_in(read_text_file(file))) {
        if (one.severity == Severity::kError || is_fact(one)) continue;
        ++count;
        EXPECT_NE(one.mend, "") << file << ": " << described(one);
        EXPECT_THAT(one.message, EndsWith("; " + one.mend)) << file;
      }
    }
  }
  EXPECT_GE(count, 100U);
}

/// The cells of each row in the table of findings in docs/language.md.
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
      if (line.compare(at, 2, " |") != 0) ++at;  // otherwise the next cell is empty
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

TEST_F(LintCorpus, FindsOnlyDocumentedCodes) {
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

TEST_F(LintCorpus, FindsNoErrorOrWarningInTheExamples) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator("examples")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".yaml") || name.ends_with(".test.yaml")) continue;
    for (const Finding& finding : findings_in(read_text_file(entry.path()))) {
      ADD_FAILURE() << entry.path() << ": " << described(finding) << ": " << finding.message;
    }
  }
}

/// A definition of the maximum size: 2 000 states, each with a different program for the jq
/// workers.
TEST_F(LintCorpus, FindsTheInvalidJqProgramsAmongThousandsOfJqPrograms) {
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

}  // namespace
}  // namespace millrace
