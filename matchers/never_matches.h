// Patterns that no text can match, found on their syntax tree: for who checks what an author wrote.
#pragma once

#include "matchers/ecmascript.h"

namespace millrace {

/// Whether the pattern asks for what cannot be: a character before the start (`a^`) or behind the
/// end (`$a`), one out of no characters (`[]`), or that nothing follows (`(?!)`). False is no
/// promise: what look-around and back-references come to is not followed up.
bool never_matches(const RegexNode& pattern);

}  // namespace millrace
