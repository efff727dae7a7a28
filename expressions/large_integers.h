// Finds integers that jq would round. jq 1.6 uses doubles, so an integer above 2^53 would be
// rounded even if a jq program only passes it on. The jq worker marks the values of such integers
// when it reads the input.
#pragma once

#include <string_view>

namespace millrace {

/// Whether a valid JSON text has a number of 2^53 or more (of either sign) that is written as an
/// integer. False for almost every text; reads each byte once.
bool has_large_integer(std::string_view json);

}  // namespace millrace
