// Errors of commands and queries about missing workflows and instances. Pure.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace millrace {

/// `workflow.not_found`: the namespace has no workflow with that id.
Error no_workflow(std::string_view ns, std::string_view id);

/// `instance.not_found`: the namespace has no instance with that id, neither live nor ended.
Error no_instance(std::string_view ns, const InstanceId& id);

}  // namespace millrace
