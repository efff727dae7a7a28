// Integers of more than 64 bits ("big integers"). A double cannot hold all digits of a big integer,
// so parse_json stores the digits as written, in nlohmann's binary type, which no JSON text
// produces. Code that tests whether a value is a number, or converts it to a double, must use the
// functions of this file.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace {

/// Whether the value is an integer of more than 64 bits.
template <class J>
bool is_big_integer(const J& value) {
  return value.is_binary();
}

/// Whether the value is a number of any size; nlohmann's is_number() is false for big integers.
template <class J>
bool is_any_number(const J& value) {
  return value.is_number() || value.is_binary();
}

/// The text of a big integer: an optional minus and digits. Precondition: is_big_integer(value).
template <class J>
std::string_view big_digits(const J& value) {
  const auto& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A big integer made of `digits`, which must be an integer in the grammar of RFC 8259.
template <class J = nlohmann::json>
J big_integer(std::string_view digits) {
  return J::binary({digits.begin(), digits.end()});
}

/// nlohmann's name of the value's type; "number" for a big integer.
template <class J>
const char* type_name_of(const J& value) {
  return is_big_integer(value) ? "number" : value.type_name();
}

/// The double nearest to the number. Precondition: is_any_number(value).
template <class J>
double double_of(const J& value) {
  if (!is_big_integer(value)) return value.template get<double>();
  const std::string_view digits = big_digits(value);
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace millrace
