#include "language/graph.h"

#include "cli/verbs.h"
#include "language/document.h"
#include "language/scenario_names.h"

namespace millrace {

Ended draw_graph(Console& console, LoadDefinition load, const std::string& file) {
  if (is_scenario_file(file)) {
    return wrong_usage(file + " holds scenarios; name the definition, which is drawn");
  }
  const std::string text = TRY(read_file(console, file));
  const Findings findings = load(text).findings;
  if (findings.has_errors()) {
    console.err << render_text(findings, file);
    return ExitCode::kFindings;
  }
  Findings none;
  console.out << mermaid_graph(*parse_document(text, none));
  return ExitCode::kOk;
}

}  // namespace millrace
