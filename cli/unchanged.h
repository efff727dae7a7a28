// Why a command on an instance has changed nothing, as text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace millrace {

/// Whether the answer to a `cancel` or a `pause` says that it has changed nothing.
bool is_unchanged(std::string_view verb, const Json& answer);

/// A line that says why, from the instance as `instance get` shows it; empty: that is not known.
std::string unchanged_line(std::string_view verb, const Json& instance, const std::string& ns);

}  // namespace millrace
