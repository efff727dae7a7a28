// Definitions as YAML or JSON: they are parsed, loaded, linted and drawn, and a definition that
// loads is written as JSON and loads again.
// Covers: language/document.cc language/yaml_parts.cc language/fields.cc language/findings.cc
// Covers: language/graph.cc language/walk.cc language/policy_fields.cc language/own_policy.cc
// Covers: orchestrator/definition/loader.cc orchestrator/definition/functions.cc
// Covers: orchestrator/definition/lint.cc orchestrator/definition/lint_calls.cc
// Covers: orchestrator/definition/lint_errors.cc orchestrator/definition/lint_events.cc
// Covers: orchestrator/definition/lint_graph.cc orchestrator/definition/lint_idle.cc
// Covers: orchestrator/definition/lint_nodes.cc orchestrator/definition/lint_queries.cc
// Covers: orchestrator/definition/lint_retries.cc orchestrator/definition/lint_timeouts.cc
// Covers: orchestrator/definition/lint_own_calls.cc orchestrator/definition/lint_starts.cc
// Covers: orchestrator/definition/call_limits.cc language/key_hints.cc
// Covers: orchestrator/definition/never_attributes.cc orchestrator/definition/query_lookalikes.cc
// Covers: policies/vocabularies.cc matchers/never_matches.cc
// Covers: orchestrator/definition/flow_control.cc orchestrator/definition/limit_values.cc
// Covers: orchestrator/definition/lint_call_keys.cc orchestrator/definition/lint_compensations.cc
// Covers: orchestrator/definition/read_members.cc orchestrator/definition/start_data.cc
// Covers: orchestrator/definition/start_limits.cc policies/evaluated_time.cc
// Covers: policies/unit_advice.cc
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "language/graph.h"
#include "orchestrator/definition/lint.h"
#include "tests/fuzz/finding_properties.h"
#include "tests/fuzz/readable_json.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/yaml_mutator.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostDefinitionBytes = 16'384;

/// Accepts all jq programs and schemas: only jq workers can check them.
std::vector<std::optional<Error>> accept_all(std::span<const std::string> texts) {
  return std::vector<std::optional<Error>>(texts.size());
}

/// The limits of a workflow that calls the services and images of the corpus.
std::shared_ptr<const CallLimits> other_limits() {
  constexpr std::string_view kOther =
      "id: beside\nfunctions:\n"
      "- {id: f, type: service, service: bank, concurrency: {limit: 2, key: jq(.a)}}\n"
      "- {id: g, type: service, service: stock, throttle: {limit: 2, period: PT1M}}\n"
      "states:\n- {id: s, type: action, action: {function: f}, transition: t}\n"
      "- {id: t, type: action, action: {function: g}}\n";
  static const std::shared_ptr<const CallLimits> limits = [&] {
    auto made = std::make_shared<CallLimits>();
    made->add(*load_workflow(kOther, accept_all, accept_all).workflow);
    return made;
  }();
  return limits;
}

/// The definition, written as JSON, is the same workflow.
void check_as_json(const Node& document, const Workflow& workflow) {
  const Json json = to_json(document);
  const std::string text = dump_json(json);
  // Aliases may make the JSON larger and deeper than the YAML.
  if (text.size() > kMaxDocumentSize || nests_deeper(json, kMaxJsonDepth)) return;
  if (!is_readable_json(json)) return;
  const Loaded again = load_workflow(text, accept_all, accept_all);
  CHECK(again.workflow != nullptr, "the definition does not load as JSON: {}",
        render_text(again.findings, "json"));
  CHECK(
      again.workflow->id == workflow.id && again.workflow->states.size() == workflow.states.size(),
      "the definition is another one as JSON: {}", excerpt(text, 200));
}

void check_definition(std::string_view text) {
  const LintContext context{.now = from_millis(1'630'454'400'000), .limits_beside = other_limits};
  const Loaded loaded = load_and_lint(text, accept_all, accept_all, context);
  check_findings(loaded.findings, text);
  CHECK((loaded.workflow == nullptr) == loaded.findings.has_errors(), "a workflow, and errors: {}",
        render_text(loaded.findings, "f"));
  const Json shown = to_json(loaded.findings);
  const Loaded again = load_and_lint(text, accept_all, accept_all, context);
  CHECK(to_json(again.findings) == shown, "two loads have different findings");
  const bool loads = load_workflow(text, accept_all, accept_all).workflow != nullptr;
  CHECK(loads == (loaded.workflow != nullptr), "lint decides whether a definition loads");
  CHECK(load_stored(text).has_value() == loads, "a stored definition loads otherwise");
  if (!loaded.workflow) return;
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  CHECK(document, "a definition loads, but does not parse");
  check_as_json(*document, *loaded.workflow);
  const std::string graph = mermaid_graph(*document);
  CHECK(graph.starts_with("flowchart"), "no graph: {}", excerpt(graph));
  CHECK(is_utf8(graph), "the graph is not UTF-8");
}

size_t mutate_definition(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  static const std::vector<const Mapping*> mappings = all_mappings();
  return mutate_yaml(data, size, max_size, seed, mappings);
}

}  // namespace

FUZZ_TARGET(definitions) {
  if (bytes.size() > kMostDefinitionBytes) return;
  check_definition(bytes);
}

FUZZ_MUTATOR(definitions, &mutate_definition);

}  // namespace millrace::fuzz
