// A number without a unit is milliseconds wherever a duration stands, which an author of seconds
// does not see. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct UnitAdvice {
  std::string doubt;  ///< `30 without a unit is milliseconds`
  std::string mend;   ///< `write 30ms, or 30s for seconds`
};

/// For a duration that ends in a number without a unit; nullopt: it has one, or is ISO 8601.
std::optional<UnitAdvice> advice_on_unit(std::string_view duration);

/// The same for the wait of a retry policy in a text, `fixed(3, 30)`. A wait of 0 needs no unit.
std::optional<UnitAdvice> advice_on_unit_of_fixed(std::string_view policy);

}  // namespace millrace
