// A number without a unit is milliseconds wherever a duration stands, which an author of seconds
// does not see. Pure.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// What to write for a duration that ends in a number without a unit: `30 without a unit is
/// milliseconds; write 30ms, or 30s for seconds`. Empty: it has one, or is ISO 8601.
std::string advice_on_unit(std::string_view duration);

}  // namespace millrace
