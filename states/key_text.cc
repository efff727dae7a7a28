#include "states/key_text.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::string_view kOfNumbers = "+-.0123456789Ee";

/// The end of the JSON string that begins at `at`, behind its quote.
size_t end_of_string(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at + 1;
}

std::string number_text(std::string_view number) {
  const bool is_integer = number.find_first_of(".Ee") == std::string_view::npos;
  if (is_integer && number != "-0") return std::string(number);
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ec != std::errc()) return std::string(number);  // no double can have it
  if (value == 0) return "0";
  return std::trunc(value) == value ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

}  // namespace

std::string key_text(std::string json) {
  if (json.find_first_of(".Ee-") == std::string::npos) return json;
  const std::string_view all = json;
  std::string text;
  for (size_t at = 0; at < all.size();) {
    size_t end = at + 1;
    if (all[at] == '"') {
      end = end_of_string(all, at);
    } else if (all[at] == '-' || (all[at] >= '0' && all[at] <= '9')) {
      end = all.find_first_not_of(kOfNumbers, at);
      text += number_text(all.substr(at, end - at));
      at = end;
      continue;
    }
    text += all.substr(at, end - at);
    at = end;
  }
  return text;
}

}  // namespace millrace
