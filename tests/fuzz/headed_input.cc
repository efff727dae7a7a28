#include "tests/fuzz/headed_input.h"

#include <algorithm>
#include <string>

namespace millrace::fuzz {

HeadedInput read_headed_input(std::string_view bytes) {
  HeadedInput input;
  while (!bytes.empty()) {
    const std::string_view line = take_line(bytes);
    if (line.empty()) break;
    const size_t colon = std::min(line.find(':'), line.size());
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    input.headers.emplace_back(line.substr(0, colon), value);
  }
  input.body = bytes;
  return input;
}

std::string_view take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  return line;
}

}  // namespace millrace::fuzz
