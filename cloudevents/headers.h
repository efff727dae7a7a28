// The headers of a NATS or HTTP message, in their order. Names are compared without regard to
// case, always: nats.c's own lookup is case-sensitive, and producers write `Ce-Id` and `ce-id`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// ASCII letters only; a header's name has no others.
std::string to_lower(std::string_view text);

/// Whether two header names are the same name.
bool same_header(std::string_view a, std::string_view b);

/// The value of the first header of that name, or null.
const std::string* find_header(const Headers& headers, std::string_view name);

}  // namespace millrace
