// A suite: a scenario file with the workflows that it is about, as they stand on the disk.
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

/// The scenario files below a folder, by name; a file is itself, whatever its name. Error
/// `scenario.not_found`: there is nothing of that name.
Result<std::vector<std::filesystem::path>> find_scenario_files(const std::filesystem::path& where);

/// The mistakes in one file.
struct WrongFile {
  std::string file;
  Findings findings;
};

/// What may be played, or what is wrong with the file and the workflows that it names.
using LoadedSuite = std::variant<ScenarioFile, std::vector<WrongFile>>;

/// Reads a scenario file and its workflows, whose jq programs `check` checks. A file that cannot be
/// read is a finding as well.
LoadedSuite load_suite(const std::filesystem::path& file, const ProgramCheck& check,
                       const SchemaCheck& check_schemas = nullptr);

}  // namespace millrace
