#include "policies/unit_advice.h"

#include <fmt/format.h>

namespace millrace {

namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::optional<UnitAdvice> advice_on_unit(std::string_view duration) {
  const std::string_view text = without_blanks(duration);
  if (text.empty()) return std::nullopt;
  const size_t number = text.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  if (number == text.size() || text.find('P') != std::string_view::npos) return std::nullopt;
  return UnitAdvice{fmt::format("{} without a unit is milliseconds", text.substr(number)),
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
  return UnitAdvice{fmt::format("{} without a unit is milliseconds", wait),
                    fmt::format("write {}ms), or {}s) for seconds", text, text)};
}

}  // namespace millrace
