// Finds installed programs.
#pragma once

#include <string>

namespace millrace {

/// The path of an executable program: `name` itself if it contains a slash, else the first match in
/// PATH and in /usr/sbin and /usr/local/sbin, which are not in every user's PATH. The result is
/// empty if no program is found.
std::string find_program(const std::string& name);

}  // namespace millrace
