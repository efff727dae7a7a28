// Where a server lets a value be read that must stay secret.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/millrace_server.h"

namespace millrace {

/// In every file of its data, in all that it has logged, and in all that it answers about itself
/// and its default namespace (leaks.h says how that is told).
std::vector<std::string> leaks_of(MillraceServer& millrace, std::string_view value);

}  // namespace millrace
