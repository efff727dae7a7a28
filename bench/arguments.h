// The arguments of the modes of the bench program: words in a fixed order, and options with a
// value (`--rate 500`).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace millrace {

/// An argument that a mode accepts, and the variable that gets its value. The variable keeps its
/// value if the argument is not given.
struct Argument {
  std::string_view name;  ///< `--rate` is an option; any other name is that of a word
  std::variant<double*, size_t*, std::string*, std::filesystem::path*> value;
};

/// Reads the arguments of a mode. Numbers must be positive, or 0 for a size_t. Error
/// `bench.argument`: an argument is unknown, is given twice, has no value, or its value is not a
/// valid number.
Status read_arguments(const std::vector<std::string>& given, const std::vector<Argument>& accepted);

}  // namespace millrace
