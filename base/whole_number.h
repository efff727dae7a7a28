// Reads whole numbers in texts of others, such as parameters, headers and files. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace millrace {

/// Reads the whole text as decimal digits. nullopt: the text has another character or no digit, or
/// the number is larger than `most`.
inline std::optional<uint64_t> whole_number(std::string_view text,
                                            uint64_t most = std::numeric_limits<uint64_t>::max()) {
  uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number > most) return std::nullopt;
  return number;
}

}  // namespace millrace
