// The value NAME=VALUE of an option `--attr`. Pure.
#pragma once

#include <string>
#include <utility>

#include "cli/console.h"

namespace millrace {

/// The name and the value of a context attribute; the value begins after the first `=`, and may be
/// empty. Exit kUsage: the text has no `=`, or no name before it.
Fallible<std::pair<std::string, std::string>> read_attribute(const std::string& text);

}  // namespace millrace
