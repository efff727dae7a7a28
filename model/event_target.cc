#include "model/event_target.h"

#include <variant>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::string_view kOfWorkflow = "workflow/";

}  // namespace

std::string workflow_target(WorkflowNumber workflow) {
  return fmt::format("{}{}", kOfWorkflow, static_cast<uint32_t>(workflow));
}

std::string instance_target(const InstanceId& instance) {
  return "instance/" + to_string(instance);
}

bool is_target(std::string_view target, WorkflowNumber workflow) {
  return target == workflow_target(workflow);
}

bool may_be_target(std::string_view target, const InstanceId& instance) {
  return target.starts_with(kOfWorkflow) || target == instance_target(instance);
}

bool may_take(const Event& event, const Instance& instance) {
  if (event.extensions.empty()) return true;
  const auto found = event.extensions.find(std::string(kTargetAttribute));
  if (found == event.extensions.end()) return true;
  const auto* const target = std::get_if<std::string>(&found->second);
  return target != nullptr && (is_target(*target, instance.revision.workflow) ||
                               *target == instance_target(instance.id));
}

}  // namespace millrace
