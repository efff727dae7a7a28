#include <variant>

#include "cli/verbs.h"
#include "model/findings.h"

namespace millrace {

Ended lint_files(Console& console, LoadDefinition load, const std::vector<std::string>& files,
                 bool as_json) {
  Json all = Json::array();
  bool refused = false;
  for (const std::string& file : files) {
    const std::string text = TRY(read_file(console, file));
    const LoadedDefinition loaded = load(text);
    const auto* found = std::get_if<Findings>(&loaded);
    const Findings findings = found == nullptr ? Findings() : *found;
    refused = refused || findings.has_errors();
    if (as_json) {
      Json report = to_json(findings);
      report["file"] = file;
      all.push_back(std::move(report));
    } else {
      console.out << render_text(findings, file);
    }
  }
  if (as_json) console.out << Json{{"files", all}}.dump(2) << "\n";
  return refused ? ExitCode::kFindings : ExitCode::kOk;
}

}  // namespace millrace
