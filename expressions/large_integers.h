// jq 1.6 computes with doubles, so an integer past 2^53 that merely passes through would come back
// rounded. Which numbers those are is found here; the worker marks their values on the way in.
#pragma once

#include <string_view>

namespace millrace {

/// Whether a valid JSON text has a number of 2^53 or more (either sign) that is written as an
/// integer. False for almost every text, at the cost of one look at each byte.
bool has_large_integer(std::string_view json);

}  // namespace millrace
