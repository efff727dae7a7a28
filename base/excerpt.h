// Excerpts of input for error messages. Input may be long and contain any bytes, so every message
// that quotes input shows an excerpt of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// At most the first `most` bytes of the text, cut between two characters, followed by `...` if the
/// text is longer. Line breaks are kept, because the function is for texts of several lines.
std::string shorten(std::string_view text, size_t most);

/// Default number of bytes of a value that an error message shows.
inline constexpr size_t kExcerptBytes = 48;

/// At most the first `most` bytes of the text, on one line: bytes that are not UTF-8 and control
/// characters become `?`; `...` follows if the text is longer.
std::string excerpt(std::string_view text, size_t most = kExcerptBytes);

}  // namespace millrace
