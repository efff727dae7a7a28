#include "tests/tidy/cmake_calls.h"

#include <regex>
#include <sstream>

namespace millrace {

std::vector<CMakeCall> cmake_calls(const std::string& text) {
  static const std::regex kComment("#[^\n]*");
  static const std::regex kCall(R"((\w+)\s*\(([^()]*)\))");
  const std::string code = std::regex_replace(text, kComment, "");
  std::vector<CMakeCall> calls;
  for (std::sregex_iterator call(code.begin(), code.end(), kCall), end; call != end; ++call) {
    std::istringstream words((*call)[2]);
    calls.push_back({(*call)[1], {}});
    for (std::string word; words >> word;) calls.back().arguments.push_back(word);
  }
  return calls;
}

}  // namespace millrace
