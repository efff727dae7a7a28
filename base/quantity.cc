#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

namespace millrace {

std::optional<uint64_t> parse_quantity(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto* const known = std::find(kByteUnits.begin(), kByteUnits.end(), unit);
  if (failed != std::errc() || number == 0 || known == kByteUnits.end()) return std::nullopt;
  const auto shift = static_cast<unsigned>(10 * (known - kByteUnits.begin()));
  if (number > std::numeric_limits<uint64_t>::max() >> shift) return std::nullopt;
  return number << shift;
}

std::string format_bytes(uint64_t bytes) {
  constexpr uint64_t kEach = 1024;
  size_t unit = 0;
  while (bytes > 0 && bytes % kEach == 0 && unit + 1 < kByteUnits.size()) {
    bytes /= kEach;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{}{}", bytes, kByteUnits[unit]);
}

}  // namespace millrace
