// Percent-encoding (RFC 3986, section 2.1) of bytes; the caller says which characters stay.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Bytes outside `!`..`~`, `%`, and those in `also` become `%XY` with upper-case digits.
std::string percent_encode(std::string_view bytes, std::string_view also);
/// The same of one byte, behind what `out` holds.
void append_percent_encoded(char c, std::string_view also, std::string& out);

/// One round: each `%xy` becomes its byte, all else stays. nullopt where a `%` has no two digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace millrace
