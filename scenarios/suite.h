// A suite: a scenario file with the workflows that it names, read from files.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "language/findings.h"
#include "orchestrator/definition/loader.h"
#include "scenarios/scenario_file.h"

namespace millrace {

/// If `where` is a folder: the scenario files in it and in its subfolders, sorted by name. If
/// `where` is a file: this file, whatever its name. Error `scenario.not_found`: the file or folder
/// does not exist.
Result<std::vector<std::filesystem::path>> find_scenario_files(const std::filesystem::path& where);

/// A file with errors, and its findings.
struct WrongFile {
  std::string file;
  Findings findings;
};

/// A suite that can be played, or the scenario file and workflows that have errors.
using LoadedSuite = std::variant<ScenarioFile, std::vector<WrongFile>>;

/// Reads a scenario file and its workflows. `check` checks the jq programs of the workflows. A file
/// that cannot be read is reported as a finding.
LoadedSuite load_suite(const std::filesystem::path& file, const ProgramCheck& check,
                       const SchemaCheck& check_schemas = nullptr);

}  // namespace millrace
