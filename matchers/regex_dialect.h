// Writes a parsed pattern in the syntax of the engine that runs it, so that it keeps JavaScript's
// meaning there. Only whether there is a match counts, so groups that no back-reference names are
// not captured. A user's pattern reaches an engine only through these functions.
#pragma once

#include <string>

#include "base/result.h"
#include "matchers/ecmascript.h"

namespace millrace {

/// Whether the pattern has look-around or back-references, which RE2's linear time excludes.
bool needs_backtracking(const Regex& regex);

/// Whether the subtree may match the empty text. The result of `^`, `\b`, look-around and
/// back-references depends on the text around them; `assertions` is the result to assume for them.
bool matches_empty(const RegexNode& node, bool assertions);

/// Writes the pattern for RE2, in UTF-8, for a search. Precondition: `needs_backtracking(regex)` is
/// false.
std::string write_re2(const Regex& regex);

/// Writes the pattern for PCRE2 with PCRE2_UTF and PCRE2_MATCH_UNSET_BACKREF. The result is
/// anchored and does its own search, so that one match limit bounds the work on a whole value.
/// Error `pattern.malformed` if PCRE2 cannot run the pattern, or would run it differently from
/// JavaScript: a look-behind without a fixed length, a reference to a group that a repetition may
/// skip.
Result<std::string> write_pcre2(const Regex& regex);

}  // namespace millrace
