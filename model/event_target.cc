#include "model/event_target.h"

#include <cstdint>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include "base/whole_number.h"

namespace millrace {
namespace {

constexpr std::string_view kOfWorkflow = "workflow/";
constexpr std::string_view kOfInstance = "instance/";

}  // namespace

std::string workflow_target(WorkflowNumber workflow) {
  return fmt::format("{}{}", kOfWorkflow, static_cast<uint32_t>(workflow));
}

std::string instance_target(const InstanceId& instance) {
  return fmt::format("{}{}", kOfInstance, to_string(instance));
}

std::optional<InstanceId> target_instance(std::string_view target) {
  if (!target.starts_with(kOfInstance)) return std::nullopt;
  const Result<InstanceId> id = parse_instance_id(target.substr(kOfInstance.size()));
  if (!id) return std::nullopt;
  return *id;
}

std::optional<WorkflowNumber> target_workflow(std::string_view target) {
  if (!target.starts_with(kOfWorkflow)) return std::nullopt;
  const std::optional<uint64_t> number =
      whole_number(target.substr(kOfWorkflow.size()), std::numeric_limits<uint32_t>::max());
  if (!number) return std::nullopt;
  const auto workflow = static_cast<WorkflowNumber>(static_cast<uint32_t>(*number));
  // Another spelling of the number is the target of no workflow.
  return is_target(target, workflow) ? std::optional(workflow) : std::nullopt;
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
