// Reads whole numbers in texts of others, such as parameters, headers and files. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace millrace {

/// The number that the whole text is, in decimal digits; nullopt: it is no such number, or it needs
/// more than 64 bits.
inline std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return std::nullopt;
  return number;
}

}  // namespace millrace
