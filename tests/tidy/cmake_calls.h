// CMakeCall: a call of a function in a CMakeLists.txt, `name(argument …)`. A scan of words, not a
// parser: it evaluates nothing.
#pragma once

#include <string>
#include <vector>

namespace millrace {

struct CMakeCall {
  std::string name;
  std::vector<std::string> arguments;
};

/// The calls of a CMakeLists.txt in their order.
std::vector<CMakeCall> cmake_calls(const std::string& text);

}  // namespace millrace
