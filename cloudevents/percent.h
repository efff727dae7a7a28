// Percent-encoding (RFC 3986, section 2.1) of bytes; the caller selects further bytes to encode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Encodes three kinds of bytes as `%XY` with upper-case digits: bytes outside the range `!` to
/// `~`, the byte `%`, and the bytes in `also`.
std::string percent_encode(std::string_view bytes, std::string_view also);
/// Appends one byte to `out`, encoded as percent_encode does.
void append_percent_encoded(char c, std::string_view also, std::string& out);

/// Decodes one level: each `%xy` becomes its byte, other bytes are unchanged. nullopt if a `%` is
/// not followed by two hexadecimal digits.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace millrace
