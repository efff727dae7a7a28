#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <limits>

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

}  // namespace millrace
