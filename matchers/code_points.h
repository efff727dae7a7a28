// Sets of Unicode code points as sorted ranges: the meaning of a character class, independent of
// how an engine defines `\s` or `.`. No set contains surrogates, because well-formed text has none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct CodePointRange {
  char32_t first;
  char32_t last;

  bool operator==(const CodePointRange&) const = default;
};

/// A set in normal form: ascending ranges, at least one code point between two of them, without
/// surrogates.
using CodePoints = std::vector<CodePointRange>;

inline bool is_surrogate(char32_t c) { return c >= 0xd800 && c <= 0xdfff; }

/// The normal form of ranges that are in any order; precondition: `first` ≤ `last` in each.
CodePoints normalised(CodePoints ranges);

/// All code points that are not in the set. Precondition: the set is in normal form.
CodePoints complement(const CodePoints& set);

/// The code points of well-formed UTF-8.
std::u32string decode_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point. Precondition: it is not a surrogate.
void append_utf8(char32_t c, std::string& text);

}  // namespace millrace
