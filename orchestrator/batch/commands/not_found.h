// Errors of commands and queries about what does not exist. Pure.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace millrace {

/// `workflow.not_found`: the namespace has no workflow of that id.
Error no_workflow(std::string_view ns, std::string_view id);

/// `instance.not_found`: the namespace has no instance of that id, neither living nor ended.
Error no_instance(std::string_view ns, const InstanceId& id);

}  // namespace millrace
