// Integers of more than 64 bits. A double would change their digits, so JSON that is read keeps
// them as they are written, in nlohmann's binary type, which no JSON text can make. Whoever asks a
// value whether it is a number, or for its double, asks here.
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

/// Whether the value is any number, of which nlohmann's is_number() knows those of 64 bits.
template <class J>
bool is_any_number(const J& value) {
  return value.is_number() || value.is_binary();
}

/// Of a big integer: its text, an optional minus and digits.
template <class J>
std::string_view big_digits(const J& value) {
  const auto& bytes = value.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A big integer of those digits, as RFC 8259 writes an integer.
template <class J = nlohmann::json>
J big_integer(std::string_view digits) {
  return J::binary({digits.begin(), digits.end()});
}

/// nlohmann's name of the value's type.
template <class J>
const char* type_name_of(const J& value) {
  return is_big_integer(value) ? "number" : value.type_name();
}

/// The double that is nearest to the number.
template <class J>
double double_of(const J& value) {
  if (!is_big_integer(value)) return value.template get<double>();
  const std::string_view digits = big_digits(value);
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

}  // namespace millrace
