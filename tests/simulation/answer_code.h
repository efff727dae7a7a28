// The code of an answer to a command or to a wait for an end.
#pragma once

#include <string>

#include "tests/simulation/world.h"

namespace millrace {

/// The code of the answer: `not answered`, `ok`, or the code of the error.
inline std::string answer_code(const Answered& answered) {
  if (!answered->has_value()) return "not answered";
  return **answered ? "ok" : (**answered).error().code;
}

}  // namespace millrace
