// Where programs of the system are.
#pragma once

#include <string>

namespace millrace {

/// The path of a program that may be run: `name` itself where it is a path, else looked for in PATH
/// and in the folders for administrators, which are not in everyone's. Empty: there is none.
std::string find_program(const std::string& name);

}  // namespace millrace
