// The verbs of `millrace instance` that list or count instances, or the parts of one.
#pragma once

#include "cli/command_line.h"

namespace millrace {

/// Adds `list`.
void add_instance_list(CommandLine& instance);
/// Adds `count`, `calls` and `children`.
void add_instance_parts(CommandLine& instance);

}  // namespace millrace
