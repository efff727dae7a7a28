// Classes of ASCII characters, independent of the locale. Pure; for any thread.
#pragma once

#include <string_view>

namespace millrace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// The value of a hexadecimal digit; -1: `c` is none.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
constexpr bool is_hex_digit(char c) { return hex_value(c) >= 0; }
/// Whether `c` is a space, a tab, a line feed, a vertical tab, a form feed or a carriage return.
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// The lower-case form of an ASCII letter; any other character unchanged.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether `c` may be the first character of a name in jq or another programming language.
constexpr bool begins_name(char c) { return is_letter(c) || c == '_'; }
/// Whether a name in jq or another programming language may have `c` after its first character.
constexpr bool is_in_name(char c) { return begins_name(c) || is_digit(c); }

/// The text without white space at its beginning and end.
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace millrace
