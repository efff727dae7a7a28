#include "tests/tidy/cmake_calls.h"

#include <map>
#include <regex>
#include <sstream>

namespace millrace {
namespace {

/// The values of each variable, by `${NAME}`.
using Variables = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> read_arguments(const std::string& text, const Variables& variables) {
  std::vector<std::string> arguments;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto variable = variables.find(word);
    if (variable == variables.end()) {
      arguments.push_back(word);
    } else {
      arguments.insert(arguments.end(), variable->second.begin(), variable->second.end());
    }
  }
  return arguments;
}

}  // namespace

std::vector<CMakeCall> cmake_calls(const std::string& text) {
  static const std::regex kComment("#[^\n]*");
  static const std::regex kCall(R"((\w+)\s*\(([^()]*)\))");
  const std::string code = std::regex_replace(text, kComment, "");
  std::vector<CMakeCall> calls;
  Variables variables;
  for (std::sregex_iterator call(code.begin(), code.end(), kCall), end; call != end; ++call) {
    calls.push_back({(*call)[1], read_arguments((*call)[2], variables)});
    const auto& [name, arguments] = calls.back();
    if (name != "set" || arguments.empty()) continue;
    variables["${" + arguments.front() + "}"].assign(arguments.begin() + 1, arguments.end());
  }
  return calls;
}

}  // namespace millrace
