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
  std::vector<std::pair<std::string, std::string>> parameters;  ///< names lower-case, unquoted

  bool operator==(const MediaType&) const = default;
};

/// nullopt where the text is no media type. ASCII only, a `;` at the end is taken.
std::optional<MediaType> parse_media_type(std::string_view text);

/// Reads a quoted string (RFC 9110, section 5.6.4) off the front of `text`, which begins with `"`;
/// nullopt where it does not end.
std::optional<std::string> take_quoted_string(std::string_view& text);

/// Without the blanks and tabs at both ends.
std::string_view trim_blanks(std::string_view text);

}  // namespace millrace
