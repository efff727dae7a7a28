// Warnings about durations without a unit: such a number is milliseconds, which an author who meant
// seconds does not notice. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct UnitAdvice {
  /// `30 without a unit is milliseconds`, or `100000 without a unit is milliseconds (100 s)`
  std::string doubt;
  std::string mend;  ///< `write 30ms, or 30s for seconds`
};

/// The warning for a duration that ends in a number without a unit; nullopt if it has a unit or is
/// ISO 8601.
std::optional<UnitAdvice> advice_on_unit(std::string_view duration);

/// The warning for the delay in the text of a retry policy, `fixed(3, 30)`; nullopt if it has a
/// unit, or is 0, which needs no unit.
std::optional<UnitAdvice> advice_on_unit_of_fixed(std::string_view policy);

}  // namespace millrace
