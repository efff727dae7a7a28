// `millrace instance follow`.
#pragma once

#include "cli/command_line.h"

namespace millrace {

/// Adds the verb to the noun `instance`.
void add_follow_verb(CommandLine& instance);

}  // namespace millrace
