// Scenario files: what is read, and the positions of all mistakes.
// Covers: scenarios/scenario_file.cc scenarios/acted_functions.cc scenarios/scenario_grammar.cc
#include <string>
#include <vector>

#include "orchestrator/definition/loader.h"
#include "scenarios/scenario_file.h"
#include "scenarios/scenario_grammar.h"
#include "tests/fuzz/finding_properties.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/yaml_mutator.h"

namespace millrace::fuzz {
namespace {

constexpr std::string_view kScenarioWorkflow =
    "id: order\nstates:\n- {id: wait, type: noop, transition: ship}\n- {id: ship, type: noop}\n";

/// Opens each workflow that a file names, and those that are written in it.
Result<ApplyWorkflow> open_any_workflow(const Node& named) {
  if (named.kind == Node::Kind::kMapping) {
    return ApplyWorkflow{.ns = "default",
                         .text = dump_json(to_json(named)),
                         .workflow = load_workflow(named, {}, nullptr).workflow};
  }
  if (named.text.find("missing") != std::string::npos) {
    return fail("scenario.file", "there is no such file");
  }
  return ApplyWorkflow{.ns = "default",
                       .text = std::string(kScenarioWorkflow),
                       .workflow = load_workflow(kScenarioWorkflow, nullptr).workflow};
}

size_t mutate_scenario(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<const Mapping*> mappings = {
      &scenario_file_grammar(), &expectation_grammar(), &performance_grammar()};
  return mutate_yaml(data, size, max_size, seed, mappings);
}

}  // namespace

FUZZ_TARGET(scenario_files) {
  if (bytes.size() > 16'384) return;
  Findings findings;
  const ScenarioFile file = read_scenario_file(bytes, "order.yaml", open_any_workflow, findings);
  check_findings(findings, bytes);
  if (findings.has_errors()) return;
  for (const ApplyWorkflow& workflow : file.workflows) {
    if (!workflow.workflow) return;
  }
  CHECK(!file.workflows.empty(), "a file without a workflow has no error");
  for (const Scenario& scenario : file.scenarios) {
    CHECK(is_utf8(scenario.name), "a name is not UTF-8");
    TimePoint last;
    for (const Given& given : scenario.given) {
      CHECK(given.at.after(TimePoint()) >= last, "the given events are not in the order of time");
      last = given.at.after(TimePoint());
    }
  }
}

FUZZ_MUTATOR(scenario_files, &mutate_scenario);

}  // namespace millrace::fuzz
