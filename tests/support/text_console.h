// A Console whose input and output are texts, without a terminal, environment variables and a
// clock.
#pragma once

#include <optional>
#include <sstream>
#include <string>

#include "base/time.h"
#include "cli/console.h"

namespace millrace {

struct TextConsole {
  TextConsole() = default;
  TextConsole(const TextConsole&) = delete;
  TextConsole& operator=(const TextConsole&) = delete;

  std::istringstream in;
  std::ostringstream out;  ///< also for errors
  Console console{in,
                  out,
                  out,
                  false,
                  [](const std::string&) { return std::optional<std::string>(); },
                  [] { return TimePoint(); }};
};

}  // namespace millrace
