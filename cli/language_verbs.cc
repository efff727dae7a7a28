// The verbs for the workflow language and the API that need no server: explain, schema, openapi,
// lint and graph.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/explain.h"
#include "cli/source.h"
#include "language/document.h"
#include "language/editor_schema.h"
#include "language/findings.h"
#include "language/graph.h"
#include "language/scenario_names.h"
#include "orchestrator/definition/call_limits.h"
#include "orchestrator/definition/file_types.h"
#include "orchestrator/definition/inbound_file.h"
#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

struct LintOptions {
  std::vector<std::string> files;  ///< files or folders; `-`: standard input
  bool strict = false;             ///< warnings count as errors
};

/// Compares the limits of the calls of a definition with those of the other files.
void lint_limits_beside(std::string_view text, const std::shared_ptr<const CallLimits>& limits,
                        Findings& findings) {
  Findings none;
  const std::optional<Node> document = parse_document(text, none);
  if (findings.has_errors() || !document) return;
  lint_limits(
      *document, [&] { return limits; }, findings);
}

/// The findings of each of the files, in their order. The types and limits of all of them are known
/// before the events and calls of one are judged.
std::vector<Findings> findings_of(LoadDefinition load, const std::vector<DefinitionFile>& files) {
  std::vector<Findings> all;
  std::vector<InboundFile> inbound;
  FileTypes types;
  const auto limits = std::make_shared<CallLimits>();
  for (const DefinitionFile& file : files) {
    if (file.is_inbound) {
      inbound.push_back(parse_inbound_file(file.text));
      types.add_inbound(inbound.back());
      all.push_back(inbound.back().findings);
    } else {
      Loaded loaded = load(file.text);
      if (loaded.workflow) limits->add(*loaded.workflow);
      all.push_back(std::move(loaded.findings));
      types.add_definition(file.text, all.back());
    }
  }
  auto next_inbound = inbound.begin();
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].is_inbound) {
      types.lint_inbound(*next_inbound++, all[i]);
    } else {
      types.lint_definition(files[i].text, all[i]);
      lint_limits_beside(files[i].text, limits, all[i]);
    }
  }
  return all;
}

Ended lint_files(Shell& shell, LoadDefinition load, const LintOptions& options) {
  Console& console = shell.console();
  const std::string& format = shell.flags().format;
  if (!format.empty() && format != "text" && format != "json") {
    return wrong_usage("lint -o: unknown format; expected text or json");
  }
  const bool as_json = format == "json";
  Json all = Json::array();
  bool refused = false;
  const std::vector<DefinitionFile> files = TRY(read_definitions(console, options.files));
  const std::vector<Findings> all_findings = findings_of(load, files);
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& file = files[i].name;
    const Findings& findings = all_findings[i];
    refused = refused || findings.has_errors() || (options.strict && findings.has_warnings());
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

Ended draw_graph(Console& console, LoadDefinition load, const std::string& file) {
  if (is_scenario_file(file)) {
    return wrong_usage(file + " holds scenarios; give the file of the definition instead");
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

Ended print_schema(Shell& shell) {
  shell.console().out << editor_schema().dump(2) << "\n";
  return ExitCode::kOk;
}

void add_lint(CommandLine& commands, LoadDefinition load) {
  auto [lint, options] = commands.local<LintOptions>(
      "lint", "Reports errors and warnings of definitions, without a server",
      "millrace lint order.yaml payment.yaml\n  millrace lint workflows/",
      [load](Shell& shell, const LintOptions& given) { return lint_files(shell, load, given); });
  lint.option("file", options.files,
              "Definitions or inbound files (docs/sources.md) in YAML or JSON, or folders of them; "
              "- is standard input",
              "FILE|DIR")
      .required();
  lint.flag("--strict", options.strict, "Treat warnings as errors: exit 7");
}

void add_graph(CommandLine& commands, LoadDefinition load) {
  auto [graph, file] = commands.local<std::string>(
      "graph", "Prints a definition as a flowchart for Mermaid", "millrace graph order.yaml",
      [load](Shell& shell, const std::string& given) {
        return draw_graph(shell.console(), load, given);
      });
  graph.option("file", file, "A definition in YAML or JSON; - is standard input", "FILE")
      .required();
}

}  // namespace

void add_language_verbs(CommandLine& commands, const ProgramVerbs& program) {
  auto [explain, key] = commands.local<std::string>(
      "explain", "Explains a key of the workflow language",
      "millrace explain consumeEvent\n  millrace explain states.action.retries.delay",
      [](Shell& shell, const std::string& name) { return explain_key(shell.console(), name); });
  explain.option("key", key, "A key, a path of keys, a state type or a mapping", "KEY").required();
  commands.local("schema", "Prints a JSON Schema of definitions, for editors",
                 "millrace schema > millrace.schema.json", print_schema);
  if (program.api != nullptr) {
    commands.local("openapi", "Prints the OpenAPI document of the HTTP API",
                   "millrace openapi > millrace.openapi.json", [api = program.api](Shell& shell) {
                     shell.console().out << api().dump(2) << "\n";
                     return Ended(ExitCode::kOk);
                   });
  }
  if (program.load == nullptr) return;
  add_lint(commands, program.load);
  add_graph(commands, program.load);
}

}  // namespace millrace
