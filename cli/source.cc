// What several verbs need: where bytes come from, fresh ids, findings as text.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include <fmt/format.h>

#include "base/ids.h"
#include "cli/verbs.h"

namespace millrace {

Fallible<std::string> read_file(Console& console, const std::string& name) {
  if (name == "-") return std::string(std::istreambuf_iterator<char>(console.in), {});
  std::ifstream file(name, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.is_open() && !file.bad() && file.peek() == std::ifstream::traits_type::eof()) {
    return bytes;
  }
  return give_up(ExitCode::kUsage, "cli.file", fmt::format("{}: {}", name, std::strerror(errno)));
}

Fallible<std::string> read_value(Console& console, const std::string& value) {
  if (value == "-") return read_file(console, "-");
  if (value.starts_with('@')) return read_file(console, value.substr(1));
  if (const Result<Json> json = parse_json(value); !json) {
    return wrong_usage(fmt::format("`{}` is no JSON ({}); a text needs quotes, a file an @", value,
                                   json.error().message));
  }
  return value;
}

std::string fresh_id(Console& console) {
  std::random_device random;
  std::array<uint8_t, 10> bytes{};
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
  return to_string(make_instance_id(console.now(), bytes));
}

std::string render_findings(const Json& errors, std::string_view file) {
  std::string text;
  for (const Json& finding : errors) {
    const std::string path = finding.value("path", "");
    text += fmt::format("{}:{}:{}: {}: {}{}{} [{}]\n", file, finding.value("line", 1),
                        finding.value("column", 1), finding.value("severity", "error"), path,
                        path.empty() ? "" : ": ", finding.value("message", ""),
                        finding.value("code", ""));
  }
  return text;
}

}  // namespace millrace
