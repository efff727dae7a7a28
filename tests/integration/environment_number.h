// Numbers from environment variables, which make a test longer than it is by default.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

namespace millrace {

/// The number in an environment variable; `otherwise` if the variable is not set.
inline size_t number_from(const char* variable, size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoul(text);
}

}  // namespace millrace
