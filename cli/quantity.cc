#include "cli/quantity.h"

#include <string_view>

#include <fmt/format.h>

#include "base/quantity.h"
#include "base/whole_number.h"
#include "policies/unit_advice.h"

namespace millrace {

Fallible<Span> read_span(const std::string& flag, const std::string& text) {
  Result<Span> span = Span::parse(text);
  if (!span) return wrong_usage("--" + flag + ": " + span.error().message);
  if (advice_on_unit(text)) {
    return wrong_usage("--" + flag + ": \"" + text +
                       "\" ends in a number without a unit; expected a duration such as 60s or "
                       "PT1M");
  }
  return *std::move(span);
}

Fallible<Duration> read_duration(const std::string& flag, const std::string& text) {
  const Result<Span> span = Span::parse(text);
  if (span && !span->is_zero() && span->months == 0) return TRY(read_span(flag, text)).fixed;
  return wrong_usage("--" + flag + ": \"" + text +
                     "\" is not a duration above zero without months; write one like 10s");
}

Fallible<uint64_t> read_number(const std::string& flag, const std::string& text) {
  if (const auto number = parse_quantity(text)) return *number;
  return wrong_usage("--" + flag + ": \"" + text +
                     "\" is not a whole number above zero; write one like 10 or 10GiB");
}

Fallible<uint64_t> read_count(const std::string& flag, const std::string& text) {
  const uint64_t number = whole_number(text).value_or(0);
  if (number > 0) return number;
  return wrong_usage("--" + flag + ": \"" + text +
                     "\" is not a whole number from 1; write one like 10");
}

std::string duration_text(Duration duration) {
  struct Unit {
    Duration length;
    std::string_view name;
  };
  constexpr Unit kLargerUnits[] = {{std::chrono::hours(24), "d"},
                                   {std::chrono::hours(1), "h"},
                                   {std::chrono::minutes(1), "m"},
                                   {std::chrono::seconds(1), "s"}};
  for (const auto& [length, name] : kLargerUnits) {
    if (duration % length == Duration(0)) return fmt::format("{}{}", duration / length, name);
  }
  return fmt::format("{}ms", duration.count());
}

std::string bytes_text(uint64_t bytes) {
  size_t unit = 0;
  while (unit + 1 < kByteUnits.size() && bytes > 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kByteUnits[unit]);
}

}  // namespace millrace
