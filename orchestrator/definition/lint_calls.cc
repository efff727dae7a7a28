#include "orchestrator/definition/lint_calls.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "language/grammar.h"
#include "language/walk.h"
#include "model/image_name.h"
#include "orchestrator/definition/lint_nodes.h"
#include "policies/vocabularies.h"

namespace millrace {
namespace {

bool has_action_timeout(const Node& node) {
  return std::any_of(kActionTimeouts.begin(), kActionTimeouts.end(),
                     [&](const TimeoutKey& key) { return node.find(key.name) != nullptr; });
}

/// Whether a timeout of the workflow ends the instance, regardless of what its states wait for.
bool is_bounded(const Node& document) {
  for (const std::string_view key :
       {"timeouts", "timeout", "workflowExecutionTimeout", "workflowRunTimeout"}) {
    if (document.find(key) != nullptr) return true;
  }
  return false;
}

/// Finds functions whose image the container runtime never gets: podman may take the name for a
/// place on the machine.
void check_images(const Node& document, Findings& findings) {
  const std::vector<Node>& functions = items_of(document, "functions");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Node* const image = value_of(functions[i], "image");
    if (image == nullptr || image->text.empty()) continue;
    const Status checked = check_image_name(image->text);
    if (checked) continue;
    findings.warning("lint.call_never", path_of(path_of("functions", i), "image"), image->at,
                     fmt::format("each call of this function ends with {}: {}",
                                 checked.error().code, checked.error().message),
                     "correct the name of the image");
  }
}

/// Whether the service of the function is one of the namespace `default`.
bool has_global_service(const Node& function) {
  return text_of(function, "type") == "knative-global" || text_of(function, "global") == "true";
}

/// Finds functions with files that workers would get.
void check_files(const Node& document, const HasWorkers& has_workers, Findings& findings) {
  const std::vector<Node>& functions = items_of(document, "functions");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Node* const service = value_of(functions[i], "service");
    const Node* const files = value_of(functions[i], "files");
    if (service == nullptr || service->text.empty()) continue;
    if (files == nullptr || files->items.empty()) continue;
    const std::string path = path_of(path_of("functions", i), "files");
    const bool is_global = has_global_service(functions[i]);
    const std::string mend = fmt::format(
        "set a `url` or `request` for the service {} in the settings of the namespace{}, or remove "
        "`files`",
        in_quotes(service->text), is_global ? " \"default\"" : "");
    if (!has_workers) {
      findings.note("lint.files_for_workers", path, files->at,
                    "each call of this function fails with millrace.function.files if workers take "
                    "the tasks of its service: they cannot get files",
                    mend);
    } else if (has_workers(service->text, is_global)) {
      findings.warning("lint.files_for_workers", path, files->at,
                       "each call of this function fails with millrace.function.files: workers "
                       "take the tasks of its service, and they cannot get files",
                       mend);
    }
  }
}

/// Finds functions whose calls wait, because nothing takes the tasks of their service now.
/// Calls of one with files do not wait, but fail.
void check_unserved(const Node& document, const IsUnserved& is_unserved, Findings& findings) {
  if (!is_unserved) return;
  const std::vector<Node>& functions = items_of(document, "functions");
  for (size_t i = 0; i < functions.size(); ++i) {
    const Node* const service = value_of(functions[i], "service");
    if (service == nullptr || service->text.empty()) continue;
    if (!items_of(functions[i], "files").empty()) continue;
    const bool is_global = has_global_service(functions[i]);
    if (!is_unserved(service->text, is_global)) continue;
    findings.warning("lint.service_unserved", path_of(path_of("functions", i), "service"),
                     service->at,
                     fmt::format("the settings of the namespace{} do not name the service {}, and "
                                 "no worker asks for its tasks now, so its calls wait",
                                 is_global ? " \"default\"" : "", in_quotes(service->text)),
                     "set its `url` in these settings, or start a worker");
  }
}

}  // namespace

void lint_calls(const Node& document, const NamesService& names_service,
                const HasWorkers& has_workers, const IsUnserved& is_unserved, Findings& findings) {
  check_images(document, findings);
  check_files(document, has_workers, findings);
  check_unserved(document, is_unserved, findings);
  const bool is_run_bounded = is_bounded(document);
  std::map<std::string, const Node*> services;  // by the function's id
  for (const Node& function : items_of(document, "functions")) {
    if (value_of(function, "service") != nullptr && !has_action_timeout(function)) {
      services.emplace(text_of(function, "id"), &function);
    }
  }
  const std::vector<Node>& states = items_of(document, "states");
  for (size_t i = 0; i < states.size(); ++i) {
    const bool is_state_bounded = is_run_bounded || value_of(states[i], "timeout") != nullptr;
    const Node* const compensation = value_of(states[i], "compensate");
    walk(states[i], state_grammar(), path_of("states", i), [&](const Place& place) {
      if (place.rule.kind != KeyRule::Kind::kFunction) return;
      // No timeout of the state or of the instance bounds a compensation.
      const bool undoes = &place.mapping == compensation;
      if (is_state_bounded && !undoes) return;
      const auto function = services.find(place.member.value.text);
      if (function == services.end() || has_action_timeout(place.mapping)) return;
      const std::string service = text_of(*function->second, "service");
      const bool is_global = has_global_service(*function->second);
      if (names_service && names_service(service, is_global)) return;
      const std::string doubt =
          fmt::format("no timeout ends this {} if no worker takes tasks of the service {}",
                      undoes ? "compensation" : "call", in_quotes(service));
      const bool has_retries = find_retries(place.mapping) != nullptr ||
                               find_retries(*function->second) != nullptr ||
                               (!undoes && find_retries(states[i]) != nullptr);
      const std::string mend = fmt::format(
          "give the {} or its function a timeout, such as `scheduleToCloseTimeout: 1h`{}, "
          "or name the service in the settings of the namespace",
          undoes ? "compensation" : "action",
          has_retries ? "" : " with `retries: {maximumAttempts: 1}`, which makes one attempt only");
      if (names_service) {
        findings.warning("lint.call_unbounded", place.path, place.member.value.at, doubt, mend);
      } else {
        findings.note("lint.call_unbounded", place.path, place.member.value.at, doubt, mend);
      }
    });
  }
}

}  // namespace millrace
