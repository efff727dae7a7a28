// CMakeCall: a call of a function in a CMakeLists.txt, `name(argument …)`. An argument `${NAME}` is
// replaced by the values that an earlier `set(NAME …)` of the same text gave to it. Other variables
// and conditions are not evaluated.
#pragma once

#include <string>
#include <vector>

namespace millrace {

struct CMakeCall {
  std::string name;
  std::vector<std::string> arguments;
};

/// The calls in a CMakeLists.txt, in their order.
std::vector<CMakeCall> cmake_calls(const std::string& text);

}  // namespace millrace
