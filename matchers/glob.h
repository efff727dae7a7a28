// The glob of `catch`.
#pragma once

#include <string_view>

namespace millrace {

/// Whether the whole of `text` matches: `*` is any run, `?` any one character (a code point), all
/// else itself. Time is linear in the text for each `*`.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace millrace
