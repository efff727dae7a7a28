// Media types (RFC 2045, section 5.1, with the quoting and spacing of RFC 9110, section 8.3.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

struct MediaType {
  std::string essence;                                          ///< `type/subtype`, lower-case
  std::vector<std::pair<std::string, std::string>> parameters;  ///< lower-case names; no quotes

  bool operator==(const MediaType&) const = default;
};

/// Reads a media type in ASCII; nullopt if the text is not a media type. A `;` at the end is
/// accepted.
std::optional<MediaType> parse_media_type(std::string_view text);

/// Removes a quoted string (RFC 9110, section 5.6.4) from the front of `text` and returns its
/// value; nullopt if the closing quote is missing. Precondition: `text` begins with `"`.
std::optional<std::string> take_quoted_string(std::string_view& text);

/// The text without spaces and tabs at its beginning and end.
std::string_view trim_blanks(std::string_view text);

}  // namespace millrace
