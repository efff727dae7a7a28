// Writes JSON values as YAML. Pure, any thread.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

/// Block-style YAML that parses to the same value.
std::string to_yaml(const Json& value);

}  // namespace millrace
