// Excerpts of input for error messages: input may be long and hold any bytes, so every message that
// quotes input shows an excerpt of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// The first `most` bytes of the text, cut between two characters, and `...` where it is longer:
/// for texts of several lines that are shown whole unless they are long.
std::string shorten(std::string_view text, size_t most);

/// How many bytes of a value an error message shows unless it says otherwise.
inline constexpr size_t kExcerptBytes = 48;

/// The same in one line: what is not UTF-8, and control characters, stand as `?`.
std::string excerpt(std::string_view text, size_t most = kExcerptBytes);

}  // namespace millrace
