// Glob patterns: of error codes in `catch`, and of the lifecycle events that a webhook gets. Pure.
#pragma once

#include <string_view>

namespace millrace {

/// Whether all of `text` matches the pattern: `*` matches any run of characters, `?` any one
/// character (a code point), every other character itself. The time is at most proportional to the
/// product of the lengths of text and pattern.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace millrace
