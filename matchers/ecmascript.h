// Parses ECMAScript regular expressions (ECMA-262 sections 22.2.1 and B.1.2, no flags), so that a
// pattern has the same meaning as in JavaScript, whichever engine runs it later (regex_dialect.h).
//
// One difference is deliberate: text is Unicode code points, not UTF-16 units. So `^.$` matches
// "😀", an escaped surrogate pair is one character, and half a pair is an error. The syntax is still
// that without the `u` flag: `\u{61}` is the letter "u" sixty-one times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "matchers/code_points.h"

namespace millrace {

/// The longest pattern, in bytes, and the deepest nesting of groups that are accepted.
inline constexpr size_t kMaxPatternSize = 16384;
inline constexpr size_t kMaxPatternNesting = 200;

/// The largest number in braces: PCRE2's limit. RE2 would read a larger one as plain text.
inline constexpr uint32_t kMaxPatternRepetitions = 65535;

/// One node of the syntax tree. A comment names the kinds that use a field; other kinds ignore it.
struct RegexNode {
  enum class Kind {
    kEmpty,            ///< matches the empty text
    kSet,              ///< one code point of `set`; a literal character is a set of one
    kStart,            ///< `^`
    kEnd,              ///< `$`
    kWordBoundary,     ///< `\b`
    kNotWordBoundary,  ///< `\B`
    kSequence,         ///< all children, one after the other
    kAlternation,      ///< one of the children: the first that leads to a match
    kRepeat,           ///< the only child, `min` to `max` times
    kGroup,            ///< the only child, in parentheses; captured as `group` unless that is 0
    kLook,             ///< look-ahead or look-behind at the only child
    kBackReference,    ///< the text that `group` captured; that group ends before this node
  };
  static constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

  Kind kind = Kind::kEmpty;
  bool lazy = false;      // kRepeat
  bool behind = false;    // kLook
  bool negative = false;  // kLook
  uint32_t min = 0;       // kRepeat
  uint32_t max = 0;       // kRepeat
  uint32_t group = 0;     // kGroup, kBackReference
  size_t at = 0;          // where the node begins in the pattern, in characters from 0
  CodePoints set;         // kSet
  std::vector<RegexNode> children;
};

struct Regex {
  RegexNode root;
  /// The numbers of the groups that back-references name, ascending, each once.
  std::vector<uint32_t> referenced;
};

/// Parses a pattern. A back-reference to a group that has not ended always matches the empty text,
/// and is kEmpty in the tree. Error `pattern.malformed` for a pattern that is not well-formed
/// UTF-8, is too long, or has a syntax error; for a syntax error the message names the character
/// (from 1) and what to write instead.
Result<Regex> parse_ecmascript(std::string_view pattern);

}  // namespace millrace
