// Searches the files and answers of a millrace for a value that must stay secret.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/millrace_server.h"

namespace millrace {

/// The places of the value (see leaks.h) in the files and the log of millrace, and in its answers
/// about itself and its default namespace.
std::vector<std::string> leaks_of(MillraceServer& millrace, std::string_view value);

}  // namespace millrace
