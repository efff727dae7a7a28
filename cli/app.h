// The entry point of the command line: runs one command and returns an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Runs one command and returns its exit code. `arguments` do not contain the program's name.
int run_app(std::vector<std::string> arguments, Console& console, const ProgramVerbs& program);

}  // namespace millrace
