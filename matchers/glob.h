// Glob patterns: of error codes in `catch`, and of the lifecycle events that a webhook gets. Pure.
#pragma once

#include <string_view>

namespace millrace {

/// Whether all of `text` matches the pattern: `*` matches any run of characters, `?` any one
/// character (a code point), every other character itself. The time is linear in the text for each
/// `*`.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace millrace
