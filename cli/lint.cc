#include "cli/verbs.h"
#include "language/findings.h"

namespace millrace {

Ended lint_files(Console& console, LoadDefinition load, const LintOptions& options) {
  Json all = Json::array();
  bool refused = false;
  for (const auto& [file, text] : TRY(read_definitions(console, options.files))) {
    const Findings findings = load(text).findings;
    refused = refused || findings.has_errors() || (options.strict && findings.has_warnings());
    if (options.as_json) {
      Json report = to_json(findings);
      report["file"] = file;
      all.push_back(std::move(report));
    } else {
      console.out << render_text(findings, file);
    }
  }
  if (options.as_json) console.out << Json{{"files", all}}.dump(2) << "\n";
  return refused ? ExitCode::kFindings : ExitCode::kOk;
}

}  // namespace millrace
