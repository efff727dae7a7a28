// How many cases a test generates: the number that the test gives, or MILLRACE_CASES if that is
// set, for a long run.
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
