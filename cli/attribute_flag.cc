#include "cli/attribute_flag.h"

#include <fmt/format.h>

#include "cloudevents/event_check.h"
#include "cloudevents/headers.h"
#include "language/findings.h"

namespace millrace {

Fallible<std::pair<std::string, std::string>> read_attribute(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return wrong_usage(fmt::format("--attr {}: write NAME=VALUE, such as orderid=o-1742", text));
  }
  const std::string name = text.substr(0, equals);
  if (!is_attribute_name(name)) {
    const std::string lower = to_lower(name);
    return wrong_usage(fmt::format(
        "--attr {}: attribute name {} is not valid; expected lower-case letters and digits only, "
        "and not `data`{}",
        text, in_quotes(name), is_attribute_name(lower) ? ": write " + lower : ""));
  }
  return std::pair(name, text.substr(equals + 1));
}

}  // namespace millrace
