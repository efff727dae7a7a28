#include "expressions/large_integers.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace millrace {
namespace {

constexpr double kFirstInexact = 9007199254740992.0;  // 2^53
constexpr size_t kDigitsOfFirst = 16;

bool begins_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }
bool continues_number(char c) {
  return begins_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool is_large_integer(std::string_view number) {
  if (number.size() < kDigitsOfFirst) return false;
  if (number.find_first_of(".eE") != std::string_view::npos) return false;
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() && std::abs(value) >= kFirstInexact;
}

}  // namespace

bool has_large_integer(std::string_view json) {
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') ++i;
      }
    } else if (begins_number(json[i])) {
      size_t end = i;
      while (end < json.size() && continues_number(json[end])) ++end;
      if (is_large_integer(json.substr(i, end - i))) return true;
      i = end - 1;
    }
  }
  return false;
}

}  // namespace millrace
