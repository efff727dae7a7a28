// Reads scenario files and workflows from strings.
#pragma once

#include <map>
#include <string>

#include "orchestrator/definition/loader.h"
#include "scenarios/scenario_file.h"

namespace millrace {

/// The content of files, by file name.
using Texts = std::map<std::string, std::string>;

/// Reads a scenario file. Its workflow is `order.yaml` unless it names others.
inline ScenarioFile read_scenarios(const std::string& text, const Texts& workflows,
                                   Findings& findings) {
  const auto open = [&](const Node& named) -> Result<ApplyWorkflow> {
    const auto found = workflows.find(named.text);
    if (found == workflows.end()) return fail("scenario.file", "there is no such file");
    return ApplyWorkflow{.ns = "default",
                         .text = found->second,
                         .workflow = load_workflow(found->second, nullptr).workflow};
  };
  return read_scenario_file(text, "order.yaml", open, findings);
}

}  // namespace millrace
