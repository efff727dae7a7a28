// Our own reading of ECMAScript regular expressions (ECMA-262 sections 22.2.1 and B.1.2, no flags),
// so that a pattern means what JavaScript means by it, whichever engine runs it later
// (regex_dialect.h).
//
// One difference by decision: text is Unicode code points, not UTF-16 units. So `^.$` matches "😀",
// an escaped surrogate pair is the one character that it spells, and half a pair is an error.
// Syntax is that without the `u` flag all the same: `\u{61}` is sixty-one times "u".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "matchers/code_points.h"

namespace millrace {

/// The longest pattern and the deepest nesting of groups that are read.
inline constexpr size_t kMaxPatternSize = 16384;
inline constexpr size_t kMaxPatternNesting = 200;

/// The largest number in braces, which is PCRE2's. RE2 would take larger ones for plain text.
inline constexpr uint32_t kMaxPatternRepetitions = 65535;

/// One node of the syntax tree. What a field is for says its kind; the others are unused.
struct RegexNode {
  enum class Kind {
    kEmpty,            ///< matches the empty text
    kSet,              ///< one code point of `set`; a literal character is a set of one
    kStart,            ///< `^`
    kEnd,              ///< `$`
    kWordBoundary,     ///< `\b`
    kNotWordBoundary,  ///< `\B`
    kSequence,         ///< all children, one after the other
    kAlternation,      ///< one of the children, the first that leads to a match
    kRepeat,           ///< the only child, `min` to `max` times
    kGroup,            ///< the only child in brackets; captured as `group` unless that is 0
    kLook,             ///< look-ahead or look-behind at the only child
    kBackReference,    ///< what `group`, which has ended before, captured
  };
  static constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

  Kind kind = Kind::kEmpty;
  bool lazy = false;      // kRepeat
  bool behind = false;    // kLook
  bool negative = false;  // kLook
  uint32_t min = 0;       // kRepeat
  uint32_t max = 0;       // kRepeat
  uint32_t group = 0;     // kGroup, kBackReference
  size_t at = 0;          // where it begins in the pattern, in characters from 0
  CodePoints set;         // kSet
  std::vector<RegexNode> children;
};

struct Regex {
  RegexNode root;
  std::vector<uint32_t> referenced;  ///< the groups that back-references name, ascending, once each
};

/// Reads a pattern of well-formed UTF-8. A reference to a group that has not ended always matches
/// the empty text, and is kEmpty in the tree. Error `pattern.malformed` says at which character
/// (from 1) and what to write instead.
Result<Regex> parse_ecmascript(std::string_view pattern);

}  // namespace millrace
