// The report of `millrace test`: as text, and as JUnit XML for continuous integration. Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/play.h"
#include "scenarios/suite.h"

namespace millrace {

/// A scenario that was played, and its result.
struct Played {
  std::string name;
  Position at;
  PlayOutcome outcome;
};

/// The results of one scenario file. If the file or a workflow has errors (`wrong` is not empty),
/// no scenario of the file was played.
struct SuiteReport {
  std::string file;
  std::vector<Played> played;
  std::vector<WrongFile> wrong;
};

/// `file:line:column: path: message`, or without the path if it is empty.
std::string render_mismatch(const Mismatch& mismatch, std::string_view file);

/// The findings of files with errors; then a line for each scenario and, below a failed one, its
/// mismatches and the histories of its instances.
std::string render_text(const SuiteReport& report);

/// The closing line: `7 scenarios in 3 files: 6 passed, 1 FAILED (0.2 s)`.
std::string render_summary(const std::vector<SuiteReport>& reports);

/// A JUnit XML document with a testsuite for each file and a testcase for each scenario. A file
/// with errors is a testcase with an error.
std::string render_junit(const std::vector<SuiteReport>& reports);

}  // namespace millrace
