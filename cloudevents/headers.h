// The headers of a NATS or HTTP message, in their order. Names are always compared
// case-insensitively: producers write both `Ce-Id` and `ce-id`, and the lookup of nats.c is
// case-sensitive.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// The text with ASCII letters in lower case; names of headers contain no other letters.
std::string to_lower(std::string_view text);

/// Whether two header names are equal, ignoring case.
bool same_header(std::string_view a, std::string_view b);

/// The value of the first header with that name; null if there is none.
const std::string* find_header(const Headers& headers, std::string_view name);

/// The same as a text of the headers; empty if there is none.
std::string_view header_text(const Headers& headers, std::string_view name);

}  // namespace millrace
