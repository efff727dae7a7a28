#include "model/variable.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/json.h"

namespace millrace {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_within_key(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

std::string_view to_string(VariableScope scope) {
  switch (scope) {
    case VariableScope::kInstance:
      return "instance";
    case VariableScope::kWorkflow:
      return "workflow";
    case VariableScope::kNamespace:
      return "namespace";
  }
  return "unknown";
}

bool is_variable_key(std::string_view key) {
  return !key.empty() && key.size() <= kMaxVariableKey && is_letter(key.front()) &&
         std::all_of(key.begin(), key.end(), is_within_key);
}

VariableOwner owner_of(const Instance& instance, VariableScope scope) {
  return owner_of(instance.ns, instance.revision.workflow, instance.id, scope);
}

VariableOwner owner_of(NamespaceNumber ns, WorkflowNumber workflow, const InstanceId& instance,
                       VariableScope scope) {
  VariableOwner owner{.scope = scope, .ns = ns};
  if (scope == VariableScope::kWorkflow) owner.workflow = workflow;
  if (scope == VariableScope::kInstance) owner.instance = instance;
  return owner;
}

std::string content_type_of_file(std::string_view bytes) {
  if (is_json(bytes)) return "application/json";
  const bool is_text = bytes.find('\0') == std::string_view::npos && is_utf8(bytes);
  return is_text ? "text/plain; charset=utf-8" : "application/octet-stream";
}

Error no_variable(std::string_view key) {
  return {"variable.not_found", fmt::format("there is no variable \"{}\" in this scope", key)};
}

}  // namespace millrace
