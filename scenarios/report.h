// The report of `millrace test`: for people, and as the JUnit XML that continuous integration
// reads. Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/play.h"
#include "scenarios/suite.h"

namespace millrace {

/// One scenario that was played.
struct Played {
  std::string name;
  Position at;
  PlayOutcome outcome;
};

/// What came of one scenario file. One that is wrong was not played.
struct SuiteReport {
  std::string file;
  std::vector<Played> played;
  std::vector<WrongFile> wrong;
};

/// `file:line:column: path: message`, or without the path where there is none.
std::string render_mismatch(const Mismatch& mismatch, std::string_view file);

/// A line for each scenario, and below those that failed what was not as expected and what
/// happened; the findings of wrong files.
std::string render_text(const SuiteReport& report);

/// The closing line: `7 scenarios in 3 files: 6 passed, 1 FAILED (0.2 s)`.
std::string render_summary(const std::vector<SuiteReport>& reports);

/// A document of one testsuite a file, one testcase a scenario; a file that is wrong is an error.
std::string render_junit(const std::vector<SuiteReport>& reports);

}  // namespace millrace
