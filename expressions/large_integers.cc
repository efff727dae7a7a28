#include "expressions/large_integers.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace millrace {
namespace {

constexpr double kFirstInexact = 9007199254740992.0;  // 2^53

bool begins_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }
bool continues_number(char c) {
  return begins_number(c) || c == '+' || c == '.' || c == 'e' || c == 'E';
}

}  // namespace

LargeIntegers::LargeIntegers(std::string_view json) {
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '"') {
      for (++i; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\') ++i;
      }
    } else if (begins_number(json[i])) {
      size_t end = i;
      while (end < json.size() && continues_number(json[end])) ++end;
      const std::string_view text = json.substr(i, end - i);
      i = end - 1;
      const bool integer = text.find_first_of(".eE") == std::string_view::npos;
      if (integer && text.size() < 16) continue;  // 2^53 has 16 digits
      double value = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || std::abs(value) < kFirstInexact) continue;
      const std::string_view spelling = integer ? text : std::string_view();
      const auto [known, is_new] = literals_.emplace(value, spelling);
      if (!is_new && known->second != spelling) known->second.clear();
    }
  }
}

std::optional<std::string_view> LargeIntegers::literal(double rounded) const {
  const auto known = literals_.find(rounded);
  if (known == literals_.end() || known->second.empty()) return std::nullopt;
  return known->second;
}

}  // namespace millrace
