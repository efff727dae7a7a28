#include "policies/unit_advice.h"

#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace millrace {

namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// ` (100 s)` for a number of milliseconds that is a whole number of seconds or of a longer unit;
/// empty for any other number.
std::string in_longer_unit(std::string_view number) {
  struct LongerUnit {
    std::string_view name;
    uint64_t millis;
  };
  constexpr std::array kUnits = {LongerUnit{"d", 86'400'000}, LongerUnit{"h", 3'600'000},
                                 LongerUnit{"min", 60'000}, LongerUnit{"s", 1'000}};
  uint64_t millis = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), millis);
  if (error != std::errc() || millis == 0) return "";
  for (const LongerUnit& unit : kUnits) {
    if (millis % unit.millis == 0) {
      return fmt::format(" ({} {})", millis / unit.millis, unit.name);
    }
  }
  return "";
}

std::string doubt_about(std::string_view number) {
  return fmt::format("{} without a unit is milliseconds{}", number, in_longer_unit(number));
}

}  // namespace

std::optional<UnitAdvice> advice_on_unit(std::string_view duration) {
  const std::string_view text = without_blanks(duration);
  if (text.empty()) return std::nullopt;
  const size_t number = text.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  if (number == text.size() || text.find('P') != std::string_view::npos) return std::nullopt;
  return UnitAdvice{doubt_about(text.substr(number)),
                    fmt::format("write {}ms, or {}s for seconds", text, text)};
}

std::optional<UnitAdvice> advice_on_unit_of_fixed(std::string_view policy) {
  std::string_view text = without_blanks(policy);
  if (!text.ends_with(')')) return std::nullopt;
  text = without_blanks(text.substr(0, text.size() - 1));
  const std::string_view wait = without_blanks(text.substr(text.find(',') + 1));
  const bool is_number = !wait.empty() &&
                         wait.find_first_not_of("0123456789") == std::string_view::npos &&
                         wait.find_first_not_of('0') != std::string_view::npos;
  if (!is_number) return std::nullopt;
  return UnitAdvice{doubt_about(wait), fmt::format("write {}ms), or {}s) for seconds", text, text)};
}

}  // namespace millrace
