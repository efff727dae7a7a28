// Sets of Unicode code points as sorted ranges: what a character class means, free of any engine's
// own idea of `\s` or `.`. Surrogates are in no set: well-formed text holds none.
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

/// In normal form: ascending, apart by at least one code point, without surrogates.
using CodePoints = std::vector<CodePointRange>;

inline bool is_surrogate(char32_t c) { return c >= 0xd800 && c <= 0xdfff; }

/// The normal form of ranges in any order; `first` ≤ `last` in each.
CodePoints normalised(CodePoints ranges);

/// All code points that are not in the set (which is in normal form).
CodePoints complement(const CodePoints& set);

/// The code points of well-formed UTF-8.
std::u32string decode_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point that is no surrogate.
void append_utf8(char32_t c, std::string& text);

}  // namespace millrace
