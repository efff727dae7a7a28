// Scenario files as texts, beside workflows as texts.
#pragma once

#include <map>
#include <string>

#include "orchestrator/definition/loader.h"
#include "scenarios/scenario_file.h"

namespace millrace {

/// Names of files and what is in them.
using Texts = std::map<std::string, std::string>;

/// Reads a scenario file that may be about `order.yaml`, or name others.
inline ScenarioFile read_scenarios(const std::string& text, const Texts& workflows,
                                   Findings& findings) {
  const auto open = [&](const Node& named) -> Result<ApplyWorkflow> {
    const auto found = workflows.find(named.text);
    if (found == workflows.end()) return fail("scenario.file", "there is no such file");
    return ApplyWorkflow{.space = "default",
                         .text = found->second,
                         .workflow = load_workflow(found->second, nullptr).workflow};
  };
  return read_scenario_file(text, "order.yaml", open, findings);
}

}  // namespace millrace
