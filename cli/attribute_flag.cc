#include "cli/attribute_flag.h"

#include <fmt/format.h>

namespace millrace {

Fallible<std::pair<std::string, std::string>> read_attribute(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return wrong_usage(fmt::format("--attr {}: write NAME=VALUE, such as orderid=o-1742", text));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace millrace
