// Finds patterns that no text can match, on their syntax tree, so that lint can report them.
#pragma once

#include "matchers/ecmascript.h"

namespace millrace {

/// Whether the pattern is impossible to match: it needs a character before the start (`a^`) or
/// after the end (`$a`), a character of an empty set (`[]`), or a negative look-ahead for the empty
/// text (`(?!)`). False does not mean that some text matches: the contents of look-around and
/// back-references are not examined.
bool never_matches(const RegexNode& pattern);

}  // namespace millrace
