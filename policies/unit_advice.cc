#include "policies/unit_advice.h"

#include <fmt/format.h>

namespace millrace {

std::optional<UnitAdvice> advice_on_unit(std::string_view duration) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = duration.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view text =
      duration.substr(first, duration.find_last_not_of(kBlanks) - first + 1);
  const size_t number = text.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  if (number == text.size() || text.find('P') != std::string_view::npos) return std::nullopt;
  return UnitAdvice{fmt::format("{} without a unit is milliseconds", text.substr(number)),
                    fmt::format("write {}ms, or {}s for seconds", text, text)};
}

}  // namespace millrace
