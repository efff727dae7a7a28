// The command line as a whole: arguments in, an exit code out.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Runs one command, `arguments` being without the program's name; the exit code.
int run_app(std::vector<std::string> arguments, Console& console, const ProgramVerbs& program);

}  // namespace millrace
