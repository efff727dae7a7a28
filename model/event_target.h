// The target of a replayed event: only one workflow, or only one instance, may take it. The target
// is an extension attribute, so it stays with the event wherever millrace stores the event. Any
// publisher may set the attribute: it only narrows the effect of the event. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/ids.h"
#include "base/own_attributes.h"
#include "model/instance.h"

namespace millrace {

/// The texts of kTargetAttribute: `workflow/<number>`, the number of a workflow in the store, or
/// `instance/<id>`. An event with another text has no effect.
std::string workflow_target(WorkflowNumber workflow);
std::string instance_target(const InstanceId& instance);

/// The instance that the text names; nullopt: it names none.
std::optional<InstanceId> target_instance(std::string_view target);

/// The number of the workflow that the text names; nullopt: it names none.
std::optional<WorkflowNumber> target_workflow(std::string_view target);

/// Whether an event with that target may start the workflow.
bool is_target(std::string_view target, WorkflowNumber workflow);
/// Whether an event with that target may wake the instance, as far as its id shows: if the target
/// is a workflow, may_take() decides.
bool may_be_target(std::string_view target, const InstanceId& instance);

/// Whether the instance may take the event: it is its target, or the event has no target.
bool may_take(const Event& event, const Instance& instance);

}  // namespace millrace
