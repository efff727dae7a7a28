// Writes a parsed pattern in the syntax of the engine that is to run it, so that it has
// JavaScript's meaning there. Only whether there is a match counts, so groups that nothing refers
// to are not captured. Nothing of the user's text reaches an engine but through here.
#pragma once

#include <string>

#include "base/result.h"
#include "matchers/ecmascript.h"

namespace millrace {

/// Whether the pattern has look-around or back-references, which RE2's linear time excludes.
bool needs_backtracking(const Regex& regex);

/// Whether the subtree may match without taking a character; `assertions` is what to take for the
/// answer of `^`, `\b`, look-around and back-references, which depends on the text around.
bool matches_empty(const RegexNode& node, bool assertions);

/// For RE2 in UTF-8, searching. `needs_backtracking` is false for `regex`.
std::string write_re2(const Regex& regex);

/// For PCRE2 with PCRE2_UTF and PCRE2_MATCH_UNSET_BACKREF. The text is anchored and does its own
/// search, so that one match limit bounds the work on a whole value. Error `pattern.malformed` for
/// what PCRE2 cannot do, or would do otherwise than JavaScript: a look-behind of no fixed length, a
/// reference to a group that a repetition may skip.
Result<std::string> write_pcre2(const Regex& regex);

}  // namespace millrace
