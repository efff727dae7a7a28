#include "scenarios/suite.h"

#include <algorithm>

#include <fmt/format.h>

#include "language/document.h"
#include "os/read_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::vector<fs::path>> find_scenario_files(const fs::path& where) {
  std::error_code error;
  if (!fs::is_directory(where, error)) {
    if (fs::exists(where, error)) return std::vector{where};
    return fail("scenario.not_found", fmt::format("there is no file or folder {}", where.string()));
  }
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(
           where, fs::directory_options::skip_permission_denied, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error) && is_scenario_file(entry->path().filename().string())) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

LoadedSuite load_suite(const fs::path& file, const ProgramCheck& check,
                       const SchemaCheck& check_schemas) {
  std::vector<WrongFile> wrong;
  const auto note = [&wrong](const fs::path& name, Findings findings) {
    if (findings.has_errors()) wrong.push_back({name.string(), std::move(findings)});
  };
  const auto open = [&](const Node& item) -> Result<ApplyWorkflow> {
    if (item.kind == Node::Kind::kMapping) {
      Loaded loaded = load_workflow(item, {}, check, check_schemas);
      note(file, std::move(loaded.findings));
      return ApplyWorkflow{.ns = "default",
                           .text = dump_json(to_json(item)),
                           .workflow = std::move(loaded.workflow)};
    }
    const fs::path path = file.parent_path() / item.text;
    std::string text = TRY(read_file(path, kMaxDocumentSize));
    Loaded loaded = load_workflow(text, check, check_schemas);
    note(path, std::move(loaded.findings));
    return ApplyWorkflow{
        .ns = "default", .text = std::move(text), .workflow = std::move(loaded.workflow)};
  };
  Findings findings;
  ScenarioFile scenarios;
  if (const Result<std::string> text = read_file(file, kMaxDocumentSize)) {
    scenarios =
        read_scenario_file(*text, workflow_beside(file.filename().string()), open, findings);
  } else {
    findings.error(text.error().code, "", {}, text.error().message);
  }
  note(file, std::move(findings));
  if (!wrong.empty()) return wrong;
  return scenarios;
}

}  // namespace millrace
