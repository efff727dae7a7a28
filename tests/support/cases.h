// The number of cases of a test that generates them: its default, or MILLRACE_CASES for a long run.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

namespace millrace {

inline size_t cases(size_t otherwise) {
  const char* const text = std::getenv("MILLRACE_CASES");
  return text == nullptr ? otherwise : std::stoul(text);
}

}  // namespace millrace
